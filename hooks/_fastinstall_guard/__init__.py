"""The start-up guard of fastinstall: says so when the Pillow that fastinstall put here was replaced or removed.

Put here by fastinstall, with fastinstall_guard.pth and fastinstall_guard.start beside this directory, which call
`start()` whenever Python starts. It compares size and time of two files of PIL with the file `state`. Where they
agree, it only looks once more when a pip ends. Where they differ, it looks closely once PIL is imported (telling.py).

It reads files of this site-packages directory, changes none of them, and uses no network.
Switch it off with FASTINSTALL_GUARD=0; remove it with `fastinstall guard remove --prefix PREFIX`.
"""

import atexit
import os
import sys

VERSION = "1"
_started = []


def start() -> None:
    """Begin to watch; a second call in the same interpreter does nothing."""
    if _started or os.environ.get("FASTINSTALL_GUARD") == "0":
        return
    _started.append(True)
    _quietly(_begin)


def _quietly(act, *arguments) -> None:  # noqa: ANN001, ANN002 (typing would have to be imported at each start)
    try:
        act(*arguments)
    except Exception:  # noqa: BLE001 (whatever is wrong with a guard, its host goes on)
        return


def _begin() -> None:
    guard = _Guard(os.path.dirname(os.path.abspath(__file__)))
    atexit.register(_quietly, guard.after_pip)
    if guard.at_start != guard.expected:
        guard.watch_import()


class _Guard:
    """PIL as it was put here (`state`), and as it was when this process started."""

    def __init__(self, package: str) -> None:
        with open(os.path.join(package, "state"), encoding="utf-8") as stream:
            number, core, version, stack = [line.split() for line in stream if not line.startswith("#")]
        if number != ["1"]:
            raise ValueError(number)
        self.site = os.path.dirname(package)
        self.core, self.sha256 = os.path.join(self.site, core[1]), core[4]
        self.version = os.path.join(self.site, version[1])
        self.stack, self.name = stack[1], "Pillow-SIMD" if stack[2] == "simd" else "the optimised Pillow"
        self.expected = (int(core[2]), int(core[3]) // 10**9, int(version[2]), int(version[3]) // 10**9)
        self.at_start = self.look()

    def look(self) -> "tuple[int, ...]":
        """Sizes and times, in whole seconds because archives and image layers keep no more; () if a file is gone."""
        try:
            core, version = os.stat(self.core), os.stat(self.version)
        except OSError:
            return ()
        return (core.st_size, core.st_mtime_ns // 10**9, version.st_size, version.st_mtime_ns // 10**9)

    def watch_import(self) -> None:
        """Hear of the first import of PIL."""
        from _fastinstall_guard import telling

        if not telling.in_subinterpreter():
            telling.mark_process_tree()
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 (the protocol)
        """Find nothing, as a finder on `sys.meta_path`; speak when PIL is asked for, and leave."""
        if name == "PIL" and self in sys.meta_path:
            from _fastinstall_guard import telling

            sys.meta_path.remove(self)
            _quietly(telling.tell, self)

    def after_pip(self) -> None:
        """Speak at the end of a pip that changed PIL; one that only passed `--python` on leaves it to its child."""
        if "pip" not in sys.modules or os.environ.get("FASTINSTALL_GUARD") == "0" or self.look() == self.at_start:
            return
        if "_PIP_RUNNING_IN_SUBPROCESS" in os.environ and "pip-runner" not in sys.argv[0]:
            return
        from _fastinstall_guard import telling

        telling.tell(self, by=" by pip")

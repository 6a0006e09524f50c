"""The start-up guard of fastinstall: says so when the Pillow that fastinstall put here was replaced, removed or hidden.

Put here by fastinstall. Beside this directory, fastinstall_guard.pth (from Python 3.18 on fastinstall_guard.start)
calls `start()` whenever Python starts. It compares size and time of two files of PIL with the file `state`. Where they
agree, it looks once more when a pip ends, and in processes that are forked off. Where they differ, or where something
called PIL comes before this directory, it looks closely once PIL is imported (telling.py), and one process tells it
for all that belong together (tree.py).

It reads files of this site-packages directory, changes none of them, and uses no network. What it tells, it also
writes down in PREFIX/share/fastinstall/guard-events.jsonl.
Switch it off with FASTINSTALL_GUARD=0; remove it with `fastinstall guard remove --prefix PREFIX`.

The module `os` is imported by functions, not held by this module, which a hook on fork keeps alive to the very end:
taking `os` apart that late would make every end of Python 0.1 ms longer.
"""

import sys

VERSION = "3"
SITE = __file__.rpartition("/_fastinstall_guard/")[0]
known = {}  # what `state` says; and, as "found", what was there when this process started


def start() -> None:
    """Begin to watch; a second call in the same interpreter does nothing."""
    import atexit
    import os

    if known or os.environ.get("FASTINSTALL_GUARD") == "0":
        return
    known["started"] = True
    try:
        _read_state()
        known["found"] = look()
        os.register_at_fork(after_in_child=_after_fork)
        _compare(known["found"])
        atexit.register(_after_pip)  # after what _compare registers, so that it is called before that
        _get_ready_for_pip()
    except Exception:  # noqa: BLE001 (whatever is wrong with a guard, its host goes on)
        return


def look() -> "tuple[int, ...]":
    """Sizes and times, in whole seconds because archives and image layers keep no more; () if a file is gone."""
    import os

    try:
        core, version = os.stat(known["core"]), os.stat(known["version"])
    except OSError:
        return ()
    return (core.st_size, core.st_mtime_ns // 10**9, version.st_size, version.st_mtime_ns // 10**9)


def _read_state() -> None:
    import os

    descriptor = os.open(SITE + "/_fastinstall_guard/state", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        words = os.read(descriptor, 4096).decode().split()[-15:]
    finally:
        os.close(descriptor)
    if [words.pop(place) for place in (13, 10, 6, 1, 0)] != ["prefix", "stack", "version", "core", "1"]:
        raise ValueError(words)
    core, size, time, known["digest"], version, version_size, version_time, stack, _, known["prefix"] = words
    known["expected"] = (int(size), int(time) // 10**9, int(version_size), int(version_time) // 10**9)
    known["core"], known["version"] = f"{SITE}/{core}", f"{SITE}/{version}"
    known["stack"] = stack


def _get_ready_for_pip() -> None:
    """Load what speaks at the end of a pip: once it has begun to install, pip 26.3 lets nothing more be imported."""
    for word in getattr(sys, "orig_argv", ())[1:9]:  # -m pip, bin/pip3.11, .../pip/__pip-runner__.py
        if word.rpartition("/")[2].rstrip(".0123456789") in ("pip", "__pip-runner__.py"):
            from _fastinstall_guard import telling

            telling.get_ready()


def _compare(found: "tuple[int, ...]") -> None:
    if found != known["expected"] or _may_be_hidden():
        from _fastinstall_guard import telling

        telling.await_import()


def _may_be_hidden() -> bool:
    """Whether something called PIL comes before this directory: on sys.path, beside the program, or where it starts."""
    import os

    library = os.__file__.rpartition("/")[0]
    places = set(sys.path[: sys.path.index(SITE)]) if SITE in sys.path else set()
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):  # sys.path gets one of two places later
        places.add(".")
        program = sys.argv[0] if sys.argv else ""
        if "/" in program or program.endswith(".py"):
            places.add(os.path.dirname(os.path.realpath(program) if os.path.islink(program) else program) or ".")
    names = [place + name for place in places if not place.startswith(library) for name in ("/PIL", "/PIL.py")]
    return any(os.access(name, os.F_OK) for name in names)


def _after_fork() -> None:
    """A server that started long ago forks workers that import PIL as it is by now."""
    try:
        _compare(look())
    except Exception:  # noqa: BLE001 (likewise)
        return


def _after_pip() -> None:
    """Speak at the end of a pip that changed PIL."""
    try:
        if "pip" in sys.modules and look() != known["found"]:
            from _fastinstall_guard import telling

            telling.tell_after_pip()
    except Exception:  # noqa: BLE001 (likewise)
        return

"""The start-up guard of fastinstall: warns when the Pillow that fastinstall installed was replaced, removed or hidden.

Put here by fastinstall. `fastinstall_guard.pth` (from Python 3.18 on `fastinstall_guard.start`), beside this directory,
calls `start()` whenever Python starts. The guard compares the sizes and times of two files of PIL with the file
`state`. If they are equal, it compares again when pip ends, and in forked processes. If they differ, or if another PIL
comes first on `sys.path`, it compares the content when PIL is imported, and warns (`warning.py`). Of all processes that
descend from one process, only one warns (`process_tree.py`).

The guard only reads files of site-packages, and uses no network. Each warning is also recorded in
PREFIX/share/fastinstall/guard-events.jsonl.
Switch it off with FASTINSTALL_GUARD=0; remove it with `fastinstall guard remove --prefix PREFIX`.

Functions import `os` themselves. The hook on fork keeps this module alive until Python has ended, and if the module
kept `os` alive too, every end of Python would take 0.1 ms longer.
"""

import sys

VERSION = "3"
SITE = __file__.rpartition("/_fastinstall_guard/")[0]
known = {}  # the content of `state`, and under "found" the sizes and times at the start of this process


def start() -> None:
    """Start to watch; a second call in the same interpreter does nothing."""
    import atexit
    import os

    if known or os.environ.get("FASTINSTALL_GUARD") == "0":
        return
    known["started"] = True
    try:
        _read_state()
        known["found"] = read_stats()
        os.register_at_fork(after_in_child=_after_fork)
        _compare(known["found"])
        atexit.register(_after_pip)  # registered after the function of `_compare`, so called before it
        _prepare_for_pip()
    except Exception:  # noqa: BLE001 (a faulty guard must not disturb the program)
        return


def read_stats() -> "tuple[int, ...]":
    """Return sizes in bytes and times in seconds (archives keep no fractions of seconds); () if a file is gone."""
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


def _prepare_for_pip() -> None:
    """If this process runs pip, import `warning` now: pip 26.3 blocks imports after it has begun to install."""
    for word in getattr(sys, "orig_argv", ())[1:9]:  # -m pip, bin/pip3.11, .../pip/__pip-runner__.py
        if word.rpartition("/")[2].rstrip(".0123456789") in ("pip", "__pip-runner__.py"):
            from _fastinstall_guard import warning

            warning.import_early()


def _compare(found: "tuple[int, ...]") -> None:
    if found != known["expected"] or _may_be_hidden():
        from _fastinstall_guard import warning

        warning.warn_at_import()


def _may_be_hidden() -> bool:
    """Return whether a PIL comes before this directory: on sys.path, in the program's or in the current directory."""
    import os

    library = os.__file__.rpartition("/")[0]
    places = set(sys.path[: sys.path.index(SITE)]) if SITE in sys.path else set()
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):  # Python will add one of these to sys.path
        places.add(".")
        program = sys.argv[0] if sys.argv else ""
        if "/" in program or program.endswith(".py"):
            places.add(os.path.dirname(os.path.realpath(program) if os.path.islink(program) else program) or ".")
    names = [place + name for place in places if not place.startswith(library) for name in ("/PIL", "/PIL.py")]
    return any(os.access(name, os.F_OK) for name in names)


def _after_fork() -> None:
    """Compare again: PIL may have changed since the server that forked this worker started."""
    try:
        _compare(read_stats())
    except Exception:  # noqa: BLE001 (a faulty guard must not disturb the program)
        return


def _after_pip() -> None:
    """Warn if this process ran pip and PIL has changed since it started."""
    try:
        if "pip" in sys.modules and read_stats() != known["found"]:
            from _fastinstall_guard import warning

            warning.warn_after_pip()
    except Exception:  # noqa: BLE001 (a faulty guard must not disturb the program)
        return

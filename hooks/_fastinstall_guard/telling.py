"""What the start-up guard says, and to whom: needed only where PIL is not as fastinstall put it here.

Put here by fastinstall; remove it with `fastinstall guard remove --prefix PREFIX`.
"""

import atexit
import os
import sys
from time import localtime, strftime, time_ns

_ROOT = "FASTINSTALL_GUARD_ROOT"  # in the environment of a process tree that has something to tell


def tell(guard, by: str = "") -> None:  # noqa: ANN001 (the guard of __init__.py)
    """Say what happened and how to repair it, unless all is well or somebody of this process tree said it."""
    change = _change(guard)
    if not change or not _first_to_tell():
        return
    from shlex import quote

    by = by or ("" if change == "was removed" else _installer(guard.site))
    roots = (sys.prefix, sys.base_prefix)  # the second where a virtual environment sees this one's packages
    prefix = next((root for root in roots if guard.site.startswith(root + os.sep)), sys.prefix)
    sys.stderr.write(
        f"fastinstall: {guard.name} {guard.stack} in {prefix} {change}{by}\n"
        f"hint: fastinstall doctor --fix --prefix {quote(prefix)}\n"
    )
    sys.stderr.flush()


def in_subinterpreter() -> bool:
    """Whether this is not the main interpreter of its process."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        return bool(module.get_current() != module.get_main())
    return False


def mark_process_tree() -> None:
    """Mark the processes that descend from this one, so that one warning does for all of them."""
    if _ROOT not in os.environ:
        os.environ[_ROOT] = f"{os.getpid()}-{time_ns()}"
        atexit.register(_forget, os.getpid())


def _change(guard) -> str:  # noqa: ANN001 (likewise)
    """What became of PIL, judged by content; empty if it is as it was put here."""
    from hashlib import sha256

    if not os.path.isdir(os.path.dirname(guard.core)):
        return "was removed"
    found = _found_version(guard.version)
    try:
        with open(guard.core, "rb") as stream:
            intact = sha256(stream.read()).hexdigest() == guard.sha256
    except OSError:
        return f"was replaced with Pillow {found}" if found not in ("?", guard.stack) else "is incomplete"
    if found == guard.stack:
        return "" if intact else "was replaced with another build"
    return f"is mixed with files of Pillow {found}" if intact else f"was replaced with Pillow {found}"


def _found_version(file: str) -> str:
    """What PIL/_version.py says now; "?" if it says nothing."""
    try:
        with open(file, encoding="utf-8") as stream:
            return stream.read().partition("__version__ = ")[2].split()[0].strip("'\"")
    except (OSError, ValueError, IndexError):
        return "?"


def _installer(site: str) -> str:
    """The tool that wrote the latest metadata of a Pillow, and when: " by uv, 2026-11-21 10:40"."""
    written = []
    for name in os.listdir(site):
        metadata = os.path.join(site, name)
        if name.lower().startswith(("pillow-", "pillow_simd-")) and os.path.isfile(os.path.join(metadata, "INSTALLER")):
            with open(os.path.join(metadata, "INSTALLER"), encoding="utf-8") as stream:
                written.append((os.stat(metadata).st_mtime, stream.read().strip()))
    time, tool = max([entry for entry in written if entry[1] != "fastinstall"], default=(0.0, ""))
    return f" by {tool}, {strftime('%Y-%m-%d %H:%M', localtime(time))}" if tool else ""


def _stamp() -> str:
    directory = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 (O_EXCL opens it: the worst is a missing warning)
    return os.path.join(directory, f"fastinstall-guard-{os.getuid()}-{os.environ[_ROOT]}")


def _first_to_tell() -> bool:
    if _ROOT not in os.environ:
        return True
    try:
        os.close(os.open(_stamp(), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True


def _forget(root: int) -> None:
    try:
        if os.getpid() == root:
            os.unlink(_stamp())
    except (OSError, KeyError):
        return

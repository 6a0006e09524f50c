"""The warning of the start-up guard. Imported only if PIL differs from `state`, or if another PIL may come first.

Put here by fastinstall; remove it with `fastinstall guard remove --prefix PREFIX`.
"""

import os
import sys
from stat import S_ISREG
from time import gmtime, localtime, strftime

from _fastinstall_guard import SITE, known, process_tree

PREFIX = os.path.normpath(f"{SITE}/{known['prefix']}")
EVENTS = f"{PREFIX}/share/fastinstall/guard-events.jsonl"
LONGEST = 1 << 15  # size in bytes at which the file of events is renamed, and a new one begun


class Listener:
    """A finder on `sys.meta_path` that finds nothing: it warns at the first import of PIL, and removes itself."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 (the protocol)
        """Warn if PIL is being imported."""
        if name == "PIL" and self in sys.meta_path:
            sys.meta_path.remove(self)
            try:
                _warn()
            except Exception:  # noqa: BLE001 (a faulty guard must not disturb the program)
                return


def warn_at_import() -> None:
    """Warn when this interpreter first imports PIL; do nothing in subinterpreters, and at a second call."""
    waiting = any(type(finder).__name__ == "Listener" for finder in sys.meta_path)
    if not waiting and "PIL" not in sys.modules and not _in_subinterpreter():
        process_tree.name_tree()
        sys.meta_path.insert(0, Listener())


def import_early() -> None:
    """Import the modules that a warning needs, because pip blocks imports later."""
    for name in ("hashlib", "json", "shlex"):
        __import__(name)


def warn_after_pip() -> None:
    """Warn at the end of pip. With `--python`, pip runs a second pip as a child; only the child warns."""
    if "_PIP_RUNNING_IN_SUBPROCESS" not in os.environ or "pip-runner" in sys.argv[0]:
        _warn(tool="pip")
        process_tree.remove_records(os.getpid())


def _warn(tool: str = "") -> None:
    """Print what happened to PIL and how to repair it, unless PIL is intact or a process of this tree has warned."""
    if os.environ.get("FASTINSTALL_GUARD") == "0":
        return
    found, files, verb = _read_version(), (known["core"], known["version"]), "doctor --fix"
    change, when = _describe_change(found), ""
    other = "" if change or tool else _find_hiding_pil()
    if other:
        change, found, files, verb = f"is hidden by {_harmless(other)}", "", (other,), "doctor"
    if not change or not process_tree.record_warning(*files):
        return
    from shlex import quote

    stack = _harmless(known["stack"])
    if not (tool or other or change == "was removed"):
        tool, when = _find_installer()
    by = f" by {tool}" if tool else ""
    prefix = _harmless(PREFIX)
    _print(
        f"fastinstall: the fast Pillow {stack} in {prefix} {change}{by}{when}\n"
        f"hint: {_harmless(_read_program())} {verb} --prefix {quote(prefix)}\n"
    )
    _record_event(change=change, tool=tool, stack=stack, found=found.strip("?"))


def _read_program() -> str:
    """Return the command that ran fastinstall when it installed this guard; "fastinstall" if that no longer exists."""
    from shlex import split

    lines = _read(f"{SITE}/_fastinstall_guard/state", 1 << 14).decode().splitlines()
    program = next((line[8:] for line in lines if line.startswith("program ")), "fastinstall")
    is_gone = any(word.startswith("/") and not os.path.exists(word) for word in split(program))
    return "fastinstall" if is_gone else program


def _find_hiding_pil() -> str:
    """Return the file or directory of the PIL that will be imported; empty if it is the one beside this guard."""
    specs = (finder.find_spec("PIL", None) for finder in list(sys.meta_path) if hasattr(finder, "find_spec"))
    spec = next((spec for spec in specs if spec is not None), None)
    location = getattr(spec, "origin", None) or next(iter(getattr(spec, "submodule_search_locations", None) or ()), "")
    place = os.path.dirname(location) if os.path.basename(location).startswith("__init__.") else location
    return "" if not place or os.path.realpath(place) == os.path.realpath(f"{SITE}/PIL") else place


def _in_subinterpreter() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = __import__(name)
        except ImportError:
            continue
        main, current = module.get_main(), module.get_current()
        return bool(main != current)
    return False


def _describe_change(found: str) -> str:
    """Return what happened to PIL, judged by its content; empty if it is intact. `found` is the version of PIL now."""
    from hashlib import sha256

    core, stack = known["core"], known["stack"]
    if not os.path.isdir(os.path.dirname(core)):
        return "was removed"
    try:
        size = known["expected"][0]
        intact = sha256(_read(core, size + 1)).hexdigest() == known["digest"]
    except OSError:
        return f"was replaced with Pillow {found}" if found not in ("?", stack) else "is incomplete"
    if found == stack:
        return "" if intact else "was replaced with another build"
    return f"is mixed with files of Pillow {found}" if intact else f"was replaced with Pillow {found}"


def _read_version() -> str:
    """Return the version in PIL/_version.py; "?" if it cannot be read."""
    try:
        content = _read(known["version"], 1 << 16).decode()
        return _harmless(content.partition("__version__ = ")[2].split()[0].strip("'\""))
    except (OSError, ValueError, IndexError):
        return "?"


def _find_installer() -> "tuple[str, str]":
    """Return the tool that wrote the newest metadata of a Pillow, and the time: ("uv", ", 2026-11-21 10:40")."""
    written = []
    for name in os.listdir(SITE):
        metadata = os.path.join(SITE, name)
        if name.lower().startswith(("pillow-", "pillow_simd-")) and os.path.isfile(os.path.join(metadata, "INSTALLER")):
            tool = _read(os.path.join(metadata, "INSTALLER"), 64).decode("utf-8", "replace").strip()
            written.append((os.stat(metadata).st_mtime, _harmless(tool)))
    time, tool = max([entry for entry in written if entry[1] != "fastinstall"], default=(0.0, ""))
    return tool, strftime(", %Y-%m-%d %H:%M", localtime(time)) if tool else ""


def _read(path: str, most: int) -> bytes:
    """Return at most `most` bytes of a regular file; a FIFO or a device raises OSError, and does not block."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(path)
        return stream.read(most)


def _harmless(text: str) -> str:
    """Replace control characters with "?". Bytes that are not UTF-8 (PEP 383) stay; `_print` escapes them."""
    return "".join(char if char.isprintable() or "\udc80" <= char <= "\udcff" else "?" for char in text)


def _print(text: str) -> None:
    """Write to stderr without its buffer: text left in a buffer that cannot be flushed makes Python exit with 120."""
    if sys.stderr is not sys.__stderr__:  # replaced by a notebook or a test runner
        sys.stderr.write(text)
        return
    sys.stderr.flush()
    os.write(sys.stderr.fileno(), text.encode("utf-8", "backslashreplace"))


def _record_event(**event: str) -> None:
    """Append an event to the file of events; raises OSError if its directory is missing or not writable."""
    from json import dumps

    line = dumps({"at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()), **event}) + "\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(EVENTS, flags, 0o644)
    try:
        os.write(descriptor, line.encode())
        full = os.fstat(descriptor).st_size > LONGEST
    finally:
        os.close(descriptor)
    if full:
        os.replace(EVENTS, EVENTS + ".1")

"""What the start-up guard says: needed only where PIL is not as fastinstall put it here, or another one comes first.

Put here by fastinstall; remove it with `fastinstall guard remove --prefix PREFIX`.
"""

import os
import sys
from stat import S_ISREG
from time import gmtime, localtime, strftime

from _fastinstall_guard import SITE, known, tree

PREFIX = os.path.normpath(f"{SITE}/{known['prefix']}")
EVENTS = f"{PREFIX}/share/fastinstall/guard-events.jsonl"
LONGEST = 1 << 15  # bytes of a file of events before it makes room for the next


class Listener:
    """Hears of the first import of PIL, as a finder on `sys.meta_path` that finds nothing and then leaves."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 (the protocol)
        """Speak when PIL is asked for."""
        if name == "PIL" and self in sys.meta_path:
            sys.meta_path.remove(self)
            try:
                _tell()
            except Exception:  # noqa: BLE001 (whatever is wrong with a guard, its host goes on)
                return


def await_import() -> None:
    """Speak at the first import of PIL by this interpreter, unless it listens already or is a subinterpreter."""
    waiting = any(type(finder).__name__ == "Listener" for finder in sys.meta_path)
    if not waiting and "PIL" not in sys.modules and not _in_subinterpreter():
        tree.mark()
        sys.meta_path.insert(0, Listener())


def get_ready() -> None:
    """Import what telling takes, ahead of a pip that lets nothing be imported later."""
    for name in ("hashlib", "json", "shlex"):
        __import__(name)


def tell_after_pip() -> None:
    """Speak at the end of a pip that changed PIL; one that only passed `--python` on leaves it to its child."""
    if "_PIP_RUNNING_IN_SUBPROCESS" not in os.environ or "pip-runner" in sys.argv[0]:
        _tell(tool="pip")
        tree.forget(os.getpid())


def _tell(tool: str = "") -> None:
    """Say what happened and how to repair it, unless all is well or somebody of this process tree said it."""
    if os.environ.get("FASTINSTALL_GUARD") == "0":
        return
    found, files, verb = _found_version(), (known["core"], known["version"]), "doctor --fix"
    change, when = _change(found), ""
    other = "" if change or tool else _hiding()
    if other:
        change, found, files, verb = f"is hidden by {_harmless(other)}", "", (other,), "doctor"
    if not change or not tree.first_to_tell(*files):
        return
    from shlex import quote

    stack = _harmless(known["stack"])
    if not (tool or other or change == "was removed"):
        tool, when = _installer()
    by = f" by {tool}" if tool else ""
    prefix = _harmless(PREFIX)
    _say(
        f"fastinstall: the fast Pillow {stack} in {prefix} {change}{by}{when}\n"
        f"hint: {_harmless(_program())} {verb} --prefix {quote(prefix)}\n"
    )
    _write_down(change=change, tool=tool, stack=stack, found=found.strip("?"))


def _program() -> str:
    """How fastinstall was called when it put this guard here; its plain name if that program is gone."""
    from shlex import split

    lines = _content(f"{SITE}/_fastinstall_guard/state", 1 << 14).decode().splitlines()
    program = next((line[8:] for line in lines if line.startswith("program ")), "fastinstall")
    is_gone = any(word.startswith("/") and not os.path.exists(word) for word in split(program))
    return "fastinstall" if is_gone else program


def _hiding() -> str:
    """The file or directory of the PIL that this program is about to import; empty if it is that of this directory."""
    specs = (finder.find_spec("PIL", None) for finder in list(sys.meta_path) if hasattr(finder, "find_spec"))
    spec = next((each for each in specs if each is not None), None)
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


def _change(found: str) -> str:
    """What became of PIL, judged by content; empty if it is as it was put here."""
    from hashlib import sha256

    core, stack = known["core"], known["stack"]
    if not os.path.isdir(os.path.dirname(core)):
        return "was removed"
    try:
        size = known["expected"][0]
        intact = sha256(_content(core, size + 1)).hexdigest() == known["digest"]
    except OSError:
        return f"was replaced with Pillow {found}" if found not in ("?", stack) else "is incomplete"
    if found == stack:
        return "" if intact else "was replaced with another build"
    return f"is mixed with files of Pillow {found}" if intact else f"was replaced with Pillow {found}"


def _found_version() -> str:
    """What PIL/_version.py says now; "?" if it says nothing."""
    try:
        content = _content(known["version"], 1 << 16).decode()
        return _harmless(content.partition("__version__ = ")[2].split()[0].strip("'\""))
    except (OSError, ValueError, IndexError):
        return "?"


def _installer() -> "tuple[str, str]":
    """The tool that wrote the latest metadata of a Pillow, and when: "uv", ", 2026-11-21 10:40"."""
    written = []
    for name in os.listdir(SITE):
        metadata = os.path.join(SITE, name)
        if name.lower().startswith(("pillow-", "pillow_simd-")) and os.path.isfile(os.path.join(metadata, "INSTALLER")):
            tool = _content(os.path.join(metadata, "INSTALLER"), 64).decode("utf-8", "replace").strip()
            written.append((os.stat(metadata).st_mtime, _harmless(tool)))
    time, tool = max([entry for entry in written if entry[1] != "fastinstall"], default=(0.0, ""))
    return tool, strftime(", %Y-%m-%d %H:%M", localtime(time)) if tool else ""


def _content(path: str, most: int) -> bytes:
    """The beginning of a file; what is none (a FIFO, a device) is neither waited for nor read without end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(path)
        return stream.read(most)


def _harmless(text: str) -> str:
    """What others wrote, without what steers a terminal; bytes that are no text stay, and are written as numbers."""
    return "".join(each if each.isprintable() or "\udc80" <= each <= "\udcff" else "?" for each in text)


def _say(text: str) -> None:
    """Write to stderr past its buffer, where what cannot be written would make Python end with exit code 120."""
    if sys.stderr is not sys.__stderr__:  # a notebook's, a test runner's
        sys.stderr.write(text)
        return
    sys.stderr.flush()
    os.write(sys.stderr.fileno(), text.encode("utf-8", "backslashreplace"))


def _write_down(**event: str) -> None:
    """Append an event to the trace, where setup has made a directory for it and this user may write."""
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

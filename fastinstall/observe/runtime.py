"""Use PIL in a subprocess of the target's interpreter: a crash stays there and is explained.

A signal's instruction is named from the output of its handler (`_fault`) and the kernel's memory map of the process.
Source: proc_pid_maps(5).
"""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as AbcMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, Completed, run
from fastinstall.elf.image import ElfError, open_image
from fastinstall.model.facts import OperationResult, Runtime
from fastinstall.model.live_process import Fault, packages_of

_TIMEOUT = 120.0
_QUICK_TIMEOUT = 20.0
_OPERATIONS = Path(__file__).with_name("_operations.py")
_SILENCED_GUARD = {"FASTINSTALL_GUARD": "0"}


def observe_runtime(
    python: Path,
    *,
    stage: Path | None = None,
    pixels: Path | None = None,
    environment: AbcMapping[str, str],
    quick: bool = False,
) -> Runtime:
    """Import PIL and run real operations with the target's interpreter.

    Args:
        python: the target's interpreter.
        stage: a directory to search for PIL first, before it is installed.
        pixels: a file for every operation's pixels, for `compare_pixels`.
        environment: variables of the subprocess.
        quick: run only a few operations, in about 100 ms.

    Returns:
        The result, even after a crash, a hang or a failed import.
    """
    options = ["--quick"] if quick else []
    options += ["--stage", str(stage.absolute())] if stage is not None else []
    options += ["--pixels", str(pixels)] if pixels is not None else []
    argv = (str(python), "-I", "-B", str(_OPERATIONS), *options)
    timeout = _QUICK_TIMEOUT if quick else _TIMEOUT
    try:
        completed = run(argv, environment={**environment, **_SILENCED_GUARD}, timeout=timeout, check=False)
    except CommandError as error:
        return _make_runtime(error.completed, error.message)
    return _make_runtime(completed, _describe_exit(completed), completed.signal_name)


def _describe_exit(completed: Completed) -> str:
    """Return why the subprocess did not finish; empty if it did."""
    if completed.signal_name:
        return f"killed by {completed.signal_name}"
    last_line = completed.stderr.strip().rpartition("\n")[2]
    return (last_line or f"exit code {completed.exit_code}") if completed.exit_code else ""


def _make_runtime(completed: Completed, error: str, signal: str = "") -> Runtime:
    events = tuple(_parse_events(completed.stdout))
    first: dict[str, dict[str, Any]] = {}
    for event in events:
        first.setdefault(f"mapped by {event['when']}" if event["event"] == "mapped" else event["event"], event)
    nothing: dict[str, Any] = {}
    imported, fault = first.get("imported", nothing), first.get("fault", nothing)
    ended = (event for event in events if event["event"] == "end")
    operations = tuple(OperationResult(name=each["name"], ok=not each["error"], error=each["error"]) for each in ended)
    own = [event for event in events if event["event"] != "fault"]
    during = next((result.name for result in operations if not result.ok), "")
    if error and own and own[-1]["event"] == "begin":
        during = str(own[-1]["name"])
    struck = None
    if signal and fault.get("address"):
        maps, address = completed.stdout.splitlines(), int(fault["address"], 16)
        struck = read_fault(address, maps, decode=signal == "SIGILL", truncated=signal == "SIGBUS")
    return Runtime(
        imported=bool(imported),
        error=error or first.get("failed", nothing).get("error", ""),
        signal=signal,
        during=during,
        version=imported.get("version", ""),
        location=imported.get("location", ""),
        core=first.get("core", nothing).get("path", ""),
        features=first.get("features", nothing).get("features", {}),
        operations=operations,
        mapped_by_import=tuple(map(PurePath, first.get("mapped by import", nothing).get("files", ()))),
        mapped=tuple(map(PurePath, first.get("mapped by end", nothing).get("files", ()))),
        fault=struck,
    )


def _parse_events(stdout: str) -> Iterator[dict[str, Any]]:
    """Yield the events of our script; other output is skipped."""
    for line in stdout.splitlines():
        try:
            event = json_data(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            yield event


_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..([x-]). ([0-9a-f]+) \S+ (\d+) *(.*)")
_DELETED = " (deleted)"
_NO_FILES = ("/memfd:", "/dev/", "/SYSV", "/[aio]", "/anon_hugepage")


@dataclass(frozen=True, slots=True)
class Mapping:
    """A range of a process's memory.

    Attributes:
        start: its first address.
        end: the address after it.
        is_executable: whether code may run there.
        offset: of its start in the file, in bytes.
        inode: of the file, from the kernel; 0 without a file.
        path: the file, in the mount namespace of the process; in brackets if not a file ("[stack]"), or empty.
        is_deleted: whether the file has been unlinked; `path` is its former name.
    """

    start: int
    end: int
    is_executable: bool
    offset: int
    inode: int
    path: str
    is_deleted: bool

    @property
    def is_file(self) -> bool:
        """Whether it comes from a file, and not from memory that only looks like one."""
        return self.path.startswith("/") and not self.path.startswith(_NO_FILES)


def read_mappings(lines: Iterable[str]) -> Iterator[Mapping]:
    """Parse the lines of a `maps` file; other lines are skipped."""
    for found in map(_LINE.fullmatch, lines):
        if found is not None:
            start, end, offset = (int(found[group], 16) for group in (1, 2, 4))
            path = found[6].replace("\\012", "\n")  # the kernel's escape of a line break
            yield Mapping(
                start=start,
                end=end,
                is_executable=found[3] == "x",
                offset=offset,
                inode=int(found[5]),
                path=path.removesuffix(_DELETED),
                is_deleted=path.endswith(_DELETED),
            )


_LONGEST = 15


def read_fault(address: int, maps: Iterable[str], *, decode: bool, truncated: bool = False) -> Fault | None:
    """Return the file that holds an address, and its contents there.

    Args:
        address: of the instruction, in the process that died.
        maps: lines of its `/proc/PID/maps`; other lines are skipped.
        decode: also name the instruction and the CPU features that it needs, which requires the extra `isa`.
        truncated: also look for truncated files; the crash may be in code that reads them, such as the loader's.

    Returns:
        None without a map.
    """
    mappings = tuple(read_mappings(maps))
    if not mappings:
        return None
    mapping = next((known for known in mappings if known.start <= address < known.end), None)
    short = _list_truncated_files(mappings) if truncated else ()
    if mapping is None or not mapping.is_file:
        return Fault(file=None, offset=0, code="", truncated=short)
    path, offset, code = Path(mapping.path), address - mapping.start + mapping.offset, b""
    with suppress(OSError), foreign.open_foreign_file(path) as stream:  # it may be gone, or truncated
        stream.seek(offset)
        code = stream.read(_LONGEST)
    fault = Fault(file=path, offset=offset, code=code.hex(), truncated=short)
    if not decode or not code:
        return fault
    from fastinstall.elf.isa.instructions import describe, is_available  # noqa: PLC0415 (rarely needed)

    instruction, features = describe(code, offset) if is_available() else ("", ())
    return replace(fault, instruction=instruction, features=features)


def _list_truncated_files(mappings: tuple[Mapping, ...]) -> tuple[Path, ...]:
    """List files that are empty or end before the segments in their headers; PIL's first."""
    found = []
    for path in dict.fromkeys(Path(each.path) for each in mappings if each.is_file and not each.is_deleted):
        try:
            with open_image(path):
                pass
        except ElfError as error:
            found += [path] if error.is_short else []
        except OSError:
            pass
    return tuple(sorted(found, key=lambda path: packages_of(path) is None))

"""Run named cases on one stack, in processes of the target's interpreter, and return each case's outcome.

If a case hangs or kills its process, that is the outcome of the case, and a new process continues with the remaining
cases. `Results` runs several stacks in parallel; a run that several checks need is made only once.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from fastinstall.core import temporary_directories
from fastinstall.core.codec import digest
from fastinstall.core.concurrency import await_future
from fastinstall.core.errors import FailedError
from fastinstall.core.process import CommandError, ProcessGroup, run
from fastinstall.core.values import immutable

MATRIX = Path(__file__).with_name("_matrix.py")
DECODERS = Path(__file__).with_name("_decoders.py")

_RUNNER = Path(__file__).with_name("_runner.py")
_RECORD = 160
_NOT_IMPORTED = 3
_MOST_DEATHS = 40
_ALARM = "SIGALRM"
_RAISES = "raises "

Outcomes = Mapping[str, str]
"""Outcomes by case: a digest of the result, "raises ValueError: bad image size", or how the process died.

Equal outcomes mean equal results.
"""


@immutable
class ProofStack:
    """A PIL to run, with its interpreter and environment variables.

    Attributes:
        label: name for messages ("x86-64-v3", "pillow 13.0.0").
        python: path of the interpreter that imports PIL.
        tree: the directory that contains PIL, for the front of `sys.path`.
        variables: the complete environment of the processes.
        patience: factor for the time limit of each case; above 1 if the processes run in an emulator.
    """

    label: str
    python: Path
    tree: Path
    variables: Mapping[str, str]
    patience: float = 1.0

    def with_variables(self, variables: Mapping[str, str]) -> "ProofStack":
        """Return a copy of the stack with additional environment variables."""
        return replace(self, variables={**self.variables, **variables})

    def with_tunables(self, *tunables: str) -> "ProofStack":
        """Return a copy of the stack with additional tunables of glibc, such as "glibc.cpu.hwcaps=-AVX2".

        With this example, the loader chooses a level below x86-64-v3.
        """
        there = self.variables.get("GLIBC_TUNABLES", "")
        return self.with_variables({"GLIBC_TUNABLES": ":".join(filter(None, (there, *tunables)))})


@immutable
class Work:
    """The cases to run, and the module that performs them.

    Attributes:
        cases: names of the cases.
        operations: path of the module whose `perform` runs the cases: MATRIX or DECODERS.
        inputs: a directory of files that the cases read, or None if they read none.
        seconds: time limit for each case.
    """

    cases: Sequence[str]
    operations: Path = MATRIX
    inputs: Path | None = None
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class ProofPicture:
    """A picture that a case returned: its mode, its size (width and height in pixels) and its samples."""

    mode: str
    size: tuple[int, int]
    content: bytes = field(repr=False)


def run_cases(stack: ProofStack, work: Work, process_group: ProcessGroup | None = None) -> Outcomes:
    """Perform every case, and return the outcomes by name of the case.

    Args:
        stack: the PIL to run.
        work: the cases.
        process_group: a group by which the processes of several runs can be killed; needed outside the main thread.

    Raises:
        FailedError: PIL cannot be imported.
    """
    with temporary_directories.temporary_directory("cases") as scratch:
        return _run(stack, work, scratch, (), process_group)


def sample_cases(stack: ProofStack, work: Work) -> dict[str, tuple[ProofPicture, ...]]:
    """Perform every case, and return the pictures by name of the case; cases that fail are left out.

    Raises:
        FailedError: PIL cannot be imported.
    """
    if not work.cases:
        return {}
    with temporary_directories.temporary_directory("samples") as scratch:
        written = scratch / "samples"
        written.touch()
        _run(stack, work, scratch, ("--samples", written), None)
        return dict(_read_samples(written.read_bytes()))


def is_digest(outcome: str) -> bool:
    """Return whether an outcome is a digest, which means that the case returned pictures."""
    return " " not in outcome


def is_death(outcome: str) -> bool:
    """Return whether an outcome means that the case killed its process, hung, or was never run."""
    return not is_digest(outcome) and not outcome.startswith(_RAISES)


def _run(
    stack: ProofStack, work: Work, scratch: Path, options: tuple[str | Path, ...], process_group: ProcessGroup | None
) -> Outcomes:
    """Start processes until all cases have been performed, or too many processes have died; return the outcomes."""
    names, results = scratch / "names", scratch / "results"
    names.write_text("".join(f"{case}\n" for case in work.cases), encoding="utf-8")
    results.write_bytes(bytes(_RECORD * (len(work.cases) + 1)))
    inputs = ("--inputs", work.inputs) if work.inputs else ()
    argv = (
        *(stack.python, "-I", "-B", _RUNNER, "--stage", stack.tree.absolute(), "--operations", work.operations),
        *("--cases", names, "--results", results, *inputs, "--seconds", str(work.seconds * stack.patience), *options),
    )
    deaths: dict[str, str] = {}
    first = 0
    while first < len(work.cases) and len(deaths) < _MOST_DEATHS:
        with results.open("r+b") as stream:
            stream.write(bytes(8))  # 0 means that no case is running
        ending = _describe_death(stack, (*argv, "--from", str(first)), work, process_group)
        if not ending:
            break
        first = int.from_bytes(results.read_bytes()[:8], "little")
        if first == 0:
            raise FailedError(f"{stack.label}: it {ending} while importing PIL")
        deaths[work.cases[first - 1]] = ending
    return {**dict(_parse_outcomes(work.cases, results.read_bytes())), **deaths}


def _describe_death(
    stack: ProofStack, argv: tuple[str | Path, ...], work: Work, process_group: ProcessGroup | None
) -> str:
    """Run a process; return how it died, or "" if it exited with code 0.

    Raises:
        FailedError: the process could not be started, or exited with another code.
    """
    variables = {**stack.variables, "FASTINSTALL_GUARD": "0"}
    try:
        completed = run(argv, environment=variables, check=False, process_group=process_group)
    except CommandError as error:
        raise FailedError(f"{stack.label}: {error.message}", details=error.details) from error
    if completed.exit_code == 0:
        return ""
    if completed.signal_name == _ALARM:
        return f"does not answer within {work.seconds * stack.patience:g} s"
    if completed.signal_name:
        return f"dies of {completed.signal_name}"
    said = completed.stdout if completed.exit_code == _NOT_IMPORTED else completed.stderr
    complaint = said.strip().rpartition("\n")[2] or f"exit code {completed.exit_code}"
    raise FailedError(f"{stack.label}: {complaint}")


def _parse_outcomes(cases: Sequence[str], content: bytes) -> Iterator[tuple[str, str]]:
    for number, case in enumerate(cases, start=1):
        record = content[number * _RECORD : (number + 1) * _RECORD]
        if record[:1] == b"D":
            yield case, record[1:17].hex()
        elif record[:1] == b"E":
            yield case, _RAISES + record[1:].rstrip(bytes(1)).decode(errors="replace").replace("\n", " ")
        else:
            yield case, "was not reached"


def _read_samples(content: bytes) -> Iterator[tuple[str, tuple[ProofPicture, ...]]]:
    position = 0
    while position < len(content):
        end = content.index(b"\n", position)
        case, parts = json.loads(content[position:end])
        position = end + 1
        made = []
        for mode, (width, height), length in parts:
            made.append(ProofPicture(mode, (width, height), content[position : position + length]))
            position += length
        yield case, tuple(made)


_FILLED = "glibc.malloc.tcache_count=0:glibc.malloc.perturb="
"""Tunables that make glibc fill fresh memory with a byte; the byte's value has to be appended. An operation that reads
memory before writing it gives the same result in every run with the same byte, but another result with another byte.
The per-thread cache is disabled because its memory is not filled. Source: "Memory Allocation Tunables" in the manual of
the GNU C Library."""


class Results(AbstractContextManager["Results"]):
    """Runs cases on several stacks in parallel, and remembers the outcomes, so that no run is made twice.

    Use an instance in a `with` block; at the end of the block, the instance waits for the running processes.
    """

    def __init__(self, processes: int = 0) -> None:
        """Create the worker threads that wait for the runs.

        Args:
            processes: number of parallel runs; 0 for one per usable CPU.
        """
        self._workers = ThreadPoolExecutor(processes or len(os.sched_getaffinity(0)))
        self._process_group = ProcessGroup()
        self._started: dict[str, Future[Outcomes]] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel the runs that have not begun, and wait for the running ones; after an error, kill those first."""
        if kind is not None:
            self._process_group.pull()
        self._workers.shutdown(cancel_futures=True)

    def start(self, stack: ProofStack, work: Work) -> Future[Outcomes]:
        """Start a run unless it was started before; return the future of its outcomes."""
        key = digest((str(stack.python), str(stack.tree), stack.variables, work))
        if key not in self._started:
            self._started[key] = self._workers.submit(run_cases, stack, work, self._process_group)
        return self._started[key]

    def outcomes(self, stack: ProofStack, work: Work) -> Outcomes:
        """Run the cases unless they were run before; return their outcomes.

        Raises:
            FailedError: PIL cannot be imported.
        """
        return await_future(self.start(stack, work))


def fill_fresh_memory(stack: ProofStack) -> ProofStack:
    """Return a copy of the stack in which new memory is filled with a fixed byte, for comparisons."""
    return stack.with_tunables(_FILLED + "85")


def disturb_memory(stack: ProofStack) -> ProofStack:
    """Return a copy of the stack in which new memory is filled with a byte that `fill_fresh_memory` does not use.

    In addition, Pillow stores pictures in memory blocks of 4096 bytes instead of the default size.
    """
    return stack.with_tunables(_FILLED + "170").with_variables({"PILLOW_BLOCK_SIZE": "4096"})

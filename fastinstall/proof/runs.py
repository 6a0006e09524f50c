"""Run named cases on one stack, in processes of the target's interpreter, and return each case's outcome.

A case that kills its process, or hangs, is an outcome too; the rest goes on in the next process. Outcomes that several
checks need are computed once, and runs go in parallel.
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
"""By case: a digest of what it made, "raises ValueError: bad image size", or how it ended the process.

Equal ones are equal results.
"""


@immutable
class ProofStack:
    """One PIL to run.

    Attributes:
        label: for messages ("x86-64-v3", "pillow 13.0.0").
        python: the interpreter that imports it.
        tree: the directory that goes in front of its path.
        variables: all environment variables of its processes.
        patience: how many times as long as its work says a case may take; more than 1 where an emulator runs it.
    """

    label: str
    python: Path
    tree: Path
    variables: Mapping[str, str]
    patience: float = 1.0

    def with_variables(self, variables: Mapping[str, str]) -> "ProofStack":
        """Return the same stack with some variables set."""
        return replace(self, variables={**self.variables, **variables})

    def with_tunables(self, *tunables: str) -> "ProofStack":
        """Return the same stack with settings of glibc added: "glibc.cpu.hwcaps=-AVX2" takes it below x86-64-v3."""
        there = self.variables.get("GLIBC_TUNABLES", "")
        return self.with_variables({"GLIBC_TUNABLES": ":".join(filter(None, (there, *tunables)))})


@immutable
class Work:
    """What is to be run.

    Attributes:
        cases: their names, as the module's `perform` takes them.
        operations: the module that performs them: MATRIX or DECODERS.
        inputs: a directory of files that the operations read, or None if they read none.
        seconds: longest time of one case.
    """

    cases: Sequence[str]
    operations: Path = MATRIX
    inputs: Path | None = None
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class ProofPicture:
    """One picture that a case made: its mode, width and height in pixels, and samples."""

    mode: str
    size: tuple[int, int]
    content: bytes = field(repr=False)


def run_cases(stack: ProofStack, work: Work, process_group: ProcessGroup | None = None) -> Outcomes:
    """Perform every case.

    Args:
        stack: which PIL, with its interpreter and environment variables.
        work: what it has to do.
        process_group: ends it together with others; for a run in another thread than the main one.

    Raises:
        FailedError: PIL cannot be imported there.
    """
    with temporary_directories.temporary_directory("cases") as scratch:
        return _run(stack, work, scratch, (), process_group)


def sample_cases(stack: ProofStack, work: Work) -> dict[str, tuple[ProofPicture, ...]]:
    """Perform cases and bring what they made; a case that fails is left out.

    Raises:
        FailedError: PIL cannot be imported there.
    """
    if not work.cases:
        return {}
    with temporary_directories.temporary_directory("samples") as scratch:
        written = scratch / "samples"
        written.touch()
        _run(stack, work, scratch, ("--samples", written), None)
        return dict(_read_samples(written.read_bytes()))


def is_digest(outcome: str) -> bool:
    """Return whether a case made something."""
    return " " not in outcome


def is_death(outcome: str) -> bool:
    """Return whether a case ended its process."""
    return not is_digest(outcome) and not outcome.startswith(_RAISES)


def _run(
    stack: ProofStack, work: Work, scratch: Path, options: tuple[str | Path, ...], process_group: ProcessGroup | None
) -> Outcomes:
    """Start processes until every case has had its turn, or too many have died."""
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
            stream.write(bytes(8))  # no case is under way
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
    """Describe how a process died, or return "" if it exited by itself."""
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
"""Memory is filled with a byte before it is used, so that an operation that reads what was never written gives the same
each time, and something else with another byte. What the thread's cache hands out would not be filled. Source: "Memory
Allocation Tunables" in the manual of the GNU C Library."""


class Results(AbstractContextManager["Results"]):
    """What stacks gave, computed when it is first asked for.

    Use it as a context: it ends when what was started has ended.
    """

    def __init__(self, processes: int = 0) -> None:
        """Prepare.

        Args:
            processes: how many runs at a time; 0 for one on each processor.
        """
        self._workers = ThreadPoolExecutor(processes or len(os.sched_getaffinity(0)))
        self._process_group = ProcessGroup()
        self._started: dict[str, Future[Outcomes]] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the runs that have begun, and drop the others; after an error end them all."""
        if kind is not None:
            self._process_group.pull()
        self._workers.shutdown(cancel_futures=True)

    def start(self, stack: ProofStack, work: Work) -> Future[Outcomes]:
        """Begin a run, if it has not begun."""
        key = digest((str(stack.python), str(stack.tree), stack.variables, work))
        if key not in self._started:
            self._started[key] = self._workers.submit(run_cases, stack, work, self._process_group)
        return self._started[key]

    def outcomes(self, stack: ProofStack, work: Work) -> Outcomes:
        """Return what each case gave.

        Raises:
            FailedError: PIL cannot be imported there.
        """
        return await_future(self.start(stack, work))


def fill_fresh_memory(stack: ProofStack) -> ProofStack:
    """Return the stack as every check runs it: with memory that is filled before it is used."""
    return stack.with_tunables(_FILLED + "85")


def disturb_memory(stack: ProofStack) -> ProofStack:
    """Return it with another byte in its memory, and pictures in blocks of 4096 bytes."""
    return stack.with_tunables(_FILLED + "170").with_variables({"PILLOW_BLOCK_SIZE": "4096"})

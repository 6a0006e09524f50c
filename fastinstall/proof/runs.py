"""Run named cases on one stack, in processes of the target's interpreter, and tell what each case gave.

A case that kills its process, or hangs, is an outcome too; the rest goes on in the next process.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fastinstall.errors import FailedError
from fastinstall.model.immutable import immutable
from fastinstall.system import files
from fastinstall.system.process import CommandError, Completed, Leash, run

MATRIX = Path(__file__).with_name("_matrix.py")
DECODERS = Path(__file__).with_name("_decoders.py")

_RUNNER = Path(__file__).with_name("_runner.py")
_RECORD = 24
_NOT_IMPORTED = 3
_MOST_DEATHS = 40
_ALARM = "SIGALRM"
_RAISES = "raises "

Outcomes = Mapping[str, str]
"""By case: a digest of what it made, "raises ValueError", or how it ended the process. Equal ones are equal results."""


@immutable
class Stack:
    """One PIL to run.

    Attributes:
        label: for messages ("x86-64-v3", "pillow 13.0.0").
        python: the interpreter.
        tree: the directory that goes in front of its path.
        variables: all environment variables of its processes.
        identity: what decides its outcomes, where they may be kept: hash of the wheel, Python, CPU; else empty.
    """

    label: str
    python: Path
    tree: Path
    variables: Mapping[str, str]
    identity: str = ""

    def with_variables(self, variables: Mapping[str, str]) -> "Stack":
        """The same with some variables set."""
        return replace(self, variables={**self.variables, **variables})

    def with_tunables(self, *tunables: str) -> "Stack":
        """The same with settings of glibc added: "glibc.cpu.hwcaps=-AVX2" takes the level below x86-64-v3."""
        there = self.variables.get("GLIBC_TUNABLES", "")
        return self.with_variables({"GLIBC_TUNABLES": ":".join(filter(None, (there, *tunables)))})


@immutable
class Work:
    """What is to be run.

    Attributes:
        cases: names.
        operations: the module that performs them: MATRIX or DECODERS.
        inputs: a directory of files that the operations read, or None if they read none.
        seconds: longest time of one case.
    """

    cases: Sequence[str]
    operations: Path = MATRIX
    inputs: Path | None = None
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One picture that a case made: its mode, width and height in pixels, and samples."""

    mode: str
    size: tuple[int, int]
    content: bytes = field(repr=False)


def run_cases(stack: Stack, work: Work, leash: Leash | None = None) -> Outcomes:
    """Perform every case.

    Args:
        stack: which PIL.
        work: what it has to do.
        leash: ends it together with others; for a run in another thread than the main one.

    Raises:
        FailedError: PIL cannot be imported there.
    """
    with files.temporary_directory("cases") as scratch:
        return _run(stack, work, scratch, (), leash)


def sample_cases(stack: Stack, work: Work) -> dict[str, tuple[Sample, ...]]:
    """Perform cases and bring what they made; a case that fails is left out.

    Raises:
        FailedError: PIL cannot be imported there.
    """
    if not work.cases:
        return {}
    with files.temporary_directory("samples") as scratch:
        written = scratch / "samples"
        written.touch()
        _run(stack, work, scratch, ("--samples", written), None)
        return dict(_read_samples(written.read_bytes()))


def is_digest(outcome: str) -> bool:
    """Whether a case made something."""
    return " " not in outcome


def is_death(outcome: str) -> bool:
    """Whether a case ended its process."""
    return not is_digest(outcome) and not outcome.startswith(_RAISES)


def _run(stack: Stack, work: Work, scratch: Path, options: tuple[str | Path, ...], leash: Leash | None) -> Outcomes:
    """Start processes until every case has had its turn, or too many have died."""
    names, results = scratch / "names", scratch / "results"
    names.write_text("".join(f"{case}\n" for case in work.cases), encoding="utf-8")
    results.write_bytes(bytes(_RECORD * (len(work.cases) + 1)))
    argv = _argv(stack, work, names, results)
    deaths: dict[str, str] = {}
    first = 0
    while first < len(work.cases) and len(deaths) < _MOST_DEATHS:
        _forget_position(results)
        ending = _ending(stack, (*argv, *options, "--from", str(first)), work, leash)
        if not ending:
            break
        first = int.from_bytes(results.read_bytes()[:8], "little")
        if first == 0:
            raise FailedError(f"{stack.label}: it {ending} while PIL is imported")
        deaths[work.cases[first - 1]] = ending
    return {**dict(_outcomes(work.cases, results.read_bytes())), **deaths}


def _forget_position(results: Path) -> None:
    with results.open("r+b") as stream:
        stream.write(bytes(8))


def _argv(stack: Stack, work: Work, names: Path, results: Path) -> tuple[str | Path, ...]:
    places = ("--stage", stack.tree.absolute(), "--operations", work.operations, "--cases", names, "--results", results)
    inputs = ("--inputs", work.inputs) if work.inputs else ()
    return (stack.python, "-I", "-B", _RUNNER, *places, *inputs, "--seconds", str(work.seconds))


def _ending(stack: Stack, argv: tuple[str | Path, ...], work: Work, leash: Leash | None) -> str:
    """Describe how a process died, or return "" if it exited by itself."""
    variables = {**stack.variables, "FASTINSTALL_GUARD": "0"}
    try:
        completed = run(argv, environment=variables, check=False, leash=leash)
    except CommandError as error:
        raise FailedError(f"{stack.label}: {error.message}", details=error.details) from error
    if completed.exit_code == 0:
        return ""
    if completed.signal_name == _ALARM:
        return f"gives no answer within {work.seconds:g} s"
    if completed.signal_name:
        return f"dies of {completed.signal_name}"
    raise FailedError(f"{stack.label}: {_complaint(completed)}")


def _complaint(completed: Completed) -> str:
    text = completed.stdout if completed.exit_code == _NOT_IMPORTED else completed.stderr
    return text.strip().rpartition("\n")[2] or f"exit code {completed.exit_code}"


def _outcomes(cases: Sequence[str], content: bytes) -> Iterator[tuple[str, str]]:
    for number, case in enumerate(cases, start=1):
        record = content[number * _RECORD : (number + 1) * _RECORD]
        if record[:1] == b"D":
            yield case, record[1:17].hex()
        elif record[:1] == b"E":
            yield case, _RAISES + record[1:].rstrip(bytes(1)).decode()
        else:
            yield case, "was not reached"


def _read_samples(content: bytes) -> Iterator[tuple[str, tuple[Sample, ...]]]:
    position = 0
    while position < len(content):
        end = content.index(b"\n", position)
        case, parts = json.loads(content[position:end])
        position = end + 1
        made = []
        for mode, (width, height), length in parts:
            made.append(Sample(mode, (width, height), content[position : position + length]))
            position += length
        yield case, tuple(made)

"""Warnings of the compiler that neither upstream's source gives nor the fork's: a merge that mixed something up.

All are compiled with the build's own flags and -Wall -Wextra; what is compared is file, function, kind and
text, for lines shift. That the fork's own are harmless is shown by what runs: heap and sanitizers.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.errors import FailedError
from fastinstall.merge.guards import KERNEL_SUFFIX
from fastinstall.merge.retained import SUFFIX
from fastinstall.model.immutable import immutable
from fastinstall.model.proof import ProofCheck, ProofStatus
from fastinstall.proof.checks import skipped
from fastinstall.proof.recording import CompileStep
from fastinstall.proof.variant import Bench, Variant, for_each
from fastinstall.proof.yard import Yard
from fastinstall.system.process import Completed, Leash

NAME = "compiler warnings"
QUICK_NAME = "compiler warnings, without optimising"

_FLAGS = ("-Wall", "-Wextra", "-Wno-old-style-declaration", "-fno-diagnostics-show-caret")
"""The order of `static`, `inline` and a type is a matter of style, in which the fork differs from upstream."""

_FUNCTION = re.compile(r"^(?P<file>[^\s:]+): (?:In function|At top level)(?: '(?P<function>\w+)')?.*:$")
_INLINED = re.compile(r"^\s+inlined from '(?P<function>\w+)'")
_WARNING = re.compile(r"^(?P<file>[^\s:]+):\d+:(?:\d+:)? warning: (?P<text>.+?)(?: \[(?P<kind>-W[^\]]+)\])?$")
_OF_MERGE = re.compile(rf"(?:{re.escape(KERNEL_SUFFIX)}|{re.escape(SUFFIX)})\b")
_NUMBER = re.compile(r"\b\d+\b")
_INCLUDED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@immutable
class Warned:
    """A warning, as far as it can be told of another version of the same source.

    Attributes:
        file: where it stands.
        function: in which; empty where that is not told.
        kind: the option that gives it ("-Wunused-variable").
        text: numbers aside.
    """

    file: str
    function: str
    kind: str
    text: str

    @property
    def line(self) -> str:
        """For people."""
        return f"{self.file}: {f'{self.function}: ' if self.function else ''}{self.text} [{self.kind}]"


def prove_warnings(yard: Yard, *, quick: bool = False) -> ProofCheck:
    """Compile the source, and upstream's where the first one gave a warning, and compare.

    Args:
        yard: the build, taken apart.
        quick: look at changed files only, and do not optimise: warnings that follow the flow of data do not come.
    """
    begun, name, stock = time.monotonic(), QUICK_NAME if quick else NAME, yard.stock
    if stock is None:
        return skipped(name, "upstream's own source, to compare with, is not part of this build")
    steps = changed_steps(yard, stock) if quick else yard.steps.compile
    try:
        found = warnings_of(yard, yard.source, steps, quick=quick)
        suspects = [step for step in steps if found[step.source]]
        found = _less(found, warnings_of(yard, stock, suspects, quick=quick))
        merged = _less(found, _of_the_fork(yard, [step for step in suspects if found[step.source]], quick=quick))
    except FailedError as error:
        return _check(name, error.message, (error.message, *error.details), begun)
    own = f"; {len(_lines(found))} are the fork's own" if found != merged else ""
    fresh = _lines(merged)
    told = f"{len(fresh) or 'none'} that {stock.name} does not give{own}, in {len(steps)} files"
    return _check(name, told, fresh, begun)


def _of_the_fork(yard: Yard, steps: Sequence[CompileStep], *, quick: bool) -> dict[str, frozenset[Warned]]:
    """What the fork's files give as they were published: no fault of the merge."""
    if yard.fork is None:
        return {}
    fork = yard.fork
    return warnings_of(yard, fork, [step for step in steps if (fork / step.source).is_file()], quick=quick)


def _less(found: dict[str, frozenset[Warned]], known: dict[str, frozenset[Warned]]) -> dict[str, frozenset[Warned]]:
    everything = frozenset(warned for each in known.values() for warned in each)
    return {source: each - everything for source, each in found.items()}


def _lines(found: dict[str, frozenset[Warned]]) -> tuple[str, ...]:
    return tuple(sorted({warned.line for each in found.values() for warned in each}))


def warnings_of(yard: Yard, source: Path, steps: Sequence[CompileStep], *, quick: bool) -> dict[str, frozenset[Warned]]:
    """The warnings of each file.

    Raises:
        FailedError: one does not compile.
    """
    if not steps:
        return {}
    directory = yard.space / "warnings" / source.name
    directory.mkdir(parents=True, exist_ok=True)
    bench = Bench(replace(yard.steps, compile=tuple(steps)), Variant(source=source, flags=_FLAGS), directory)
    output = ("-fsyntax-only",) if quick else ("-o", "/dev/null")

    def compile_one(step: CompileStep, leash: Leash) -> Completed:
        return bench.compile(step, output, leash)

    answers = for_each(steps, compile_one, yard.steps.jobs)
    failed = [step.source for step, answer in zip(steps, answers, strict=True) if answer.exit_code != 0]
    if failed:
        words = next(answer.stderr for answer in answers if answer.exit_code != 0)
        raise FailedError(f"{', '.join(failed)} cannot be compiled", details=tuple(words.splitlines()))
    return {step.source: parse_warnings(answer.stderr) for step, answer in zip(steps, answers, strict=True)}


def parse_warnings(text: str) -> frozenset[Warned]:
    """What GCC or clang wrote, in the C locale."""
    return frozenset(_warnings(text.splitlines()))


def changed_steps(yard: Yard, stock: Path) -> tuple[CompileStep, ...]:
    """The steps whose C file, or one that it includes, is not as upstream's; headers aside, for all include them."""
    return tuple(step for step in yard.steps.compile if any(_differs(yard, stock, file) for file in _files(yard, step)))


def _files(yard: Yard, step: CompileStep) -> Iterator[Path]:
    file = Path(step.source)
    yield file
    text = (yard.source / file).read_text("utf-8", "replace")
    yield from (file.parent / name for name in _INCLUDED.findall(text) if name.endswith(".c"))


def _differs(yard: Yard, stock: Path, file: Path) -> bool:
    ours, theirs = yard.source / file, stock / file
    return ours.is_file() and (not theirs.is_file() or ours.read_bytes() != theirs.read_bytes())


def _warnings(lines: Iterable[str]) -> Iterator[Warned]:
    function = ""
    for line in lines:
        heading, warning = _FUNCTION.match(line) or _INLINED.match(line), _WARNING.match(line)
        if heading is not None:
            function = _OF_MERGE.sub("", heading["function"] or "")
        elif warning is not None:
            text = _NUMBER.sub("N", _OF_MERGE.sub("", warning["text"]))
            yield Warned(file=warning["file"], function=function, kind=warning["kind"] or "", text=text)


def _check(name: str, summary: str, problems: tuple[str, ...], begun: float) -> ProofCheck:
    status = ProofStatus.FAILED if problems else ProofStatus.OK
    seconds = round(time.monotonic() - begun, 2)
    return ProofCheck(name=name, status=status, summary=summary, details=problems, seconds=seconds)

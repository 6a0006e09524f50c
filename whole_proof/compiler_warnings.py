"""Find faults in our kernels by compiler warnings.

The check reports the warnings that our source gives and Pillow's unmodified source does not. Both sources are compiled
with the build's own flags and -Wall -Wextra. Warnings are compared by file, function, option and text, because line
numbers shift.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.process import Completed, ProcessGroup
from fastinstall.core.values import immutable
from fastinstall.model.recipe import SOURCE_SUFFIX
from fastinstall.proof.cases import ProofCheck, skip_proof_check
from whole_proof.build_tree import BuildTree
from whole_proof.checks import finish_check
from whole_proof.recorded_build import RecordedCompilation
from whole_proof.variant import SanitizedVariant, VariantCompiler, compile_in_parallel

_RENAMED = re.compile(rf"{SOURCE_SUFFIX}\b")
COMPILER_WARNINGS = "compiler warnings"
QUICK_NAME = "compiler warnings, without optimisation"

_FLAGS = ("-Wall", "-Wextra")
_GCC_FLAGS = ("-Wno-old-style-declaration", "-fno-diagnostics-show-caret")
"""-Wold-style-declaration is disabled because the order of `static`, `inline` and a type is a matter of style."""
_CLANG_FLAGS = ("-fno-caret-diagnostics",)

_FUNCTION = re.compile(r"^(?P<file>[^\s:]+): (?:In function|At top level)(?: '(?P<function>\w+)')?.*:$")
_INLINED = re.compile(r"^\s+inlined from '(?P<function>\w+)'")
_WARNING = re.compile(r"^(?P<file>[^\s:]+):\d+:(?:\d+:)? warning: (?P<text>.+?)(?: \[(?P<kind>-W[^\]]+)\])?$")
_LINE_NUMBER = re.compile(r"\b\d+\b")
_INCLUDED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@immutable
class ComparableWarning:
    """A warning without line numbers, so that it can be compared between versions of a source.

    Attributes:
        file: path of the source file.
        function: name of the function; empty if the compiler does not report it.
        kind: the compiler option that enables the warning ("-Wunused-variable").
        text: text of the warning, with each number replaced by "N".
    """

    file: str
    function: str
    kind: str
    text: str

    @property
    def line(self) -> str:
        """The warning as one line, for people."""
        return f"{self.file}: {f'{self.function}: ' if self.function else ''}{self.text} [{self.kind}]"


def prove_warnings(build_tree: BuildTree, *, quick: bool = False) -> ProofCheck:
    """Report the compiler warnings of our source that Pillow's own version of the same files does not give.

    Args:
        build_tree: the prepared build.
        quick: compile only changed files, without optimisation. Warnings that need data-flow analysis are then missed.
    """
    begun, name, stock = time.monotonic(), QUICK_NAME if quick else COMPILER_WARNINGS, build_tree.stock
    if stock is None:
        return skip_proof_check(name, "upstream's own source, to compare with, is not part of this build")
    steps = _find_changed_compilations(build_tree, stock) if quick else build_tree.steps.compile
    try:
        ours = warnings_of(build_tree, build_tree.source, steps, quick=quick)
        suspects = [step for step in steps if ours[step.source]]
        known = _unite(warnings_of(build_tree, stock, suspects, quick=quick))
    except FailedError as error:
        return finish_check(name, "", (error.message, *error.details), begun)
    fresh = tuple(sorted({warned.line for warned in _unite(ours) - known}))
    told = f"{len(fresh) or 'none'} that {stock.name} does not give, in {len(steps)} files"
    return finish_check(name, told, fresh, begun, failed=told)


def _unite(found: Mapping[str, frozenset[ComparableWarning]]) -> frozenset[ComparableWarning]:
    return frozenset().union(*found.values())


def warnings_of(
    build_tree: BuildTree, source: Path, steps: Sequence[RecordedCompilation], *, quick: bool
) -> dict[str, frozenset[ComparableWarning]]:
    """Compile files of a source tree, and return the warnings of each file, by the file's path.

    Args:
        build_tree: the prepared build.
        source: top directory of the source tree.
        steps: the compilations to run.
        quick: compile without optimisation.

    Raises:
        FailedError: a file does not compile.
    """
    if not steps:
        return {}
    directory = build_tree.space / "warnings" / source.name
    directory.mkdir(parents=True, exist_ok=True)
    flags = (*_FLAGS, *(_GCC_FLAGS if build_tree.steps.gcc else _CLANG_FLAGS))
    bench = VariantCompiler(
        replace(build_tree.steps, compile=tuple(steps)), SanitizedVariant(source=source, flags=flags), directory
    )
    output: tuple[str, ...] = ("-o", "/dev/null")
    if quick:  # `zig cc` demands an output file, which -fsyntax-only does not write
        output = ("-fsyntax-only",) if build_tree.steps.gcc else ("-O0", *output)

    def compile_one(step: RecordedCompilation, process_group: ProcessGroup) -> Completed:
        return bench.compile(step, output, process_group)

    answers = compile_in_parallel(steps, compile_one, build_tree.steps.jobs)
    failed = [step.source for step, answer in zip(steps, answers, strict=True) if answer.exit_code != 0]
    if failed:
        words = next(answer.stderr for answer in answers if answer.exit_code != 0)
        raise FailedError(f"{', '.join(failed)} cannot be compiled", details=tuple(words.splitlines()))
    return {step.source: parse_warnings(answer.stderr) for step, answer in zip(steps, answers, strict=True)}


def parse_warnings(text: str) -> frozenset[ComparableWarning]:
    """Parse the output of GCC or clang in the C locale, and return its warnings."""
    found, function = set(), ""
    for line in text.splitlines():
        heading, warning = _FUNCTION.match(line) or _INLINED.match(line), _WARNING.match(line)
        if heading is not None:
            function = _RENAMED.sub("", heading["function"] or "")
        elif warning is not None:
            text = _LINE_NUMBER.sub("N", _RENAMED.sub("", warning["text"]))
            kind = warning["kind"] or ""
            found.add(ComparableWarning(file=warning["file"], function=function, kind=kind, text=text))
    return frozenset(found)


def _find_changed_compilations(build_tree: BuildTree, stock: Path) -> tuple[RecordedCompilation, ...]:
    """Return the compilations whose C file, or another C file that it includes, differs from Pillow's own version.

    Changed headers do not count, because all files include them.
    """

    def is_changed(file: Path) -> bool:
        ours, theirs = build_tree.source / file, stock / file
        return ours.is_file() and (not theirs.is_file() or ours.read_bytes() != theirs.read_bytes())

    def list_files(step: RecordedCompilation) -> Iterator[Path]:
        file = Path(step.source)
        text = (build_tree.source / file).read_text("utf-8", "replace")
        yield file
        yield from (file.parent / name for name in _INCLUDED.findall(text) if name.endswith(".c"))

    return tuple(step for step in build_tree.steps.compile if any(map(is_changed, list_files(step))))

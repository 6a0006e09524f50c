"""Find faults in our kernels with AddressSanitizer and UBSan.

The cases run on a build with both sanitizers; AddressSanitizer stops at the first access out of bounds. A fault does
not count if Pillow's unmodified source has it in the same function. Only the core is compiled with sanitizers, not the
libraries that it links. Reports are compared by kind and function, not by line, because the two sources differ.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.core import temporary_directories
from fastinstall.core.concurrency import await_future
from fastinstall.core.process import run
from fastinstall.core.surroundings import find_program
from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.model.recipe import SOURCE_SUFFIX
from fastinstall.proof.cases import CaseDifference, ProofCheck, check_of, operation_of, skip_proof_check
from fastinstall.proof.matrix_cases import matrix_cases
from fastinstall.proof.quick import ProofDepth, generate_damaged_files, read_members
from fastinstall.proof.runs import ProofStack, Results, Work, is_death
from whole_proof.build_tree import BuildTree
from whole_proof.recorded_build import CoreSteps
from whole_proof.variant import SanitizedVariant

_ERROR = re.compile(r"ERROR: AddressSanitizer: (?P<kind>[\w-]+)|^(?P<place>\S+?):\d+:\d+: runtime error: (?P<text>.+)$")
_FRAME = re.compile(r"^\s+#\d+ 0x[0-9a-f]+ in (?P<function>\w+) (?P<file>[^\s:]+\.[ch]):(?P<line>\d+)")
_NUMBER = re.compile(r"0x[0-9a-f]+|-?\b\d[\d.e+]*\b")
_RUNTIME = "sanitizer"
_RENAMED = re.compile(rf"{SOURCE_SUFFIX}\b")


@immutable
class SanitizerFault:
    """A fault without line numbers, so that it can be compared between versions of a source.

    Attributes:
        kind: "heap-buffer-overflow", or the message of UBSan, with each number replaced by "N".
        function: name of the function with the fault; empty if unknown. The suffix that `add_kernel` gives to a
            replaced function is removed.
    """

    kind: str
    function: str

    @property
    def text(self) -> str:
        """The fault for people: "heap-buffer-overflow in ImagingBoxBlur"."""
        return f"{self.kind} in {self.function}" if self.function else self.kind


def read_reports(log: str) -> frozenset[SanitizerFault]:
    """Return the faults in a log of the sanitizers; several faults of one kind in the same function count as one."""
    lines = log.splitlines()
    errors = ((number, match) for number, line in enumerate(lines, start=1) if (match := _ERROR.search(line)))
    return frozenset(
        SanitizerFault(kind=error["kind"] or _NUMBER.sub("N", error["text"]), function=_find_function(lines[number:]))
        for number, error in errors
    )


def _find_function(lines: list[str]) -> str:
    """Return the innermost function in a report's first stack trace that is outside the sanitizers; empty if none."""
    for line in lines:
        if _ERROR.search(line):
            return ""
        frame = _FRAME.match(line)
        if frame is not None and _RUNTIME not in frame["file"]:
            return _RENAMED.sub("", frame["function"])
    return ""


SANITIZED = "sanitizers"
FLAGS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize=alignment", "-fno-omit-frame-pointer")
LINKER = ("-fsanitize=address,undefined",)

_RUNTIMES = ("libasan.so", "libubsan.so")
_OPTIONS = "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:detect_odr_violation=0:print_stacktrace=1"
_SECONDS = 60.0
_LOOKED_INTO = 3
_NOT_REACHED = "was not reached"  # outcome of cases that were not run, because earlier ones killed too many processes


@immutable
class SanitizerRun:
    """The result of a run under the sanitizers.

    Attributes:
        deaths: how the process ended, for each case that ended its process.
        reports: all faults that the sanitizers reported.
    """

    deaths: Mapping[str, str]
    reports: frozenset[SanitizerFault]


def prove_sanitized(build_tree: BuildTree, reference: ProofStack, effort: ProofDepth) -> ProofCheck:
    """Run the matrix and the decoders under the sanitizers.

    Args:
        build_tree: the prepared build.
        reference: the official wheel; it writes the files that the decoders read.
        effort: the number of sizes and damaged files.

    Raises:
        FailedError: the source does not compile with sanitizers, or PIL cannot be imported.
    """
    begun = time.monotonic()
    steps = _choose_sanitizing_compiler(build_tree)
    if steps is None:
        return skip_proof_check(
            SANITIZED, "no C compiler here has AddressSanitizer (on Debian, libasan comes with gcc)"
        )
    build_tree = replace(build_tree, steps=steps)
    ours = _build_sanitized_stack(build_tree, build_tree.source, "sanitized")
    with generate_damaged_files(reference, effort) as decoders:
        works = (Work(cases=matrix_cases(sizes=effort.sizes, members=read_members(reference))), decoders)
        found = faults(ours, works, partial(_build_stock, build_tree))
    passed = f"{sum(len(work.cases) for work in works)} cases run without a report from AddressSanitizer or UBSan"
    return check_of(SANITIZED, passed, found, time.monotonic() - begun)


def _choose_sanitizing_compiler(build_tree: BuildTree) -> CoreSteps | None:
    """Return the steps with a GCC that has the sanitizers: the build's compiler or, failing that, the system's GCC.

    Another compiler than the build's will do, because the faults are in the source. Return None if GCC or its
    AddressSanitizer is missing.
    """
    steps = build_tree.steps if build_tree.steps.gcc else replace(build_tree.steps, compiler=("gcc",), gcc=True)
    there = find_program(steps.compiler[0], steps.variables) is not None
    return steps if there and _find_library_path(steps, _RUNTIMES[0]) else None


def _build_stock(build_tree: BuildTree) -> ProofStack | None:
    stock = build_tree.stock
    return None if stock is None else _build_sanitized_stack(build_tree, stock, "sanitized-stock")


def _build_sanitized_stack(build_tree: BuildTree, source: Path, name: str) -> ProofStack:
    stack = build_tree.stack(name, SanitizedVariant(source=source, flags=FLAGS, linker=LINKER))
    core = stack.tree / build_tree.base_wheel.core.relative_to(build_tree.base_wheel.root)
    return preload_sanitizers(stack, build_tree.steps, core)


def preload_sanitizers(stack: ProofStack, steps: CoreSteps, core: Path) -> ProofStack:
    """Return a copy of the stack that preloads the sanitizers' runtime libraries, which the core needs."""
    asked = (name for name in read_dynamic(core).needed if name.startswith(_RUNTIMES))
    paths = (_find_library_path(steps, name) for name in sorted(asked))
    return stack.with_variables({"LD_PRELOAD": " ".join(filter(None, paths)), "PILLOW_BLOCK_SIZE": "4096"})


def faults(
    ours: ProofStack, works: Sequence[Work], stock: Callable[[], ProofStack | None]
) -> tuple[CaseDifference, ...]:
    """Run cases, and return the faults that Pillow's unmodified source does not have in the same function.

    Args:
        ours: the sanitized build.
        works: the cases to run.
        stock: function that returns a sanitized build of Pillow's unmodified source; it returns None for a fork, which
            has no such source. It is called only if there are faults.

    Raises:
        FailedError: PIL cannot be imported on one of the stacks.
    """
    seen = [watch(ours, work) for work in works]
    if not any(each.deaths or each.reports for each in seen):
        return ()
    other = stock()
    known = frozenset(report for work in works for report in watch(other, work).reports) if other else frozenset()
    return tuple(
        fault for work, each in zip(works, seen, strict=True) for fault in _find_faults(ours, work, each, known)
    )


def watch(stack: ProofStack, work: Work) -> SanitizerRun:
    """Run cases on a sanitized stack, in parallel on all CPUs; return which cases died, and the reported faults."""
    with temporary_directories.temporary_directory("sanitizers") as logs:
        options = f"{_OPTIONS}:log_path={logs / 'log'}"
        watched = stack.with_variables({"ASAN_OPTIONS": options, "UBSAN_OPTIONS": options})
        with Results() as results:
            length = max(100, -(-len(work.cases) // len(os.sched_getaffinity(0))))
            parts = (work.cases[first : first + length] for first in range(0, len(work.cases), length))
            runs = [results.start(watched, replace(work, cases=part, seconds=_SECONDS)) for part in parts]
            outcomes = {case: outcome for each in runs for case, outcome in await_future(each).items()}
        told = (log.read_text("utf-8", "replace") for log in logs.iterdir())
        reports = frozenset(report for text in told for report in read_reports(text))
    return SanitizerRun(deaths={case: how for case, how in outcomes.items() if is_death(how)}, reports=reports)


def _find_faults(
    ours: ProofStack, work: Work, seen: SanitizerRun, known: frozenset[SanitizerFault]
) -> Iterator[CaseDifference]:
    told: set[SanitizerFault] = set()
    looked_into = Counter[str]()
    for case, outcome in seen.deaths.items():
        if outcome == _NOT_REACHED or looked_into[operation_of(case)] == _LOOKED_INTO:
            continue
        looked_into[operation_of(case)] += 1
        alone = watch(ours, replace(work, cases=(case,))).reports
        told |= alone
        if not alone or alone - known:
            yield _make_fault(case, alone - known, outcome)
    rest = seen.reports - known - told
    # Some faults do not end the process. To see which operations cause these faults, run each operation by itself.
    for operation in dict.fromkeys(map(operation_of, work.cases)) if rest else ():
        cases = tuple(case for case in work.cases if operation_of(case) == operation)
        if found := watch(ours, replace(work, cases=cases)).reports & rest:
            yield _make_fault(cases[0], found, "")


def _make_fault(case: str, reports: Iterable[SanitizerFault], outcome: str) -> CaseDifference:
    return CaseDifference(case=case, problem="; ".join(sorted(report.text for report in reports)) or outcome)


def _find_library_path(steps: CoreSteps, library: str) -> str:
    """Return the path of a compiler's library, or "" if the compiler has no such library, and prints only the name."""
    answer = run((*steps.compiler, f"-print-file-name={library}"), environment=steps.variables).stdout.strip()
    return answer if "/" in answer else ""

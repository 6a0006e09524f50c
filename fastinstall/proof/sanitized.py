"""The cases on a build with AddressSanitizer and UBSan, which stop at the first byte that is read out of bounds.

A fault that upstream's own source shows in the same function is none of the merge's. Not instrumented are the
libraries that the core is linked to.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.binary.dynamic import read_dynamic
from fastinstall.model.immutable import immutable
from fastinstall.model.proof import CaseDifference, ProofCheck
from fastinstall.proof.catalogue import matrix_cases, operation_of
from fastinstall.proof.checks import check_of, skipped
from fastinstall.proof.decoders import damaged_files
from fastinstall.proof.quick import Effort
from fastinstall.proof.recording import CoreSteps
from fastinstall.proof.results import Results
from fastinstall.proof.runs import Stack, Work, is_death
from fastinstall.proof.sanitizer_reports import Report, read_reports
from fastinstall.proof.variant import Variant
from fastinstall.proof.yard import Yard
from fastinstall.system import files
from fastinstall.system.process import run
from fastinstall.system.together import awaited

NAME = "sanitizers"
FLAGS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize=alignment", "-fno-omit-frame-pointer")
LINKER = ("-fsanitize=address,undefined",)

_RUNTIMES = ("libasan.so", "libubsan.so")
_OPTIONS = "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:detect_odr_violation=0:print_stacktrace=1"
_SECONDS = 60.0
_LOOKED_INTO = 3
_NOT_REACHED = "was not reached"  # in `runs`, after too many deaths


@immutable
class Seen:
    """What the sanitizers saw in a run.

    Attributes:
        deaths: cases that ended their process, and how.
        reports: all faults.
    """

    deaths: Mapping[str, str]
    reports: frozenset[Report]


def prove_sanitized(yard: Yard, reference: Stack, effort: Effort) -> ProofCheck:
    """Run matrix and decoders under the sanitizers.

    Args:
        yard: the build, taken apart.
        reference: the official wheel, which writes the files to decode.
        effort: how much is tried.

    Raises:
        FailedError: the source does not compile with sanitizers, or PIL cannot be imported.
    """
    begun = time.monotonic()
    if not yard.gcc or not _path_of(yard.steps, _RUNTIMES[0]):
        return skipped(NAME, "the C compiler brings no AddressSanitizer (on Debian libasan comes with gcc)")
    ours = sanitized_stack(yard, yard.source, "sanitized")
    with damaged_files(reference, effort.damage) as decoders:
        works = (Work(cases=matrix_cases(sizes=effort.sizes)), decoders)
        found = faults(ours, works, partial(_stock, yard))
    passed = f"{sum(len(work.cases) for work in works)} cases run without a report of AddressSanitizer or UBSan"
    return check_of(NAME, passed, found, time.monotonic() - begun)


def _stock(yard: Yard) -> Stack | None:
    return sanitized_stack(yard, yard.stock, "sanitized-stock") if yard.stock is not None else None


def sanitized_stack(yard: Yard, source: Path, name: str) -> Stack:
    """Compile a source with sanitizers, and say how it is run.

    Raises:
        FailedError: it does not compile.
    """
    stack = yard.stack(name, Variant(source=source, flags=FLAGS, linker=LINKER))
    return preloaded(stack, yard.steps, stack.tree / yard.chassis.core.relative_to(yard.chassis.root))


def preloaded(stack: Stack, steps: CoreSteps, core: Path) -> Stack:
    """The same stack with the run-time libraries loaded first that a sanitized core asks for."""
    asked = (name for name in read_dynamic(core).needed if name.startswith(_RUNTIMES))
    paths = (_path_of(steps, name) for name in sorted(asked))
    return stack.with_variables({"LD_PRELOAD": " ".join(filter(None, paths)), "PILLOW_BLOCK_SIZE": "4096"})


def faults(ours: Stack, works: Sequence[Work], stock: Callable[[], Stack | None]) -> tuple[CaseDifference, ...]:
    """The faults that upstream's own source does not have in the same function.

    Args:
        ours: the sanitized build.
        works: what to run.
        stock: makes the same of upstream's source, if it is at hand; only called where there is a fault.

    Raises:
        FailedError: PIL cannot be imported on one of them.
    """
    seen = [watch(ours, work) for work in works]
    if not any(each.deaths or each.reports for each in seen):
        return ()
    other = stock()
    known = frozenset(report for work in works for report in watch(other, work).reports) if other else frozenset()
    return tuple(
        fault for work, each in zip(works, seen, strict=True) for fault in _new_faults(ours, work, each, known)
    )


def watch(stack: Stack, work: Work) -> Seen:
    """Run cases on a sanitized stack, on all processors."""
    with files.temporary_directory("sanitizers") as logs:
        options = f"{_OPTIONS}:log_path={logs / 'log'}"
        watched = stack.with_variables({"ASAN_OPTIONS": options, "UBSAN_OPTIONS": options})
        with Results(None) as results:
            runs = [results.start(watched, part) for part in _parts(replace(work, seconds=_SECONDS))]
            outcomes = {case: outcome for each in runs for case, outcome in awaited(each).items()}
        told = (log.read_text("utf-8", "replace") for log in logs.iterdir())
        reports = frozenset(report for text in told for report in read_reports(text))
    return Seen(deaths={case: how for case, how in outcomes.items() if is_death(how)}, reports=reports)


def _new_faults(ours: Stack, work: Work, seen: Seen, known: frozenset[Report]) -> Iterator[CaseDifference]:
    told: set[Report] = set()
    for case in _samples(seen.deaths):
        alone = watch(ours, replace(work, cases=(case,)))
        told |= alone.reports
        if not alone.reports or alone.reports - known:
            yield _fault(case, alone.reports - known, seen.deaths[case])
    rest = seen.reports - known - told
    if rest:
        yield from _located(ours, work, rest)


def _located(ours: Stack, work: Work, wanted: frozenset[Report]) -> Iterator[CaseDifference]:
    """Find out which operations cause reports that end no process: each operation by itself."""
    for operation in dict.fromkeys(map(operation_of, work.cases)):
        cases = tuple(case for case in work.cases if operation_of(case) == operation)
        found = watch(ours, replace(work, cases=cases)).reports & wanted
        if found:
            yield _fault(cases[0], found, "")


def _samples(deaths: Mapping[str, str]) -> Iterator[str]:
    """Some cases of each operation that died, to be looked into."""
    seen: dict[str, int] = {}
    for case, outcome in deaths.items():
        operation = operation_of(case)
        if outcome != _NOT_REACHED and seen.setdefault(operation, 0) < _LOOKED_INTO:
            seen[operation] += 1
            yield case


def _fault(case: str, reports: Iterable[Report], outcome: str) -> CaseDifference:
    problem = "; ".join(sorted(report.text for report in reports)) or outcome
    return CaseDifference(case=case, operation=operation_of(case), largest=0.0, allowed=0.0, problem=problem)


def _parts(work: Work) -> Iterator[Work]:
    """Parts of equal length, one for each processor."""
    length = max(100, -(-len(work.cases) // len(os.sched_getaffinity(0))))
    for first in range(0, len(work.cases), length):
        yield replace(work, cases=work.cases[first : first + length])


def _path_of(steps: CoreSteps, library: str) -> str:
    """Ask the compiler for a library's path, or return "" (it echoes the name) if it has none."""
    answer = run((*steps.compiler, f"-print-file-name={library}"), environment=steps.variables).stdout.strip()
    return answer if "/" in answer else ""

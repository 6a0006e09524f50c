"""Is the loader the bottleneck, and what would help? Measured on the user's images; the target stays as it is."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall import __version__
from fastinstall.bench.adoption import AdviceContext
from fastinstall.bench.advice import advice_for
from fastinstall.bench.bottleneck import verdict_of
from fastinstall.bench.candidates import CandidateRun
from fastinstall.bench.effort import LEAST_SECONDS, BenchContext
from fastinstall.bench.materials import choose_candidate_runs
from fastinstall.bench.report import BenchReport, BenchRequest, WorkloadResult
from fastinstall.bench.workload_comparison import compare_candidates
from fastinstall.bench.workloads import task_names, task_of
from fastinstall.core import temporary_directories
from fastinstall.core.events import Noted
from fastinstall.core.messages import listing
from fastinstall.index.upgrades import requirement
from fastinstall.model.dependants import dependants_of
from fastinstall.model.facts import Environment
from fastinstall.observe.session import Session
from fastinstall.verbs.bench_context import observe_context
from fastinstall.verbs.bench_operations import compare_operations
from fastinstall.verbs.bench_stacks import prepare_stacks


def bench(session: Session, environment: Environment, request: BenchRequest) -> BenchReport:
    """Measure, judge and advise.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: where it is, what kind it is and its interpreter, as `find` returns it.
        request: what is measured, and how long.

    Raises:
        UndeterminedError: there is no PIL, no image, or none that can be measured.
        UsageError: a workload or a candidate has no such name.
        FailedError: what is there already dies, hangs or fails.

    Example:
        report = bench(session, environment, BenchRequest(paths=(Path("photos"),), quick=True))
        for result in report.workloads:
            print(result.verdict.sentence)
    """
    remarks: list[str] = []
    with temporary_directories.temporary_directory("bench", within=session.own_cache() / "tmp") as space:
        context = observe_context(session, environment, request, space, remarks)
        official, ours = prepare_stacks(context)
        names = task_names(context) if request.loading else ()
        candidate_runs = choose_candidate_runs(context, official, ours) if request.loading else ()
        context = _announce(context, len(names))
        workloads = tuple(_measure_workloads(context, names, candidate_runs))
        operations = compare_operations(context, official, ours) if request.operations else None
        return BenchReport(
            prefix=environment.prefix,
            python=context.facts.interpreter.version,
            machine=context.machine,
            measured_at=session.now().isoformat(timespec="seconds"),
            tool_version=__version__,
            effort="quick" if request.quick else "full",
            seconds=round(context.elapsed(), 2),
            workloads=workloads,
            operations=operations,
            remarks=tuple(remarks),
        )


def _announce(context: BenchContext, count: int) -> BenchContext:
    """Announce how long it takes at most, builds and downloads aside, and return the context with that limit."""
    effort, request, emit = context.effort, context.request, context.session.emit
    if request.quick:
        emit(Noted(message=f"measuring takes at most {round(effort.seconds):d} s"))
        return context
    seconds = count * effort.seconds + (effort.operations_seconds if request.operations else 0.0)
    emit(Noted(message=f"measuring takes at most {math.ceil(seconds / 60):d} min"))
    return replace(context, effort=replace(effort, seconds=context.elapsed() + seconds))


def _measure_workloads(
    context: BenchContext, names: Sequence[str], candidate_runs: tuple[CandidateRun, ...]
) -> Iterator[WorkloadResult]:
    request = context.request
    left_out: list[str] = []
    for number, name in enumerate(names):
        if number and request.quick and context.left() < LEAST_SECONDS:
            left_out.append(name)
            continue
        seconds = max(LEAST_SECONDS, context.left() / (len(names) - number))
        yield _measure_workload(context, name, candidate_runs, seconds)
    if left_out:
        command = f"fastinstall bench --quick --workload {','.join(left_out)}"
        context.remark(f"no time was left for {listing(left_out)}; to measure it: {command}")


def _measure_workload(
    context: BenchContext,
    name: str,
    candidate_runs: tuple[CandidateRun, ...],
    seconds: float,
) -> WorkloadResult:
    started = context.elapsed()
    task = task_of(context, name)
    seconds -= context.elapsed() - started
    workload, baseline, candidates = compare_candidates(context, task, candidate_runs, seconds)
    verdict = verdict_of(baseline, workload, context.machine, context.request.target_rate)
    advice_context = AdviceContext(
        baseline=baseline,
        workload=workload,
        machine=context.machine,
        environment=context.environment,
        pipeline=context.request.pipeline,
        pillow=requirement("pillow", dependants_of(context.facts)),
        has_pip=any(each.name == "pip" for each in context.facts.distributions),
    )
    return WorkloadResult(
        workload=workload,
        pipeline=context.request.pipeline,
        baseline=baseline,
        candidates=candidates,
        verdict=verdict,
        advice=advice_for(candidates, verdict, advice_context),
    )

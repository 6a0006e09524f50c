"""Is the loader the bottleneck, what would help, and how fast are PIL's operations? The target stays as it is."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastinstall import __version__
from fastinstall.bench.adoption import AdviceContext
from fastinstall.bench.advice import advice_for
from fastinstall.bench.bottleneck import verdict_of
from fastinstall.bench.candidates import CandidateRun, UnpackedPackages
from fastinstall.bench.effort import LEAST_SECONDS, BenchContext
from fastinstall.bench.materials import choose_candidate_runs
from fastinstall.bench.report import BenchReport, BenchRequest, WorkloadResult
from fastinstall.bench.workload_comparison import compare_candidates
from fastinstall.bench.workloads import task_names, task_of
from fastinstall.core import temporary_directories
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import listing
from fastinstall.index.upgrades import requirement
from fastinstall.model.dependants import dependants_of
from fastinstall.model.facts import Environment
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.session import Session
from fastinstall.proof.timing import SHORT, MeasuredPil, MeasurementConditions, TimingEffort, measure
from fastinstall.verbs.bench_stacks import observe_context, prepare_stacks


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
        operations = _compare_operations(context, official, ours) if request.operations else None
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


_QUICK_ROUNDS = 2


_QUICK_SECONDS = 0.015


_START_SECONDS = 1.3  # with the further rounds of the operation that stands for a build


_OPERATION_SECONDS = 0.14


_FEWEST = 5


def _compare_operations(
    context: BenchContext, official: UnpackedPackages | None, ours: UnpackedPackages | None
) -> SpeedTable | None:
    """Measure them; None, and a remark, where there is nothing to compare with.

    Where our build is in place, it is held against the official wheel; elsewhere what is in place is held against
    our build, so that the table always reads: this is what fastinstall brings.
    """
    here = MeasuredPil(label=context.label, python=context.python)
    if ours is not None and ours.directory is not None:
        before, after = here, replace(here, label=ours.title, stage=ours.directory)
    elif official is not None and official.directory is not None:
        before, after = replace(here, label=official.title, stage=official.directory), here
    else:
        context.remark("no table of operations: found neither another official wheel nor a fast build to compare with")
        return None
    effort = _choose_effort(context)
    if effort is None:
        context.remark("no table of operations: no time was left; --only operations measures it alone")
        return None
    session = context.session
    session.emit(Started(stage="measure", message=f"operations: {before.label} against {after.label}"))
    conditions = MeasurementConditions(
        cpu=context.facts.cpu.name,
        measured_at=session.now().isoformat(timespec="seconds"),
        variables=session.variables,
        emit=session.emit,
    )
    try:
        return measure(before, after, effort, conditions)
    except FailedError as error:
        context.remark(f"no table of operations: {error.message}")
        return None


def _choose_effort(context: BenchContext) -> TimingEffort | None:
    """Choose every operation; in quick mode those of a short table that there is time for, the decisive ones first."""
    if not context.request.quick:
        return TimingEffort(operations=())
    left = context.effort.seconds - context.elapsed() - _START_SECONDS
    operations = SHORT[: max(0, int(left / _OPERATION_SECONDS))]
    if len(operations) < _FEWEST:
        return None
    if len(operations) < len(SHORT):
        context.remark(f"there was time for {len(operations)} of {len(SHORT)} operations only")
    return TimingEffort(operations=operations, rounds=_QUICK_ROUNDS, seconds=_QUICK_SECONDS)

"""Is the loader the bottleneck, and what would help? Measured on the user's images; the target stays as it is.

The operations of PIL, before and after: the stack in place against the official wheel, or our build against it.
"""

from collections.abc import Iterator
from pathlib import Path

from fastinstall import __version__
from fastinstall.bench.adoption import AdviceSurroundings
from fastinstall.bench.advice import advice_for
from fastinstall.bench.bottleneck import verdict_of
from fastinstall.bench.candidates import BenchStack, CandidateRun, ComparableStacks
from fastinstall.bench.catalogue import all_adapters, all_kinds
from fastinstall.bench.effort import BenchContext, minimum_workload_seconds, share_of
from fastinstall.bench.materials import PossibleCandidate, choose_candidate_runs, list_known_candidates, materials_for
from fastinstall.bench.report import BenchReport, BenchRequest, WorkloadResult
from fastinstall.bench.workload_comparison import compare_candidates
from fastinstall.bench.workloads import task_names, task_of
from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.index.upgrades import requirement
from fastinstall.model.conda_packages import dependants_of
from fastinstall.model.receipt import SpeedTable
from fastinstall.model.request import Environment
from fastinstall.observe.session import Session
from fastinstall.proof.stack_operations import (
    SHORT,
    MeasuredPil,
    MeasurementConditions,
    TimingEffort,
    measure,
    unpack_official_wheel,
)
from fastinstall.verbs.bench_stacks import make_bench_execution_context, observe_context, prepare_stacks


def bench(session: Session, environment: Environment, request: BenchRequest) -> BenchReport:
    """Measure, judge and advise.

    Args:
        session: the outside world.
        environment: the target.
        request: what is measured, and how long.

    Raises:
        UndeterminedError: there is no PIL, no image, or none that can be measured.
        UsageError: a workload or a candidate has no such name.
        FailedError: what is there already dies, hangs or fails.
    """
    remarks: list[str] = []
    with files.temporary_directory("bench", within=session.own_cache() / "tmp") as space:
        context = observe_context(session, environment, request, space, remarks)
        stacks = prepare_stacks(context)
        context = context.from_now()
        workloads = tuple(_measure_workloads(context, stacks)) if request.loading else ()
        operations = compare_operations(context, stacks) if request.operations else None
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


def measure_operations(session: Session, environment: Environment, effort: TimingEffort) -> SpeedTable:
    """The stack in place against the newest official wheel, operation by operation.

    Raises:
        UndeterminedError: there is no PIL to measure.
        FailedError: no official wheel to compare with.
    """
    with files.temporary_directory("bench", within=session.own_cache() / "tmp") as space:
        context = observe_context(session, environment, BenchRequest(loading=False), space, [])
        return compare_with_official(context, effort)


def candidate_names(_session: Session) -> tuple[PossibleCandidate, ...]:
    """Every candidate that there could be, with what it needs."""
    return list_known_candidates()


def _measure_workloads(context: BenchContext, stacks: ComparableStacks) -> Iterator[WorkloadResult]:
    names = task_names(context)
    context = context.with_time_for(len(names))
    candidate_runs = choose_candidate_runs(context, materials_for(context, stacks))
    target_rate = _find_target_rate(context)
    left_out: list[str] = []
    for number, name in enumerate(names):
        least = minimum_workload_seconds(name)
        if number and context.wish.quick and context.left() < least:
            left_out.append(name)
            continue
        seconds = max(least, share_of(context.left(), name, names[number + 1 :]))
        yield _measure_workload(context, name, candidate_runs, target_rate, seconds)
    if left_out:
        command = f"fastinstall bench --quick --workload {','.join(left_out)}"
        context.remark(f"no time was left for {listing(left_out)}; to measure it: {command}")


def _measure_workload(
    context: BenchContext,
    name: str,
    candidate_runs: tuple[CandidateRun, ...],
    target_rate: float | None,
    seconds: float,
) -> WorkloadResult:
    until = context.elapsed() + seconds
    task = task_of(context, name)
    compared = compare_candidates(context, task, candidate_runs, until - context.elapsed())
    verdict = verdict_of(compared.baseline, compared.workload, context.machine, target_rate)
    advice = advice_for(
        compared.baseline,
        compared.candidates,
        verdict,
        compared.workload,
        context.machine,
        context.environment,
        _make_surroundings(context),
    )
    return WorkloadResult(
        workload=compared.workload,
        pipeline=context.wish.pipeline,
        baseline=compared.baseline,
        candidates=compared.candidates,
        verdict=verdict,
        advice=advice,
    )


def _make_surroundings(context: BenchContext) -> AdviceSurroundings:
    return AdviceSurroundings(
        pipeline=context.wish.pipeline,
        codes={each.name: each.code for each in all_adapters()} | {each.name: each.code for each in all_kinds()},
        requirements={each.name: each.brings for each in all_adapters()}
        | {each.name: each.brings for each in all_kinds()},
        caveats={each.name: each.caveat for each in all_kinds()},
        pillow=requirement("pillow", dependants_of(context.facts)),
        has_pip=any(each.name == "pip" for each in context.facts.distributions),
        has_gpu=context.facts.gpu is not None and context.facts.gpu.usable,
    )


def _find_target_rate(context: BenchContext) -> float | None:
    if not context.wish.step:
        return context.wish.target_rate
    from fastinstall.bench.workloads import rate_of_step  # noqa: PLC0415 (only with --step)

    return rate_of_step(context.python, context.wish.step, context.session.variables)


_QUICK_ROUNDS = 2
_QUICK_SECONDS = 0.015
_START_SECONDS = 0.8
_OPERATION_SECONDS = 0.14
_FEWEST = 5


def compare_operations(context: BenchContext, stacks: ComparableStacks) -> SpeedTable | None:
    """Measure them; None, and a remark, where there is nothing to compare with.

    Where our build is in place, it is held against the official wheel; elsewhere what is in place is held against
    our build, so that the table always reads: this is what fastinstall brings.
    """
    pair = _choose_pair(context, stacks)
    if pair is None:
        context.remark("no table of operations: there is neither another official wheel nor our build to compare with")
        return None
    effort = _choose_effort(context)
    if effort is None:
        context.remark("no table of operations: no time was left; --only operations measures it alone")
        return None
    context.session.emit(Started(stage="measure", message=f"operations: {pair[0].label} against {pair[1].label}"))
    try:
        return measure(*pair, effort, _make_conditions(context))
    except FailedError as error:
        context.remark(f"no table of operations: {error.message}")
        return None


def compare_with_official(context: BenchContext, effort: TimingEffort) -> SpeedTable:
    """The stack in place against the newest official wheel, whatever is in place.

    Raises:
        FailedError: there is no official wheel for this Python, or one of the two cannot be imported.
    """
    execution = make_bench_execution_context(context, offline=False)
    wheels = execution.index.releases(execution.recipe, context.facts.interpreter).wheels
    if not wheels:
        raise FailedError("there is no official wheel for this Python to compare with")
    official = BenchStack(
        title=f"pillow {wheels[0].version} (official wheel)", directory=unpack_official_wheel(wheels[0], execution)
    )
    return measure(
        _make_compared_pil(context, official), _make_installed_pil(context), effort, _make_conditions(context)
    )


def _choose_effort(context: BenchContext) -> TimingEffort | None:
    """Every operation; in quick mode those of a short table that there is time for, the decisive ones first."""
    if not context.wish.quick:
        return TimingEffort(operations=())
    left = context.effort.seconds - context.elapsed() - _START_SECONDS
    count = int(left / _OPERATION_SECONDS)
    if count < _FEWEST:
        return None
    if count < len(SHORT):
        context.remark(f"{len(SHORT[:count])} of {len(SHORT)} operations were measured, for want of time")
    return TimingEffort(operations=SHORT[:count], rounds=_QUICK_ROUNDS, seconds=_QUICK_SECONDS)


def _choose_pair(context: BenchContext, stacks: ComparableStacks) -> tuple[MeasuredPil, MeasuredPil] | None:
    if stacks.ours is not None and stacks.ours.directory is not None:
        return _make_installed_pil(context), _make_compared_pil(context, stacks.ours)
    if stacks.official is not None and stacks.official.directory is not None:
        return _make_compared_pil(context, stacks.official), _make_installed_pil(context)
    return None


def _make_installed_pil(context: BenchContext) -> MeasuredPil:
    return MeasuredPil(label=context.label, python=context.python)


def _make_compared_pil(context: BenchContext, stack: BenchStack) -> MeasuredPil:
    return MeasuredPil(
        label=stack.title, python=context.python, stage=Path(stack.directory) if stack.directory else None
    )


def _make_conditions(context: BenchContext) -> MeasurementConditions:
    return MeasurementConditions(
        cpu=context.facts.cpu.name,
        measured_at=context.session.now().isoformat(timespec="seconds"),
        variables=context.session.variables,
        emit=context.session.emit,
    )

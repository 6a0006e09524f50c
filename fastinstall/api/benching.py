"""Is the loader the bottleneck, and what would help? Measured on the user's images; the target stays as it is."""

from collections.abc import Iterator

from fastinstall import __version__
from fastinstall.api.bench_context import BenchContext
from fastinstall.api.bench_materials import Known, choose_candidate_runs, known_candidates, materials_for
from fastinstall.api.bench_operations import compare_operations, compare_with_official
from fastinstall.api.bench_race import compare_candidates
from fastinstall.api.bench_scene import observe_context
from fastinstall.api.bench_stacks import prepare_stacks
from fastinstall.api.bench_workloads import task_names, task_of
from fastinstall.api.session import Session
from fastinstall.bench.adapting import all_adapters
from fastinstall.bench.contestant import CandidateRun, Stacks
from fastinstall.bench.effort import least_seconds, share_of
from fastinstall.bench.measure import TimingEffort
from fastinstall.bench.store_kinds import all_kinds
from fastinstall.model.bench import BenchReport, BenchWish, WorkloadResult
from fastinstall.model.environment import Environment
from fastinstall.model.receipt import SpeedTable
from fastinstall.rules.bench_advice import advice_for
from fastinstall.rules.bench_advice_ways import Surroundings
from fastinstall.rules.bottleneck import verdict_of
from fastinstall.rules.conda_dependants import dependants_of
from fastinstall.rules.messages import listing
from fastinstall.rules.upgrading import requirement
from fastinstall.system import files


def bench(session: Session, environment: Environment, wish: BenchWish) -> BenchReport:
    """Measure, judge and advise.

    Args:
        session: the outside world.
        environment: the target.
        wish: what is measured, and how long.

    Raises:
        UndeterminedError: there is no PIL, no image, or none that can be measured.
        UsageError: a workload or a candidate has no such name.
        FailedError: what is there already dies, hangs or fails.
    """
    remarks: list[str] = []
    with files.temporary_directory("bench", within=session.own_cache() / "tmp") as space:
        context = observe_context(session, environment, wish, space, remarks)
        stacks = prepare_stacks(context)
        context = context.from_now()
        workloads = tuple(_workloads(context, stacks)) if wish.loading else ()
        operations = compare_operations(context, stacks) if wish.operations else None
        return BenchReport(
            prefix=environment.prefix,
            python=context.facts.interpreter.version,
            machine=context.machine,
            measured_at=session.now().isoformat(timespec="seconds"),
            tool_version=__version__,
            effort="quick" if wish.quick else "full",
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
        context = observe_context(session, environment, BenchWish(loading=False), space, [])
        return compare_with_official(context, effort)


def candidate_names(_session: Session) -> tuple[Known, ...]:
    """Every candidate that there could be, with what it needs."""
    return known_candidates()


def _workloads(context: BenchContext, stacks: Stacks) -> Iterator[WorkloadResult]:
    names = task_names(context)
    context = context.with_time_for(len(names))
    candidate_runs = choose_candidate_runs(context, materials_for(context, stacks))
    target_rate = _target_rate(context)
    left_out: list[str] = []
    for number, name in enumerate(names):
        least = least_seconds(name)
        if number and context.wish.quick and context.left() < least:
            left_out.append(name)
            continue
        seconds = max(least, share_of(context.left(), name, names[number + 1 :]))
        yield _workload(context, name, candidate_runs, target_rate, seconds)
    if left_out:
        command = f"fastinstall bench --quick --workload {','.join(left_out)}"
        context.remark(f"no time was left for {listing(left_out)}; to measure it: {command}")


def _workload(
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
        _surroundings(context),
    )
    return WorkloadResult(
        workload=compared.workload,
        pipeline=context.wish.pipeline,
        baseline=compared.baseline,
        candidates=compared.candidates,
        verdict=verdict,
        advice=advice,
    )


def _surroundings(context: BenchContext) -> Surroundings:
    return Surroundings(
        pipeline=context.wish.pipeline,
        codes={each.name: each.code for each in all_adapters()} | {each.name: each.code for each in all_kinds()},
        requirements={each.name: each.brings for each in all_adapters()}
        | {each.name: each.brings for each in all_kinds()},
        caveats={each.name: each.caveat for each in all_kinds()},
        finished=frozenset(each.name for each in all_kinds() if each.decoded),
        pillow=requirement("pillow", dependants_of(context.facts)),
        has_pip=any(each.name == "pip" for each in context.facts.distributions),
        has_gpu=context.facts.gpu is not None and context.facts.gpu.usable,
    )


def _target_rate(context: BenchContext) -> float | None:
    if not context.wish.step:
        return context.wish.target_rate
    from fastinstall.bench.steps import rate_of_step  # noqa: PLC0415 (only with --step)

    return rate_of_step(context.python, context.wish.step, context.session.variables)

"""Is the loader the bottleneck, and what would help? Measured on the user's images; the target stays as it is."""

from collections.abc import Iterator

from fastinstall import __version__
from fastinstall.api.bench_context import Scene
from fastinstall.api.bench_materials import Known, known_candidates, materials_for, opponents
from fastinstall.api.bench_operations import against_official, compare_operations
from fastinstall.api.bench_race import run_race
from fastinstall.api.bench_scene import look_around
from fastinstall.api.bench_stacks import stacks_for
from fastinstall.api.bench_workloads import task_names, task_of
from fastinstall.api.session import Session
from fastinstall.bench.adapting import all_adapters
from fastinstall.bench.contestant import Contestant, Stacks
from fastinstall.bench.effort import least_seconds, share_of
from fastinstall.bench.measure import Effort
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
        scene = look_around(session, environment, wish, space, remarks)
        stacks = stacks_for(scene)
        scene = scene.from_now()
        workloads = tuple(_workloads(scene, stacks)) if wish.loading else ()
        operations = compare_operations(scene, stacks) if wish.operations else None
        return BenchReport(
            prefix=environment.prefix,
            python=scene.facts.interpreter.version,
            machine=scene.machine,
            measured_at=session.now().isoformat(timespec="seconds"),
            tool_version=__version__,
            effort="quick" if wish.quick else "full",
            seconds=round(scene.elapsed(), 2),
            workloads=workloads,
            operations=operations,
            remarks=tuple(remarks),
        )


def operations_of(session: Session, environment: Environment, effort: Effort) -> SpeedTable:
    """The stack in place against the newest official wheel, operation by operation.

    Raises:
        UndeterminedError: there is no PIL to measure.
        FailedError: no official wheel to compare with.
    """
    with files.temporary_directory("bench", within=session.own_cache() / "tmp") as space:
        scene = look_around(session, environment, BenchWish(loading=False), space, [])
        return against_official(scene, effort)


def candidate_names(_session: Session) -> tuple[Known, ...]:
    """Every candidate that there could be, with what it needs."""
    return known_candidates()


def _workloads(scene: Scene, stacks: Stacks) -> Iterator[WorkloadResult]:
    names = task_names(scene)
    scene = scene.with_time_for(len(names))
    contestants = opponents(scene, materials_for(scene, stacks))
    target_rate = _target_rate(scene)
    left_out: list[str] = []
    for number, name in enumerate(names):
        least = least_seconds(name)
        if number and scene.wish.quick and scene.left() < least:
            left_out.append(name)
            continue
        seconds = max(least, share_of(scene.left(), name, names[number + 1 :]))
        yield _workload(scene, name, contestants, target_rate, seconds)
    if left_out:
        command = f"fastinstall bench --quick --workload {','.join(left_out)}"
        scene.remark(f"no time was left for {listing(left_out)}; to measure it: {command}")


def _workload(
    scene: Scene, name: str, contestants: tuple[Contestant, ...], target_rate: float | None, seconds: float
) -> WorkloadResult:
    until = scene.elapsed() + seconds
    task = task_of(scene, name)
    raced = run_race(scene, task, contestants, until - scene.elapsed())
    verdict = verdict_of(raced.baseline, raced.workload, scene.machine, target_rate)
    advice = advice_for(
        raced.baseline,
        raced.candidates,
        verdict,
        raced.workload,
        scene.machine,
        scene.environment,
        _surroundings(scene),
    )
    return WorkloadResult(
        workload=raced.workload,
        pipeline=scene.wish.pipeline,
        baseline=raced.baseline,
        candidates=raced.candidates,
        verdict=verdict,
        advice=advice,
    )


def _surroundings(scene: Scene) -> Surroundings:
    return Surroundings(
        pipeline=scene.wish.pipeline,
        codes={each.name: each.code for each in all_adapters()} | {each.name: each.code for each in all_kinds()},
        requirements={each.name: each.brings for each in all_adapters()}
        | {each.name: each.brings for each in all_kinds()},
        caveats={each.name: each.caveat for each in all_kinds()},
        finished=frozenset(each.name for each in all_kinds() if each.decoded),
        pillow=requirement("pillow", dependants_of(scene.facts)),
        has_pip=any(each.name == "pip" for each in scene.facts.distributions),
        has_gpu=scene.facts.gpu is not None and scene.facts.gpu.usable,
    )


def _target_rate(scene: Scene) -> float | None:
    if not scene.wish.step:
        return scene.wish.target_rate
    from fastinstall.bench.steps import rate_of_step  # noqa: PLC0415 (only with --step)

    return rate_of_step(scene.python, scene.wish.step, scene.session.variables)

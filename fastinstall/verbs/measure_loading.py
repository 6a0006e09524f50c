"""Measure whether the loader is the bottleneck, what would help, and how fast PIL's operations are.

Beside the target as it is, the official wheel and our build are measured. Both wheels are fetched, built or taken from
the cache, and unpacked beside each other; none is installed.
"""

import math
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall import __version__
from fastinstall.bench.advice import AdviceContext, advice_for
from fastinstall.bench.bottleneck import verdict_of
from fastinstall.bench.candidates import CandidateRun, UnpackedPackages, make_candidate_runs, require_known
from fastinstall.bench.catalogue import FASTINSTALL, OFFICIAL_WHEEL
from fastinstall.bench.comparison import compare_candidates
from fastinstall.bench.effort import FULL, LEAST_SECONDS, QUICK, BenchContext
from fastinstall.bench.libraries import find_libraries
from fastinstall.bench.report import BenchReport, BenchRequest, WorkloadResult
from fastinstall.bench.workloads import task_names, task_of
from fastinstall.core import files, sealed_trees, temporary_directories
from fastinstall.core.errors import FailedError, FastinstallError, UndeterminedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import listing, quote
from fastinstall.core.version_numbers import base_version, parse_version_number
from fastinstall.index import downloads
from fastinstall.index.run import Run
from fastinstall.index.upgrades import requirement
from fastinstall.model.dependants import dependants_of
from fastinstall.model.facts import Environment, Interpreter
from fastinstall.model.request import LinkMode, Request
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.observation import ObservationRequest, facts_of, read_earlier_receipt
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.proof.stack_operations import unpack_official_wheel
from fastinstall.proof.timing import SHORT, MeasuredPil, MeasurementConditions, TimingEffort, measure
from fastinstall.setup.tools import defer_pip_settings, make_index
from fastinstall.wheelbuild.wheel_cache import entries, locate_wheel
from fastinstall.wheelbuild.wheel_files import unpack_wheel

_QUICK_TIMING = TimingEffort(rounds=2, seconds=0.015)
_START_SECONDS = 1.3  # includes the extra rounds of the headline operation
_OPERATION_SECONDS = 0.14
_FEWEST = 5


def bench(session: Session, environment: Environment, request: BenchRequest) -> BenchReport:
    """Measure, judge and advise.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: where it is, what kind it is and its interpreter, as `find_environment` returns it.
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
    require_known(request.candidates)
    with temporary_directories.temporary_directory("bench", within=session.own_cache() / "tmp") as space:
        context = observe_context(session, environment, request, space, remarks)
        names = task_names(context) if request.loading else ()
        packages = _prepare_stacks(context)
        runs: tuple[CandidateRun, ...] = ()
        if request.loading:
            interpreter, cache, variables = context.facts.interpreter, session.own_cache(), session.variables
            fetched = find_libraries(interpreter, cache, variables, session.emit, request.bring, offline=request.quick)
            known, is_own = {**packages, **dict(fetched)}, bool(request.loader)
            runs = make_candidate_runs(
                context.machine, variables, known, is_own_loader=is_own, names=request.candidates
            )
        seconds = context.effort.seconds
        if not request.quick:
            kept = context.effort.operations_seconds if request.operations else 0.0
            seconds = len(names) * seconds + kept
            context = replace(context, effort=replace(context.effort, seconds=context.elapsed() + seconds))
        limit = f"{seconds:.0f} s" if request.quick else f"{math.ceil(seconds / 60):d} min"
        session.emit(Noted(message=f"measuring takes at most {limit}"))
        workloads = tuple(_measure_workloads(context, names, runs))
        operations = _compare_operations(context, packages) if request.operations else None
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


def _measure_workloads(
    context: BenchContext, names: tuple[str, ...], runs: tuple[CandidateRun, ...]
) -> Iterator[WorkloadResult]:
    for number, name in enumerate(names):
        if number and context.request.quick and context.left() < LEAST_SECONDS:
            left_out = names[number:]
            where = f"--prefix {quote(context.environment.prefix)}"
            command = f"fastinstall bench --quick --workload {','.join(left_out)} {where}"
            context.remark(f"no time was left for {listing(left_out)}; to measure it: {command}")
            return
        yield _measure_workload(context, name, runs, len(names) - number)


def _measure_workload(
    context: BenchContext, name: str, runs: tuple[CandidateRun, ...], left_workloads: int
) -> WorkloadResult:
    end = context.elapsed() + max(LEAST_SECONDS, context.left() / left_workloads)
    task = task_of(context, name)
    workload, baseline, candidates = compare_candidates(context, task, runs, end - context.elapsed())
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


def _compare_operations(context: BenchContext, packages: dict[str, UnpackedPackages | None]) -> SpeedTable | None:
    """Measure them; None, and a remark, where there is nothing to compare with, or no time.

    Where our build is in place, it is held against the official wheel; elsewhere what is in place is held against
    our build, so that the table always reads: this is what fastinstall brings.
    """
    official, ours = packages[OFFICIAL_WHEEL], packages[FASTINSTALL]
    here = MeasuredPil(label=context.label, python=context.python)
    if ours is not None and ours.directory is not None:
        before, after = here, replace(here, label=ours.title, stage=ours.directory)
    elif official is not None and official.directory is not None:
        before, after = replace(here, label=official.title, stage=official.directory), here
    else:
        context.remark("no table of operations: found neither another official wheel nor a fast build to compare with")
        return None
    effort = TimingEffort(operations=())
    if context.request.quick:  # the decisive ones first
        left = context.effort.seconds - context.elapsed() - _START_SECONDS
        effort = replace(_QUICK_TIMING, operations=SHORT[: max(0, int(left / _OPERATION_SECONDS))])
        if len(effort.operations) < _FEWEST:
            context.remark("no table of operations: no time was left; --only operations measures it alone")
            return None
        if len(effort.operations) < len(SHORT):
            context.remark(f"there was time for {len(effort.operations)} of {len(SHORT)} operations only")
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


def _prepare_stacks(context: BenchContext) -> dict[str, UnpackedPackages | None]:
    """Return the newest official wheel and our build, as far as may be; None for what is in place."""
    packages: dict[str, UnpackedPackages | None] = {}
    receipt = read_earlier_receipt(context.environment)
    for name, title, find in (
        (OFFICIAL_WHEEL, "the newest official wheel", _find_official_stack),
        (FASTINSTALL, "fastinstall's build, not installed yet", _find_our_stack),
    ):
        packages[name] = None
        if name == FASTINSTALL and receipt is not None and receipt.core.sha256 == context.core.sha256:
            continue
        try:
            title, stage = find(context)  # noqa: PLW2901 (its own title, if it is found)
        except FastinstallError as error:
            packages[name] = UnpackedPackages(title=title, absent=error.message)
            continue
        core = stage / "PIL" / Path(context.core.path).name
        if not core.is_file() or files.sha256(core) != context.core.sha256:
            packages[name] = UnpackedPackages(title=title, directory=stage)
    return packages


def _find_official_stack(context: BenchContext) -> tuple[str, Path]:
    execution = open_bench_run(context, offline=context.request.quick)
    recipe = execution.recipe
    releases = execution.index.releases_for((recipe,), context.facts.interpreter)[recipe.name]
    wheel = next(iter(releases.wheels), None)
    if wheel is None:
        missing = "is not in the cache" if context.request.quick else "does not exist for this Python"
        raise UndeterminedError(f"the newest official wheel {missing}")
    return f"pillow {wheel.version} (official wheel)", unpack_official_wheel(wheel, execution)


def _find_our_stack(context: BenchContext) -> tuple[str, Path]:
    """Find our build in the cache, or build it as a setup would, and unpack it there, as official wheels are."""
    session, cache = context.session, context.session.own_cache()
    if context.request.quick or not context.request.build:
        places = open_bench_run(context, offline=True).index.places
        wheel = find_cached_build(cache, context.facts.interpreter, places)
        if wheel is None:
            raise UndeterminedError("the fast build is not in the cache")
    else:
        from fastinstall.setup.wheel import build_wheel_into  # noqa: PLC0415 (only where it may be built)

        message = "building the fast stack, to measure it before it is installed (--no-build skips this)"
        session.emit(Started(stage="build", message=message))
        target = NamedTarget(prefix=Path(context.environment.prefix), python=context.python)
        wheel = build_wheel_into(session, target, Request(), context.space / "wheel").wheel
    unpack = partial(unpack_wheel, wheel)
    stage = sealed_trees.make_once(cache / "unpacked" / files.sha256(wheel), unpack, cache=cache)
    return f"pillow {wheel.name.split('-')[1]} (fastinstall, not installed yet)", stage


def find_cached_build(cache: Path, interpreter: Interpreter, places: Collection[str]) -> Path | None:
    """Return the newest wheel of the usual recipe built for this Python before; of several, that with most levels.

    Args:
        cache: root of our cache.
        interpreter: that it was built for.
        places: indexes that pip is configured for; one of them has offered its source.
    """
    python = f"{interpreter.implementation} {'.'.join(interpreter.version.split('.')[:2])} {interpreter.abi}"
    stored = downloads.list_stored_files(cache, lambda name: name.endswith(".tar.gz"))
    sources = {each.path.parent.name for each in stored if each.find_index(places)}
    wanted = {"recipe": Request().recipe, "link": LinkMode.BUNDLE.value, "python": python}
    builds = []
    for entry in entries(cache):
        inputs, wheel, version = entry.inputs, locate_wheel(cache, entry), entry.wheel.split("-")[1]
        is_pillow = inputs.get("distribution", "").startswith("pillow ") and inputs.get("source") in sources
        is_wanted = inputs.items() >= wanted.items() and "wheelhouse" not in inputs
        if is_pillow and is_wanted and wheel.is_file():
            builds.append((parse_version_number(base_version(version)), len(version), wheel))
    return max(builds)[-1] if builds else None


def open_bench_run(context: BenchContext, *, offline: bool) -> Run:
    """Return tools to fetch an official wheel with.

    Args:
        context: where it is measured.
        offline: from our cache alone.
    """
    request = Request(offline=offline)
    session = context.session
    return Run(
        session=session,
        recipe=recipe_named(session, request.recipe),
        index=make_index(session, request, defer_pip_settings(session, context.python)),
        cache=session.own_cache(),
        cpu=context.facts.cpu,
    )


def observe_context(
    session: Session, environment: Environment, request: BenchRequest, space: Path, remarks: list[str]
) -> BenchContext:
    """Observe target and machine.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: where it is, what kind it is and its interpreter, as `find_environment` returns it.
        request: what was asked for.
        space: a temporary directory for stores and photos.
        remarks: where lines for the reader are collected.

    Raises:
        UndeterminedError: there is no PIL to measure.
    """
    from fastinstall.observe.cpu import observe_machine  # noqa: PLC0415 (only bench looks at it)

    started = time.monotonic()
    facts = facts_of(session, environment, ObservationRequest(recipe=recipe_named(session, Request().recipe)))
    if facts.stack.core is None:
        command = f"fastinstall setup --prefix {quote(environment.prefix)}"
        raise UndeterminedError(f"{environment.prefix} has no PIL to measure", hint=command)

    def remark(line: str) -> None:
        if line not in remarks:
            remarks.append(line)
            session.emit(Noted(message=line))

    for shadow in facts.shadows:
        remark(f"{shadow.sentence}; measured is the PIL in {facts.interpreter.site_packages}")
    libc = facts.interpreter.libc_version if facts.interpreter.libc == "glibc" else ""
    machine = observe_machine(facts.cpu, libc, session.variables)
    return BenchContext(
        session=session,
        environment=environment,
        request=request,
        facts=facts,
        core=facts.stack.core,
        machine=machine,
        effort=QUICK if request.quick else FULL,
        space=space,
        remark=remark,
        elapsed=lambda: time.monotonic() - started,
    )

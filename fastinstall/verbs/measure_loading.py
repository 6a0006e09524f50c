"""Is the loader the bottleneck, what would help, and how fast are PIL's operations? The target stays as it is.

Beside the target as it is, the official wheel and our build are measured. Both wheels are fetched, built or taken from
the cache, and unpacked beside each other; none is installed.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fastinstall import __version__
from fastinstall.bench.adoption import AdviceContext
from fastinstall.bench.advice import advice_for
from fastinstall.bench.bottleneck import verdict_of
from fastinstall.bench.candidates import CandidateRun, UnpackedPackages
from fastinstall.bench.effort import FULL, LEAST_SECONDS, QUICK, BenchContext
from fastinstall.bench.materials import choose_candidate_runs
from fastinstall.bench.report import BenchReport, BenchRequest, WorkloadResult
from fastinstall.bench.workload_comparison import compare_candidates
from fastinstall.bench.workloads import task_names, task_of
from fastinstall.core import files, foreign, sealed_trees, temporary_directories
from fastinstall.core.errors import FailedError, FastinstallError, UndeterminedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import listing
from fastinstall.core.version_numbers import base_version, parse_version_number
from fastinstall.index import downloads
from fastinstall.index.execution import ExecutionContext
from fastinstall.index.upgrades import requirement
from fastinstall.model.artefact import Artefact
from fastinstall.model.dependants import dependants_of
from fastinstall.model.facts import Environment, Interpreter
from fastinstall.model.request import LinkMode, Request
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.observation import ObservationRequest, facts_of, read_earlier_receipt
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.make import defer_pip_settings, make_index
from fastinstall.proof.stack_operations import unpack_official_wheel
from fastinstall.proof.timing import SHORT, MeasuredPil, MeasurementConditions, TimingEffort, measure
from fastinstall.wheelbuild.wheel_cache import CachedWheel
from fastinstall.wheelbuild.wheel_files import unpack_wheel


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
        official, ours = _prepare_stacks(context)
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
    context: BenchContext, name: str, candidate_runs: tuple[CandidateRun, ...], seconds: float
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


def _prepare_stacks(context: BenchContext) -> tuple[UnpackedPackages | None, UnpackedPackages | None]:
    """Return the newest official wheel and our build, as far as may be; None for what is in place."""
    official = _unpack(context, "the newest official wheel", _find_official_stack)
    receipt = read_earlier_receipt(context.environment)
    if receipt is not None and receipt.core.sha256 == context.core.sha256:
        return official, None
    return official, _unpack(context, "fastinstall's build, not installed yet", _find_our_stack)


def _unpack(
    context: BenchContext, title: str, find: Callable[[BenchContext], tuple[str, Path]]
) -> UnpackedPackages | None:
    """Return what is found, with its own title, or why there is none; None for what is in place."""
    try:
        title, stage = find(context)
    except FastinstallError as error:
        return UnpackedPackages(title=title, absent=error.message)
    core = stage / "PIL" / Path(context.core.path).name
    in_place = core.is_file() and files.sha256(core) == context.core.sha256
    return None if in_place else UnpackedPackages(title=title, directory=stage)


def _find_official_stack(context: BenchContext) -> tuple[str, Path]:
    is_quick = context.request.quick
    execution = make_bench_execution_context(context, offline=is_quick)
    if is_quick:
        wheel = find_official_wheel(execution.cache, context.facts.interpreter, execution.index.places)
    else:
        recipe = execution.recipe
        releases = execution.index.releases_for((recipe,), context.facts.interpreter)[recipe.name]
        wheel = next(iter(releases.wheels), None)
    if wheel is None:
        missing = "is not in the cache" if is_quick else "does not exist for this Python"
        raise UndeterminedError(f"the newest official wheel {missing}")
    return f"pillow {wheel.version} (official wheel)", unpack_official_wheel(wheel, execution)


def _find_our_stack(context: BenchContext) -> tuple[str, Path]:
    cache, index = context.session.own_cache(), make_bench_execution_context(context, offline=True).index
    if context.request.quick or not context.request.build:
        wheel = find_cached_build(cache, context.facts.interpreter, index.places)
    else:
        wheel = _build_wheel(context)
    if wheel is None:
        raise UndeterminedError("the fast build is not in the cache")
    return f"pillow {wheel.name.split('-')[1]} (fastinstall, not installed yet)", _stage(wheel, cache)


def _build_wheel(context: BenchContext) -> Path:
    """Build our wheel as a setup would; that takes about half a minute, which is said first."""
    from fastinstall.apply.wheel_only import build_wheel_into  # noqa: PLC0415 (only where it may be built)

    message = "building the fast stack, to measure it before it is installed (--no-build skips this)"
    context.session.emit(Started(stage="build", message=message))
    target = NamedTarget(prefix=Path(context.environment.prefix), python=context.python)
    return build_wheel_into(context.session, target, Request(), context.space / "wheel").result.wheel


def _stage(wheel: Path, cache: Path) -> Path:
    """Unpack a wheel of ours into a directory for `sys.path`, kept in the cache as the official ones are."""
    target = cache / "unpacked" / files.sha256(wheel)
    if not sealed_trees.is_intact(target, cache=cache):
        with temporary_directories.temporary_directory("unpack", within=cache / "tmp") as scratch:
            unpack_wheel(wheel, scratch / "tree")
            sealed_trees.publish_sealed(scratch / "tree", target, scratch / "aside", cache=cache)
    return target


def find_official_wheel(cache: Path, interpreter: Interpreter, places: Collection[str]) -> Artefact | None:
    """Find the newest official wheel of Pillow that was ever fetched and fits.

    Args:
        cache: root of our cache.
        interpreter: that it has to fit.
        places: indexes that pip is configured for; one of them has offered it.
    """
    from fastinstall.index import selection  # noqa: PLC0415 (packaging, only where a wheel is looked for)

    tags = set(selection.list_supported_tags(interpreter))
    found = []
    for stored in downloads.list_stored_files(cache, lambda name: name.startswith("pillow-") and name.endswith(".whl")):
        name, index = selection.parse_filename(stored.path.name), stored.find_index(places)
        if name is not None and index and name.tags & tags and name.version.local is None:
            found.append((name.version, stored.path, index))
    if not found:
        return None
    version, path, index = max(found)
    return Artefact(
        name="pillow",
        version=str(version),
        filename=path.name,
        url=path.as_uri(),
        sha256=path.parent.name,
        index=index,
    )


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
    found = []
    for result in (cache / "wheels").glob("*/result.json"):
        entry = foreign.read_kept(CachedWheel, "build", result)
        if entry is None:
            continue
        inputs, wheel, version = entry.inputs, result.parent / entry.wheel, entry.wheel.split("-")[1]
        is_pillow = inputs.get("distribution", "").startswith("pillow ") and inputs.get("source") in sources
        is_wanted = inputs.items() >= wanted.items() and "wheelhouse" not in inputs
        if is_pillow and is_wanted and wheel.is_file():
            found.append((parse_version_number(base_version(version)), len(version), wheel))
    return max(found)[-1] if found else None


def make_bench_execution_context(context: BenchContext, *, offline: bool) -> ExecutionContext:
    """Return tools to fetch an official wheel with.

    Args:
        context: where it is measured.
        offline: from our cache alone.
    """
    request = Request(offline=offline)
    session = context.session
    return ExecutionContext(
        recipe=recipe_named(session, request.recipe),
        index=make_index(session, request, defer_pip_settings(session, context.python)),
        cache=session.own_cache(),
        variables=session.variables,
        emit=session.emit,
        now=session.now(),
        cpu=context.facts.cpu,
    )


def observe_context(
    session: Session, environment: Environment, request: BenchRequest, space: Path, remarks: list[str]
) -> BenchContext:
    """Observe target and machine.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: where it is, what kind it is and its interpreter, as `find` returns it.
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
        raise UndeterminedError(f"{environment.prefix} has no PIL to measure", hint="fastinstall setup")

    def remark(line: str) -> None:
        if line not in remarks:
            remarks.append(line)
            session.emit(Noted(message=line))

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

"""Measure whether the loader is the bottleneck, what would help, and how fast PIL's operations are.

The installed Pillow is compared with the official wheel and with our build. Both wheels are downloaded, built or taken
from the cache, and unpacked into directories; neither is installed.
"""

import math
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall import __version__
from fastinstall.bench import catalogue
from fastinstall.bench.advice import AdviceContext, advice_for
from fastinstall.bench.bottleneck import verdict_of
from fastinstall.bench.comparison import compare_candidates
from fastinstall.bench.effort import FULL, LEAST_SECONDS, QUICK, BenchContext
from fastinstall.bench.libraries import find_libraries, require_fetchable
from fastinstall.bench.report import BenchReport, BenchRequest, Candidate, CandidateKind, WorkloadResult
from fastinstall.bench.workloads import list_workloads
from fastinstall.core import files, sealed_trees, temporary_directories
from fastinstall.core.archives import unpack_zip
from fastinstall.core.errors import FailedError, FastinstallError, UndeterminedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.messages import listing, quote
from fastinstall.core.version_numbers import base_version, parse_version_number
from fastinstall.index import downloads
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
from fastinstall.proof.timing import SHORT, MeasuredPil, TimingEffort, measure
from fastinstall.setup.look import open_run
from fastinstall.wheelbuild.wheel_cache import entries, locate_wheel

# Seconds to start timing the operations, including the extra rounds of the headline operation (see `proof.timing`), and
# seconds for each operation.
_START_SECONDS = 1.3
_OPERATION_SECONDS = 0.14
_FEWEST = 5


def bench(session: Session, environment: Environment, request: BenchRequest) -> BenchReport:
    """Measure image loading and PIL's operations, find the bottleneck, and advise.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.
        request: what to measure, and for how long.

    Raises:
        UndeterminedError: the environment has no PIL, or there is no image that can be measured.
        UsageError: a workload or a candidate is unknown.
        FailedError: the installed PIL, which is the baseline, crashes, hangs or fails.

    Example:
        report = bench(session, environment, BenchRequest(paths=(Path("photos"),), quick=True))
        for result in report.workloads:
            print(result.verdict.sentence)
    """
    remarks: list[str] = []
    catalogue.require_known(request.candidates)
    fetched = require_fetchable(request.bring)
    with temporary_directories.temporary_directory("bench", within=session.own_cache() / "tmp") as space:
        context = observe_context(session, environment, request, space, remarks)
        names = list_workloads(request) if request.loading else ()
        candidates = catalogue.plan_candidates(context.machine, session.variables, is_own_loader=bool(request.loader))
        if request.loading:
            interpreter = context.facts.interpreter
            candidates = find_libraries(session, interpreter, candidates, fetched, offline=request.quick)
        candidates = tuple(
            _find_stack(context, each) if each.kind is CandidateKind.STACK else each for each in candidates
        )
        seconds = context.effort.seconds
        if not request.quick:  # builds and downloads are done: the time limit starts now
            seconds = len(names) * seconds + context.kept_seconds
            context = replace(context, end=time.monotonic() + seconds)
        limit = f"{seconds:.0f} s" if request.quick else f"{math.ceil(seconds / 60):d} min"
        session.emit(Noted(message=f"measuring takes at most {limit}"))
        wanted = catalogue.select_candidates(candidates, request.candidates)
        return BenchReport(
            prefix=environment.prefix,
            python=context.facts.interpreter.version,
            machine=context.machine,
            tool_version=__version__,
            effort="quick" if request.quick else "full",
            workloads=tuple(_measure_workloads(context, names, wanted)),
            operations=_compare_operations(context, candidates) if request.operations else None,
            measured_at=session.now().isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - context.started, 2),
            remarks=tuple(remarks),
        )


def _measure_workloads(
    context: BenchContext, names: tuple[str, ...], candidates: Sequence[Candidate]
) -> Iterator[WorkloadResult]:
    for number, name in enumerate(names):
        if number and context.request.quick and context.left() < LEAST_SECONDS:
            left_out = names[number:]
            where = f"--prefix {quote(context.environment.prefix)}"
            command = f"fastinstall bench --quick --workload {','.join(left_out)} {where}"
            context.remark(f"no time was left for {listing(left_out)}; to measure it: {command}")
            return
        end = time.monotonic() + max(LEAST_SECONDS, context.left() / (len(names) - number))
        yield _measure_workload(context, name, candidates, end)


def _measure_workload(context: BenchContext, name: str, candidates: Sequence[Candidate], end: float) -> WorkloadResult:
    workload, baseline, measured = compare_candidates(context, name, candidates, end)
    verdict = verdict_of(baseline, workload, context.machine, context.request.target_rate)
    advice_context = AdviceContext(
        baseline=baseline,
        workload=workload,
        environment=context.environment,
        pipeline=context.request.pipeline,
        pillow=requirement("pillow", dependants_of(context.facts)),
        has_pip=any(each.name == "pip" for each in context.facts.distributions),
    )
    return WorkloadResult(
        workload=workload,
        pipeline=context.request.pipeline,
        baseline=baseline,
        candidates=measured,
        verdict=verdict,
        advice=advice_for(measured, verdict, advice_context),
    )


def _compare_operations(context: BenchContext, candidates: Sequence[Candidate]) -> SpeedTable | None:
    """Measure the operations of PIL; return None and add a remark if there is no other PIL to compare with, or no time.

    The installed PIL is compared with the fast build; if it is the fast build itself, it is compared with the official
    wheel. The table thus always shows what the fast build gains.
    """
    stacks = {each.name: each for each in candidates if each.site}
    here = MeasuredPil(label=context.label, python=context.python)
    other = stacks.get(catalogue.FASTINSTALL) or stacks.get(catalogue.OFFICIAL_WHEEL)
    if other is None:
        context.remark("no table of operations: found neither another official wheel nor a fast build to compare with")
        return None
    there = replace(here, label=other.title, stage=other.site[0])
    before, after = (here, there) if other.name == catalogue.FASTINSTALL else (there, here)
    effort = TimingEffort(operations=())
    if context.request.quick:  # measure as many operations as time permits; the most important come first
        left = context.end - time.monotonic() - _START_SECONDS
        operations = SHORT[: max(0, int(left / _OPERATION_SECONDS))]
        effort = TimingEffort(operations=operations, rounds=2, seconds=0.015)
        if len(operations) < _FEWEST:
            context.remark("no table of operations: no time was left; --only operations measures it alone")
            return None
        if len(operations) < len(SHORT):
            context.remark(f"there was time for {len(operations)} of {len(SHORT)} operations only")
    session = context.session
    session.emit(Started(stage="measure", message=f"operations: {before.label} against {after.label}"))
    try:
        return measure(
            before,
            after,
            effort,
            variables=session.variables,
            emit=session.emit,
            cpu=context.facts.cpu.name,
            measured_at=session.now().isoformat(timespec="seconds"),
        )
    except FailedError as error:
        context.remark(f"no table of operations: {error.message}")
        return None


def _find_stack(context: BenchContext, candidate: Candidate) -> Candidate:
    """Return the candidate with its wheel unpacked, or marked as unsuited (installed already) or missing."""
    receipt = read_earlier_receipt(context.environment) if candidate.name == catalogue.FASTINSTALL else None
    if receipt is not None and receipt.core.sha256 == context.core.sha256:
        return catalogue.unsuited(candidate, "it is installed already")
    find = {catalogue.OFFICIAL_WHEEL: _find_official_stack, catalogue.FASTINSTALL: _find_our_stack}[candidate.name]
    try:
        title, stage = find(context)
    except FastinstallError as error:
        return catalogue.missing(candidate, error.message)
    core = stage / "PIL" / Path(context.core.path).name
    if core.is_file() and files.sha256(core) == context.core.sha256:
        return catalogue.unsuited(candidate, "it is installed already")
    return replace(candidate, title=title, site=(stage,))


def _find_official_stack(context: BenchContext) -> tuple[str, Path]:
    execution = open_run(context.session, Request(offline=context.request.quick), context.python)
    recipe = execution.recipe
    releases = execution.index.releases_for((recipe,), context.facts.interpreter)[recipe.name]
    wheel = next(iter(releases.wheels), None)
    if wheel is None:
        problem = "is not in the cache" if context.request.quick else "does not exist for this Python"
        raise UndeterminedError(f"the newest official wheel {problem}")
    return f"pillow {wheel.version} (official wheel)", unpack_official_wheel(wheel, execution)


def _find_our_stack(context: BenchContext) -> tuple[str, Path]:
    """Return the title of our build and the directory with its files; take the wheel from the cache, or build it."""
    session, cache = context.session, context.session.own_cache()
    if context.request.quick or not context.request.build:
        places = open_run(session, Request(offline=True), context.python).index.places
        wheel = find_cached_build(cache, context.facts.interpreter, places)
        if wheel is None:
            raise UndeterminedError("the fast build is not in the cache")
    else:
        from fastinstall.setup.wheel import build_wheel_into  # only for a build

        message = "building the fast stack, to measure it before it is installed (--no-build skips this)"
        session.emit(Started(stage="build", message=message))
        target = NamedTarget(prefix=Path(context.environment.prefix), python=context.python)
        wheel = build_wheel_into(session, target, Request(), context.space / "wheel").wheel
    unpack = partial(unpack_zip, wheel)
    stage = sealed_trees.make_once(cache / "unpacked" / files.sha256(wheel), unpack, cache=cache)
    return f"pillow {wheel.name.split('-')[1]} (fastinstall, not installed yet)", stage


def find_cached_build(cache: Path, interpreter: Interpreter, places: Collection[str]) -> Path | None:
    """Return the newest cached wheel of the default recipe for a Python, or None if the cache has none.

    Of several wheels of the newest version, the one with the most levels is returned.

    Args:
        cache: the root of fastinstall's cache.
        interpreter: the Python that the wheel was built for.
        places: the package indexes in pip's configuration; the wheel's source must come from one of them.
    """
    python = f"{interpreter.implementation} {interpreter.minor} {interpreter.abi}"
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


def observe_context(
    session: Session, environment: Environment, request: BenchRequest, space: Path, remarks: list[str]
) -> BenchContext:
    """Observe target and machine, and return the context of the measurements.

    Args:
        session: variables, directories, clock and event listener of this run.
        environment: the target environment, as returned by `find_environment`.
        request: what to measure, and for how long.
        space: a temporary directory for stores and photos.
        remarks: the list to which remarks for the report are added.

    Raises:
        UndeterminedError: the environment has no PIL to measure.
    """
    from fastinstall.observe.cpu import observe_machine  # only for bench

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
    effort = QUICK if request.quick else FULL
    return BenchContext(
        session=session,
        environment=environment,
        request=request,
        facts=facts,
        core=facts.stack.core,
        machine=machine,
        effort=effort,
        space=space,
        remark=remark,
        started=started,
        end=started + effort.seconds,
    )

"""What to expect of a plan: how much faster it makes Pillow, how long it takes, and what it downloads and keeps."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.messages import format_rough_duration
from fastinstall.core.values import immutable
from fastinstall.index.downloads import is_downloaded
from fastinstall.model.artefact import Artefact
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.conda_toolchain import CondaToolchain
from fastinstall.steps.create_environment import CreateEnvironment
from fastinstall.steps.kinds import find_step
from fastinstall.steps.private_headers import PrivateHeaders
from fastinstall.steps.prove import Prove
from fastinstall.steps.system_packages import SystemPackages
from fastinstall.steps.verify import Verify

_SECONDS = {CreateEnvironment: 6.0, Prove: 7.0, ChangeCondaPackages: 15.0, Verify: 3.0}
_COMPILING = 50.0
"""Fetched, compiled and compared. All are of 2 CPUs of an AMD EPYC virtual machine, and two levels (2026-11-21)."""


def describe_expectations(session: Session, plan: Plan) -> tuple[str, ...]:
    """Describe all of it, a text each; empty ones for what is unknown or nothing."""
    gain, cost = describe_expected_gain(session, plan), describe_cost(plan, session.directories.cache)
    return gain, f"takes {format_rough_duration(estimate_seconds(plan))}", cost


def estimate_seconds(plan: Plan) -> float:
    """Estimate roughly how long carrying out a plan takes."""
    return sum(_SECONDS.get(type(step), 0.0) for step in plan.steps) + (_COMPILING if _is_compiled(plan) else 0.0)


def describe_expected_gain(session: Session, plan: Plan) -> str:
    """Describe how much faster a plan makes Pillow, as measured here or as its recipe says; empty if unknown."""
    build, proof = find_step(plan.steps, Build), find_step(plan.steps, Prove)
    if build is None:
        return ""
    cache = session.directories.cache
    known = proof.find_known_speed(build, observe_cpu(allowed_cores=0).name, cache) if proof is not None else None
    if known is not None:
        return f"{known.gain.replace(' (wheel)', '')}, as measured here"
    recipe = recipe_named(session, plan.request.recipe)
    measured = recipe.bench.measured.partition(" (")[0]
    if build.prebuilt is not None or not measured:
        return ""
    architecture = next((level.architecture for level in recipe.levels if level.name in build.levels), "")
    if architecture != recipe.bench.architecture:
        return recipe.bench.measured_on(architecture)
    compared = proof.baseline.version if proof is not None and proof.baseline is not None else ""
    other = f"; not measured against {compared}, the newest for this Python" if compared not in measured else ""
    return f"{measured}, measured on another machine{other}"


@immutable
class PlanCost:
    """What a plan downloads, and what the cache keeps of it.

    Attributes:
        download_bytes: of the files that the cache lacks, in bytes.
        kept_bytes: of these files, and of what is unpacked and built of them, estimated.
        is_least: whether it is more, because an index does not tell the size of a file, or a package manager fetches.
    """

    download_bytes: int
    kept_bytes: int
    is_least: bool


_MB = 1_000_000
_SIZED_ELSEWHERE = (SystemPackages, CondaToolchain, ChangeCondaPackages)  # by package managers, which decide later
_MADE_OF_WHEEL = 4
"""Times the size of an official wheel that the cache takes besides: unpacked (2.9), and for the wheel that is built."""


def estimate_cost(plan: Plan, cache: Path) -> PlanCost:
    """Estimate what a plan costs.

    Args:
        plan: with the artefacts that it fetches, which name their sizes.
        cache: what lies there already is not fetched again.
    """
    missing = tuple({each.filename: each for each in _list_needed(plan) if _is_missing(each, cache)}.values())
    download = sum(each.size for each in missing)
    return PlanCost(
        download_bytes=download,
        kept_bytes=download + sum(map(_estimate_unpacked, missing)),
        is_least=not all(each.size for each in missing)
        or any(isinstance(step, _SIZED_ELSEWHERE) for step in plan.steps),
    )


def describe_cost(plan: Plan, cache: Path) -> str:
    """Describe what it costs: "downloads 161 MB, and the cache keeps about 420 MB"; empty if nothing is fetched."""
    cost = estimate_cost(plan, cache)
    if not cost.download_bytes and not cost.is_least:
        return ""
    least = "at least " if cost.is_least else ""
    kept = f"{least or 'about '}{round(cost.kept_bytes / _MB, -1):.0f} MB"
    return f"downloads {least}{cost.download_bytes / _MB:.0f} MB, and the cache keeps {kept}"


def _list_needed(plan: Plan) -> Iterator[Artefact]:
    is_compiled = _is_compiled(plan)
    for step in plan.steps:
        if is_compiled or not isinstance(step, Build | PrivateHeaders) or (isinstance(step, Build) and step.prebuilt):
            yield from step.list_artefacts()


def _is_compiled(plan: Plan) -> bool:
    build = find_step(plan.steps, Build)
    return build is not None and build.prebuilt is None and not build.cached


def _is_missing(artefact: Artefact, cache: Path) -> bool:
    return not artefact.url.startswith("file:") and not (artefact.sha256 and is_downloaded(cache, artefact.sha256))


def _estimate_unpacked(artefact: Artefact) -> int:
    compiler = list_wheel_compilers().get(artefact.name)
    if compiler is not None:
        return compiler.unpacked_bytes
    return _MADE_OF_WHEEL * artefact.size if artefact.filename.endswith(".whl") else 0

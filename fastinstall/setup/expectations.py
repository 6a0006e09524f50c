"""Describe what to expect from a plan: speed, duration, downloads, and space in the cache."""

from pathlib import Path

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.messages import format_bytes, format_rough_duration
from fastinstall.core.values import immutable
from fastinstall.index.downloads import is_downloaded
from fastinstall.model.artefact import Artefact
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.conda_packages import ChangeCondaPackages
from fastinstall.setup.steps.prepare import CondaToolchain, PrivateHeaders, SystemPackages

# Durations in seconds, unless another unit is given. Measured on 2026-11-29 for two levels, on one core of a virtual
# machine with an Intel Xeon (Sapphire Rapids).
_DOWNLOADED = 20e6  # bytes per second
_UNPACKED = 5.0  # seconds to unpack the compiler
_CREATED = 6.0  # seconds to create a virtual environment
_LIBRARY, _LIBRARY_CONFIGURED = 23.0, 11.0  # seconds to compile and to configure zlib-ng; `configure` uses one core
_LEVEL = 30.0  # seconds to compile one level of Pillow
_ASSEMBLED = 11.0
_COMPARED = 25.0  # seconds to compare the wheel with the official one
_MEASURED = 9.0
_CHECKED = 3.0
_CONDA = 15.0  # seconds to change an environment with conda


def describe_expectations(session: Session, plan: Plan) -> tuple[str, ...]:
    """Return three texts: the speed ("" if unknown), the duration, and the downloads ("" if nothing is fetched)."""
    cache = session.directories.cache
    gain, cost = describe_expected_gain(session, plan), describe_cost(plan, cache)
    return gain, f"takes {format_rough_duration(estimate_seconds(plan, cache))}", cost


def estimate_seconds(plan: Plan, cache: Path) -> float:
    """Estimate how many seconds it takes to carry out a plan.

    Args:
        plan: the plan.
        cache: root of our cache; files in it are not fetched again.
    """
    download, build = estimate_cost(plan, cache).download_bytes, plan.build
    seconds = max(download / _DOWNLOADED, _CREATED if plan.create else 0.0)  # venv runs during the downloads
    if download:
        seconds += _UNPACKED
    if build is not None and build.prebuilt is None and not build.cached:
        cores = max(build.jobs, 1)
        seconds += len(build.statics) * (_LIBRARY_CONFIGURED + _LIBRARY / cores)
        seconds += len(build.targets) * _LEVEL / cores
        seconds += _ASSEMBLED + _COMPARED / min(cores, 2)
    if plan.prove is not None:
        seconds += _MEASURED
    if plan.change:
        seconds += _CONDA
    return seconds + _CHECKED


def describe_expected_gain(session: Session, plan: Plan) -> str:
    """Describe how much faster a plan makes Pillow, as measured here or as stated in the recipe; empty if unknown."""
    build, proof = plan.build, plan.prove
    if build is None:
        return ""
    cpu, cache = observe_cpu(allowed_cores=0).name, session.directories.cache
    known = proof.find_known_speed(build, cpu, cache) if proof is not None else None
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
    """The size of a plan's downloads, and the space that they need in the cache.

    Attributes:
        download_bytes: size of the files that the cache lacks.
        kept_bytes: estimated space in the cache for these files and for everything unpacked and built from them.
        is_least: whether the sizes are lower bounds, because an index does not give the size of a file, or because a
            package manager downloads files too.
    """

    download_bytes: int
    kept_bytes: int
    is_least: bool


_MB = 1_000_000
_MADE_OF_WHEEL = 4
"""Space in the cache for files made from an official wheel, in multiples of its size: 2.9 unpacked, the rest built."""


def estimate_cost(plan: Plan, cache: Path) -> PlanCost:
    """Estimate the downloads of a plan, and the space that they need in the cache.

    Args:
        plan: the plan; the index states the sizes of its artefacts.
        cache: root of our cache; files in it are not fetched again.
    """
    is_cached = plan.build is not None and bool(plan.build.cached)
    steps = [step for step in plan.steps if not (is_cached and isinstance(step, Build | PrivateHeaders))]
    needed = {artefact.filename: artefact for step in steps for artefact in step.list_artefacts()}
    missing = [artefact for artefact in needed.values() if _is_missing(artefact, cache)]
    download = sum(each.size for each in missing)
    by_managers = any(isinstance(step, ChangeCondaPackages | SystemPackages | CondaToolchain) for step in steps)
    return PlanCost(
        download_bytes=download,
        kept_bytes=download + sum(map(_estimate_unpacked, missing)),
        is_least=by_managers or not all(artefact.size for artefact in missing),
    )


def describe_cost(plan: Plan, cache: Path) -> str:
    """Describe a plan's cost: "downloads 161 MB, and the cache keeps about 420 MB"; empty if nothing is fetched."""
    cost = estimate_cost(plan, cache)
    if not cost.download_bytes:
        return "how much is downloaded is known only when it comes" if cost.is_least else ""
    least = "at least " if cost.is_least else ""
    kept = f"{least or 'about '}{_format_size(cost.kept_bytes, -1)}"
    return f"downloads {least}{_format_size(cost.download_bytes, 0)}, and the cache keeps {kept}"


def _format_size(count: int, digits: int) -> str:
    """Format a number of bytes in MB, rounded by `round(..., digits)`; if that gives 0, in a smaller unit."""
    rounded = round(count / _MB, digits)
    return f"{rounded:.0f} MB" if rounded else format_bytes(count)


def _is_missing(artefact: Artefact, cache: Path) -> bool:
    return not artefact.url.startswith("file:") and not (artefact.sha256 and is_downloaded(cache, artefact))


def _estimate_unpacked(artefact: Artefact) -> int:
    compiler = list_wheel_compilers().get(artefact.name)
    if compiler is not None:
        return compiler.unpacked_bytes
    return _MADE_OF_WHEEL * artefact.size if artefact.filename.endswith(".whl") else 0

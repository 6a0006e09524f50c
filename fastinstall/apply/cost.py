"""What carrying out a plan costs besides time: what it downloads, and what the cache keeps of it."""

from collections.abc import Iterator
from pathlib import Path

from fastinstall.compilers import list_wheel_compilers
from fastinstall.core.values import immutable
from fastinstall.index.downloads import is_downloaded
from fastinstall.model.artefact import Artefact
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.change_conda_packages import ChangeCondaPackages
from fastinstall.steps.conda_toolchain import CondaToolchain
from fastinstall.steps.kinds import find_step
from fastinstall.steps.private_headers import PrivateHeaders
from fastinstall.steps.system_packages import SystemPackages


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
    """Describe it for people: "downloads 161 MB, and the cache keeps about 420 MB"; empty if nothing is fetched."""
    cost = estimate_cost(plan, cache)
    if not cost.download_bytes and not cost.is_least:
        return ""
    least = "at least " if cost.is_least else ""
    kept = f"{least or 'about '}{round(cost.kept_bytes / _MB, -1):.0f} MB"
    return f"downloads {least}{cost.download_bytes / _MB:.0f} MB, and the cache keeps {kept}"


def _list_needed(plan: Plan) -> Iterator[Artefact]:
    build = find_step(plan.steps, Build)
    is_made = build is not None and not build.cached and build.prebuilt is None
    for step in plan.steps:
        if is_made or not isinstance(step, Build | PrivateHeaders) or (isinstance(step, Build) and step.prebuilt):
            yield from step.list_artefacts()


def _is_missing(artefact: Artefact, cache: Path) -> bool:
    return not artefact.url.startswith("file:") and not (artefact.sha256 and is_downloaded(cache, artefact.sha256))


def _estimate_unpacked(artefact: Artefact) -> int:
    compiler = list_wheel_compilers().get(artefact.name)
    if compiler is not None:
        return compiler.unpacked_bytes
    return _MADE_OF_WHEEL * artefact.size if artefact.filename.endswith(".whl") else 0

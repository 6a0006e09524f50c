"""The named risks of a plan, and what a person should know before consenting. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from fastinstall.model.advisory import Advisory
from fastinstall.model.facts import Interpreter, Stack
from fastinstall.model.plan import Hazard
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Risk, Wish
from fastinstall.rules.advisories import applicable, coming_back, count_by_severity, critical
from fastinstall.rules.numbering import base_version, parsed
from fastinstall.rules.upgrading import instead_of_risk, outlook


def version_hazards(
    recipe: Recipe, stack: Stack, version: str, interpreter: Interpreter, *, elsewhere: bool = False
) -> tuple[Hazard, ...]:
    """What is risky about putting a version into a target: it may be older, or more vulnerable than what is there.

    Args:
        recipe: whose advisories count.
        stack: what is in place.
        version: of the source.
        interpreter: the target's Python.
        elsewhere: see `instead_of_risk`.
    """
    found = [_downgrade(recipe, stack, version)]
    vulnerable = vulnerable_hazard(recipe, version, kernels=_has_kernels(recipe))
    if vulnerable is not None and not _as_installed(recipe, stack, version):
        grave = critical(recipe.advisories, version, kernels=_has_kernels(recipe))
        view = outlook(grave, version, interpreter, stack.dependants)
        instead = instead_of_risk(view, recipe.name, Wish().recipe, elsewhere=elsewhere)
        found.append(replace(vulnerable, instead=instead))
    return tuple(hazard for hazard in found if hazard is not None)


def installed_already(recipe: Recipe, stack: Stack, version: str) -> tuple[str, ...]:
    """A sentence where a version is vulnerable, and no more so than what is in place: it needs no consent."""
    hazard = vulnerable_hazard(recipe, version, kernels=_has_kernels(recipe))
    if hazard is None or not _as_installed(recipe, stack, version):
        return ()
    return (f"{hazard.summary}; no more than affect Pillow {stack.version}, which is in place",)


def vulnerable_hazard(recipe: Recipe, version: str, *, kernels: bool) -> Hazard | None:
    """Return the risk of a version with a known critical vulnerability, or None if it has none.

    Args:
        recipe: whose advisories count.
        version: that would be installed; "12.1.1.post0" counts as 12.1.1.
        kernels: whether the core that would be installed has the SIMD kernels.

    Raises:
        ValueError: `version` is not a version (PEP 440).
    """
    found = critical(recipe.advisories, version, kernels=kernels)
    if not found:
        return None
    subject = "1 critical advisory affects" if len(found) == 1 else f"{len(found)} critical advisories affect"
    names = ", ".join(advisory.id for advisory in found)
    return Hazard(
        risk=Risk.VULNERABLE,
        summary=f"{subject} Pillow {base_version(version)}: {names}",
        items=tuple(f"{advisory.id} (affects {advisory.affects}): {advisory.summary}" for advisory in found),
    )


def consent_hint(hazards: Iterable[Hazard], allowed: Iterable[Risk]) -> str:
    """What can be done instead of accepting risks, then the flag that accepts them by name.

    Args:
        hazards: those that nobody has allowed.
        allowed: risks that are.
    """
    risks = tuple(hazards)
    by_name = ",".join((*allowed, *(hazard.risk for hazard in risks)))
    return "; or ".join((*filter(None, (hazard.instead for hazard in risks)), f"accept it by name: --allow {by_name}"))


def weighed(hazards: Iterable[Hazard], allowed: Iterable[Risk]) -> tuple[Hazard, ...]:
    """The hazards, those marked whose risk is allowed by name."""
    names = tuple(allowed)
    return tuple(replace(hazard, allowed=hazard.allowed or hazard.risk in names) for hazard in hazards)


def known_against(recipe: Recipe, version: str) -> tuple[str, ...]:
    """A sentence about the advisories of a version; none where it has none."""
    known = applicable(recipe.advisories, version, kernels=_has_kernels(recipe))
    if not known:
        return ()
    what = f"{recipe.source.pypi} {version} has {len(known)} known advisories ({_counted(known)})"
    return (f"{what}: fastinstall recipes show {recipe.name}",)


def _as_installed(recipe: Recipe, stack: Stack, version: str) -> bool:
    """Whether no more critical advisories concern a version than what is in place."""
    if stack.version is None:
        return False
    kernels = stack.core is not None and bool(stack.core.simd_symbols)
    try:
        present = critical(recipe.advisories, stack.version, kernels=kernels)
    except ValueError:
        return False
    return len(critical(recipe.advisories, version, kernels=_has_kernels(recipe))) <= len(present)


def _downgrade(recipe: Recipe, stack: Stack, version: str) -> Hazard | None:
    installed, core = stack.version, stack.core
    if installed is None or not _is_later(installed, version):
        return None
    kernels = core is not None and bool(core.simd_symbols)
    returning = coming_back(recipe.advisories, installed, version, installed_kernels=kernels)
    return Hazard(
        risk=Risk.DOWNGRADE,
        summary=f"Pillow {installed} is in place; {version} is older, "
        f"and {len(returning)} known advisories come back ({_counted(returning)})",
        items=tuple(f"{advisory.id} ({advisory.severity}): {advisory.summary}" for advisory in returning),
    )


def _is_later(installed: str, version: str) -> bool:
    try:
        return parsed(base_version(installed)) > parsed(base_version(version))
    except ValueError:
        return False


def _has_kernels(recipe: Recipe) -> bool:
    return bool(recipe.expect.symbols)


def _counted(advisories: Iterable[Advisory]) -> str:
    return ", ".join(f"{number} {severity}" for severity, number in count_by_severity(advisories).items())

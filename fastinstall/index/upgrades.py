"""Decide, without I/O, which version of Pillow to advise: never one that an installed distribution forbids.

All hints and remedies that change Pillow's version are based on this module. It finds the versions that fix advisories,
and says whether the target's Python or an installed distribution forbids them.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fastinstall.core.messages import listing
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version, contains, is_specifier, parse_version_number
from fastinstall.model.advisories import Advisory
from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import CondaDependant, Dependant, Interpreter

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_LEAST_PYTHONS = (("13.0.0", "3.11"),)
"""Pairs of a Pillow version and the lowest Python that it and later ones support (Requires-Python, 2026-11-22)."""
_BOUNDING = frozenset({"<", "<=", "==", "!=", "~=", "==="})
_FIXED_IN = re.compile(r"<(?!=)\s*(\d+(?:\.\d+)*)")


@immutable
class UpgradeForecast:
    """Whether a later Pillow fixes advisories, and what prevents it.

    Attributes:
        fixed: the later version that the fewest of the advisories affect; if several are equally good, the earliest.
            Empty if no later version is better than the current one.
        allowed: like `fixed`, but chosen only among versions that the target's Python and distributions allow.
        keepers: the requirements that forbid `fixed` ("gradio 5.49.1 requires pillow<13").
        python: the earliest Python that `fixed` supports ("3.11"); empty if `fixed` supports the target's Python.
    """

    fixed: str = ""
    allowed: str = ""
    keepers: tuple[str, ...] = ()
    python: str = ""

    @property
    def is_held(self) -> bool:
        """Whether some later version has fewer advisories, but no such version is allowed."""
        return bool(self.fixed) and not self.allowed

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences for messages: what forbids `fixed`, and which Python it needs."""
        what = f"Pillow {self.fixed}"
        kept = f"{listing(self.keepers)}, which keeps {what} out; a later release of it may not"
        return (*((kept,) if self.keepers else ()), *((f"Python {self.python} gets {what}",) if self.python else ()))


def forecast_upgrade(
    affecting: Iterable[Advisory], version: str, interpreter: Interpreter, dependants: Sequence[Dependant]
) -> UpgradeForecast:
    """Find the later version that the fewest advisories affect, and whether that version is allowed.

    Args:
        affecting: the advisories that affect the current version; advisories for bundled libraries are ignored.
        version: current version of Pillow, or of a fork with Pillow's version numbers.
        dependants: installed distributions that require Pillow.
    """
    own = tuple(advisory for advisory in affecting if not advisory.component)
    helping = _list_helping_versions(own, base_version(version)) if own else ()
    if not helping:
        return UpgradeForecast()
    fixed = helping[0]
    able = (each for each in helping if not _find_needed_python(each, interpreter))
    return UpgradeForecast(
        fixed=fixed,
        allowed=next((each for each in able if not list_forbidding_dependants(each, interpreter, dependants)), ""),
        keepers=tuple(obstacle.reason for obstacle in list_forbidding_dependants(fixed, interpreter, dependants)),
        python=_find_needed_python(fixed, interpreter),
    )


def advise_instead_of_risk(view: UpgradeForecast, recipe: str, usual: str) -> str:
    """Return advice to give instead of accepting a vulnerable version; empty if there is none.

    Args:
        view: the forecast for the advisories that make the version a risk.
        recipe: name of the requested recipe.
        usual: name of the recipe that takes the newest Pillow.
    """
    if view.allowed:
        return f"take today's Pillow: --recipe {usual}" if recipe != usual else ""
    return "; ".join(view.sentences) + (f": {environment_command(view.python)}" if view.python else "")


def environment_command(python: str) -> str:
    """Return the shell command that creates an environment with this Python."""
    return f"fastinstall setup --new-env ./fast-env --python python{python}"


def requirement(name: str, dependants: Iterable[Dependant], least: str = "") -> str:
    """Return a requirement for an installer that respects the upper bounds of all dependants: "pillow<13".

    Args:
        name: the name of the distribution.
        dependants: installed distributions that require this distribution. Their lower bounds are left out, because the
            newest version meets them.
        least: the lowest version to accept; empty for any.
    """
    parsed = filter(None, (_parse_requirement(each.requirement) for each in dependants))
    # Keep only clauses that can exclude later versions.
    clauses = {str(clause) for each in parsed for clause in each.specifier if clause.operator in _BOUNDING}
    return name + ",".join(([f">={least}"] if least and clauses else []) + sorted(clauses))


def _parse_requirement(text: str) -> "Requirement | None":
    from packaging.requirements import InvalidRequirement, Requirement  # slow to import, needed only here

    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _list_helping_versions(affecting: Sequence[Advisory], version: str) -> tuple[str, ...]:
    """List later versions that fewer of the advisories affect, sorted by the number of advisories, then by version."""
    bounds = {bound for advisory in affecting for bound in _FIXED_IN.findall(advisory.affects)}
    left = {bound: sum(contains(advisory.affects, bound) for advisory in affecting) for bound in bounds}
    better = (
        bound
        for bound in bounds
        if left[bound] < len(affecting) and parse_version_number(bound) > parse_version_number(version)
    )
    return tuple(sorted(better, key=lambda bound: (left[bound], parse_version_number(bound))))


def _find_needed_python(version: str, interpreter: Interpreter) -> str:
    """Return the earliest Python that a version of Pillow needs; empty if the target's Python is late enough."""
    needed = [
        python for least, python in _LEAST_PYTHONS if parse_version_number(version) >= parse_version_number(least)
    ]
    return next((python for python in reversed(needed) if not contains(f">={python}", interpreter.version)), "")


OTHER_PYTHON = "use an environment with another Python: fastinstall setup --new-env ./fast-env --python python3"
OTHER_RECIPE = "try another recipe: fastinstall recipes list"


@immutable
class Obstacle:
    """Why a version cannot be installed into a target.

    Attributes:
        reason: a sentence for the user.
        dependant: the installed distribution that forbids the version; None if something else forbids it.
        remedy: advice to give if no version fits, and the reason is not an installed distribution.
    """

    reason: str
    dependant: str | None = None
    remedy: str = OTHER_PYTHON


def obstacles(
    artefact: Artefact, version: str, interpreter: Interpreter, dependants: Sequence[Dependant]
) -> tuple[Obstacle, ...]:
    """Return everything that forbids a version; empty if nothing does.

    Args:
        artefact: the file to install; its `requires_python` is checked against the target, classifiers are ignored.
        version: the version under which the file would be installed, without a local label.
        dependants: installed distributions that require the distribution to be replaced.
    """
    python = artefact.requires_python
    # Like pip, ignore a malformed specifier.
    if python and is_specifier(python) and not contains(python, interpreter.version):
        needs = f"it needs Python {artefact.requires_python}, and this is {interpreter.version}"
        return (Obstacle(reason=needs),)
    return list_forbidding_dependants(version, interpreter, dependants)


def list_forbidding_dependants(
    version: str, interpreter: Interpreter, dependants: Sequence[Dependant]
) -> tuple[Obstacle, ...]:
    """List the installed distributions whose requirements a version violates; see `obstacles` for the arguments."""
    return tuple(
        Obstacle(dependant=each.name, reason=each.sentence)
        for each in dependants
        if _is_forbidden(each, version, interpreter)
    )


def _is_forbidden(dependant: Dependant, version: str, interpreter: Interpreter) -> bool:
    """Return whether a dependant forbids a version, by the version rules of its own ecosystem: conda or PEP 440."""
    if isinstance(dependant, CondaDependant):
        from fastinstall.model.conda_versions import meets_conda_spec  # needed only for conda packages

        return not meets_conda_spec(dependant.versions, version)
    parsed = _parse_requirement(dependant.requirement)
    if parsed is None:
        return False
    applies = parsed.marker is None or parsed.marker.evaluate(interpreter.markers)
    return applies and not parsed.specifier.contains(version, prereleases=True)

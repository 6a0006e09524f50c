"""Which change of Pillow's version may be advised: none that an installed distribution forbids. Pure.

Every hint and remedy that changes Pillow's version asks here how much is allowed, which version would help against
advisories, and what stands against it: the target's Python, an installed distribution, or a failed proof.
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
"""From which Pillow on which Python is required (Requires-Python in its metadata, 2026-11-22)."""
_BOUNDING = frozenset({"<", "<=", "==", "!=", "~=", "==="})
_FIXED_IN = re.compile(r"<(?!=)\s*(\d+(?:\.\d+)*)")


@immutable
class UpgradeForecast:
    """What a later Pillow does about advisories.

    Attributes:
        fixed: the earliest version that the fewest of them concern; empty if no later one is known to help.
        allowed: the same among those that the target's Python and its distributions take.
        keepers: who keeps `fixed` out ("gradio 5.49.1 requires pillow<13").
        python: the earliest Python that gets `fixed` ("3.11"); empty if the target's does.
    """

    fixed: str = ""
    allowed: str = ""
    keepers: tuple[str, ...] = ()
    python: str = ""

    @property
    def is_held(self) -> bool:
        """Whether a later version would help, and none that does is allowed."""
        return bool(self.fixed) and not self.allowed

    @property
    def sentences(self) -> tuple[str, ...]:
        """Who or what keeps the fixes out, and what gets them."""
        what = f"Pillow {self.fixed}"
        kept = f"{listing(self.keepers)}, which keeps {what} out; a later release of it may not"
        return (*((kept,) if self.keepers else ()), *((f"Python {self.python} gets {what}",) if self.python else ()))


def forecast_upgrade(
    affecting: Iterable[Advisory], version: str, interpreter: Interpreter, dependants: Sequence[Dependant]
) -> UpgradeForecast:
    """See which later version fewer advisories concern, and whether it may come.

    Args:
        affecting: the advisories that concern the version in question; those of libraries tell nothing here.
        version: of Pillow, or of a fork that follows it.
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
    """Advise what to do instead of accepting a vulnerable version; empty if nothing is known.

    Args:
        view: of the advisories that are the risk.
        recipe: that was asked for.
        usual: the recipe that takes the newest Pillow.
    """
    if view.allowed:
        return f"take today's Pillow: --recipe {usual}" if recipe != usual else ""
    return "; ".join(view.sentences) + (f": {environment_command(view.python)}" if view.python else "")


def environment_command(python: str) -> str:
    """Return the command that makes an environment with this Python."""
    return f"fastinstall setup --new-env ./fast-env --python python{python}"


def requirement(name: str, dependants: Iterable[Dependant], least: str = "") -> str:
    """Return what to ask an installer for, so that no dependant is left without what it requires: "pillow<13".

    Args:
        name: the name of the distribution.
        dependants: installed distributions that require it; a lower bound of theirs is met by the newest anyway.
        least: a version to ask for at least; empty for any.
    """
    parsed = filter(None, (_parse_requirement(each.requirement) for each in dependants))
    # Those that keep later versions out.
    clauses = {str(clause) for each in parsed for clause in each.specifier if clause.operator in _BOUNDING}
    return name + ",".join(([f">={least}"] if least and clauses else []) + sorted(clauses))


def _parse_requirement(text: str) -> "Requirement | None":
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (slow to import; only here)

    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _list_helping_versions(affecting: Sequence[Advisory], version: str) -> tuple[str, ...]:
    """List later versions that fewer advisories concern: the one with the fewest first, of those the earliest."""
    bounds = {bound for advisory in affecting for bound in _FIXED_IN.findall(advisory.affects)}
    left = {bound: sum(contains(advisory.affects, bound) for advisory in affecting) for bound in bounds}
    better = (
        bound
        for bound in bounds
        if left[bound] < len(affecting) and parse_version_number(bound) > parse_version_number(version)
    )
    return tuple(sorted(better, key=lambda bound: (left[bound], parse_version_number(bound))))


def _find_needed_python(version: str, interpreter: Interpreter) -> str:
    """Return the Python that a version needs; empty if the target's will do."""
    needed = [
        python for least, python in _LEAST_PYTHONS if parse_version_number(version) >= parse_version_number(least)
    ]
    return next((python for python in reversed(needed) if not contains(f">={python}", interpreter.version)), "")


OTHER_PYTHON = "use an environment with another Python: fastinstall setup --new-env ./fast-env --python python3"
OTHER_RECIPE = "try another recipe: fastinstall recipes list"


@immutable
class Obstacle:
    """Why a version cannot go into a target.

    Attributes:
        reason: a sentence for people.
        dependant: the installed distribution that forbids it, or None if something else does.
        remedy: what to do where no version fits and no distribution is to blame.
    """

    reason: str
    dependant: str | None = None
    remedy: str = OTHER_PYTHON


def obstacles(
    artefact: Artefact, version: str, interpreter: Interpreter, dependants: Sequence[Dependant]
) -> tuple[Obstacle, ...]:
    """Return everything that forbids a version; empty if nothing does.

    Args:
        artefact: its `requires_python` counts, classifiers do not.
        version: under which it would be installed, without a local label.
        dependants: installed distributions that require what is replaced.
    """
    python = artefact.requires_python
    # As pip has it, what cannot be read does not constrain.
    if python and is_specifier(python) and not contains(python, interpreter.version):
        needs = f"it needs Python {artefact.requires_python}, and this is {interpreter.version}"
        return (Obstacle(reason=needs),)
    return list_forbidding_dependants(version, interpreter, dependants)


def list_forbidding_dependants(
    version: str, interpreter: Interpreter, dependants: Sequence[Dependant]
) -> tuple[Obstacle, ...]:
    """List the installed distributions whose requirements a version does not meet; arguments as of `obstacles`."""
    return tuple(
        Obstacle(dependant=each.name, reason=each.sentence)
        for each in dependants
        if _is_forbidden(each, version, interpreter)
    )


def _is_forbidden(dependant: Dependant, version: str, interpreter: Interpreter) -> bool:
    """Judge by the order of versions that the dependant's own tool has."""
    if isinstance(dependant, CondaDependant):
        from fastinstall.model.conda_versions import meets_conda_spec  # noqa: PLC0415 (only where conda is)

        return not meets_conda_spec(dependant.versions, version)
    parsed = _parse_requirement(dependant.requirement)
    if parsed is None:
        return False
    applies = parsed.marker is None or parsed.marker.evaluate(interpreter.markers)
    return applies and not parsed.specifier.contains(version, prereleases=True)

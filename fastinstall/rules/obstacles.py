"""What stands between a version and a target: its Python, an installed distribution, or a failed proof. Pure."""

from collections.abc import Sequence

from fastinstall.model.artefact import Artefact
from fastinstall.model.facts import Dependant, Interpreter
from fastinstall.model.immutable import immutable

OTHER_PYTHON = "use an environment with another Python: fastinstall setup --new-env ./fast-env --python python3"
OTHER_RECIPE = "try another recipe: fastinstall recipes list"
NO_SDIST = f"see whether the index has it, or give --wheelhouse DIR with it in it; or {OTHER_RECIPE}"


@immutable
class Obstacle:
    """Why a version cannot go into a target.

    Attributes:
        reason: for people.
        dependant: the installed distribution that forbids it, or None if something else does.
        remedy: what to do where no version fits and no distribution is to blame.
    """

    reason: str
    dependant: str | None = None
    remedy: str = OTHER_PYTHON


def obstacles(
    artefact: Artefact, version: str, interpreter: Interpreter, dependants: Sequence[Dependant]
) -> tuple[Obstacle, ...]:
    """Everything that forbids a version; empty if nothing does.

    Args:
        artefact: its `requires_python` counts, classifiers do not.
        version: under which it would be installed, without a local label.
        interpreter: the target's Python.
        dependants: installed distributions that require what is replaced.
    """
    if not _admits(artefact.requires_python, interpreter.version):
        needs = f"it needs Python {artefact.requires_python}, and this is {interpreter.version}"
        return (Obstacle(reason=needs),)
    return forbidding(version, interpreter, dependants)


def forbidding(version: str, interpreter: Interpreter, dependants: Sequence[Dependant]) -> tuple[Obstacle, ...]:
    """The installed distributions whose requirements a version does not meet; arguments as of `obstacles`."""
    return tuple(
        Obstacle(dependant=each.name, reason=each.sentence)
        for each in dependants
        if _forbids(each.requirement, version, interpreter)
    )


def _admits(specifier: str, version: str) -> bool:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 (slow to import; only here)

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidSpecifier:  # as pip has it: what cannot be read does not constrain
        return True


def _forbids(requirement: str, version: str, interpreter: Interpreter) -> bool:
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (slow to import; only here)

    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return False
    if parsed.marker is not None and not parsed.marker.evaluate(_marker_environment(interpreter)):
        return False
    return not parsed.specifier.contains(version, prereleases=True)


def _marker_environment(interpreter: Interpreter) -> dict[str, str]:
    return {
        "extra": "",
        "implementation_name": interpreter.implementation,
        "python_full_version": interpreter.version,
        "python_version": ".".join(interpreter.version.split(".")[:2]),
    }

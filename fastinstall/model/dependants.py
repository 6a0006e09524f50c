"""What is installed and accepts only some versions of Pillow: distributions, conda's packages, and pins. Pure.

Conda's pins are lines of `conda-meta/pinned`; ours keeps the stack to our builds.
"""

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.conda_packages import is_our_package
from fastinstall.model.facts import Dependant, Facts
from fastinstall.model.match_specs import build_asked, name_of_spec, version_asked
from fastinstall.model.recipe import PROVIDERS
from fastinstall.model.request import Request

PINS = "conda-meta/pinned"
"""Relative to the prefix: match specs that conda's solvers obey."""


def pin_line(package: CondaPackage) -> str:
    """Return the line of `conda-meta/pinned` that keeps a stack to our builds ("pillow * simd_*")."""
    return f"{package.name} * {package.build.partition('_')[0]}_*"


def is_pinned(conda: Conda, package: CondaPackage) -> bool:
    """Return whether a pin keeps a stack to our builds, in any spelling."""
    return build_asked(pin_line(package)) in map(build_asked, conda.pins)


def refuse_contrary_pins(facts: Facts, package: CondaPackage, request: Request) -> None:
    """Raise if a pin requires another build than the package's, or if ours would be the second pin.

    Raises:
        RefusedError: names the line.
    """
    conda, file = facts.conda, facts.environment.prefix / PINS
    others = [pin for pin in conda.pins if name_of_spec(pin) == package.name] if conda is not None else []
    for pin in others:
        build = build_asked(pin)[1]
        if not build.startswith("^") and not fnmatchcase(package.build, build):
            raise RefusedError(
                f"{file} pins {package.name} to other builds: {pin!r}",
                hint=f"remove that line from {quote(file)}; --pin adds one for this build",
            )
    if request.pin and others and conda is not None and not is_pinned(conda, package):
        raise RefusedError(
            f"--pin: {file} already pins {package.name}: {others[0]!r}; two pins may conflict",
            hint=f"remove that line from {quote(file)}, or omit --pin",
        )


def conda_dependants(conda: Conda, names: Collection[str]) -> tuple[Dependant, ...]:
    """Return installed conda packages, and pins, that only accept some versions.

    Args:
        conda: the environment's packages and pins.
        names: of the packages that provide PIL.

    Returns:
        One for each spec that restricts the version; a pin is a dependant named after its file.
    """
    found = [(PINS, "", spec) for spec in conda.pins]
    for package in conda.packages:
        if not is_our_package(package) and package.name not in names:
            found += [(package.name, package.version, spec) for spec in (*package.depends, *package.constrains)]
    asked = ((name, version, *version_asked(spec)) for name, version, spec in found)
    return tuple(
        Dependant(name=name, requirement=f"{wanted}{specifier}", version=version)
        for name, version, wanted, specifier in dict.fromkeys(asked)
        if wanted in names and specifier
    )


def all_dependants(python: Iterable[Dependant], conda: Iterable[Dependant]) -> tuple[Dependant, ...]:
    """Return the dependants among Python's distributions and conda's packages; duplicates are listed once."""
    found: dict[tuple[str, frozenset[str]], Dependant] = {}
    for each in (*python, *conda):
        asked = frozenset(re.split(r"(?=[<>=!~])(?<![<>=!~])|,", each.requirement.replace(" ", "")))
        found.setdefault((each.name, asked), each)
    return tuple(found.values())


def dependants_of(facts: Facts) -> tuple[Dependant, ...]:
    """Return everything installed in an environment that only accepts some versions of Pillow."""
    if facts.conda is None:
        return facts.stack.dependants
    return all_dependants(facts.stack.dependants, conda_dependants(facts.conda, PROVIDERS))

"""What is installed and accepts only some versions of Pillow: distributions, conda's packages, and pins. Pure."""

import re
from collections.abc import Collection, Iterable

from fastinstall.model.conda import Conda
from fastinstall.model.conda_packages import is_our_package
from fastinstall.model.conda_pins import PINS
from fastinstall.model.facts import Dependant, Facts
from fastinstall.model.match_specs import version_asked
from fastinstall.model.recipe import PROVIDERS


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

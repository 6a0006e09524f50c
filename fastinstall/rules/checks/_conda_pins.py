"""Pins of a conda environment that what is installed contradicts, for the check of conda's records."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.rules.conda_dependants import build_asked, version_asked
from fastinstall.rules.ranges import contains, is_specifier, is_version


def contradicted(conda: Conda) -> Iterator[tuple[str, CondaPackage]]:
    """Give the pins that an installed package is not what they ask for; one that cannot be judged counts as kept."""
    for pin in conda.pins:
        name, specifier = version_asked(pin)
        package = conda.named(name)
        if package is not None and not (_has_version(package, specifier) and _has_build(package, pin)):
            yield pin, package


def _has_version(package: CondaPackage, specifier: str) -> bool:
    if not specifier or not is_version(package.version) or not is_specifier(specifier):
        return True
    return contains(specifier, package.version)


def _has_build(package: CondaPackage, pin: str) -> bool:
    _, build = build_asked(pin)
    return build.startswith("^") or fnmatchcase(package.build, build)

"""Pins of a conda environment against the package that is to come: those that would keep it out. Pure."""

from fnmatch import fnmatchcase

from fastinstall.errors import RefusedError
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.facts import Facts
from fastinstall.model.wish import Wish
from fastinstall.rules.conda_dependants import PINS, build_asked
from fastinstall.rules.messages import quote


def pin_line(package: CondaPackage) -> str:
    """The line of `conda-meta/pinned` that keeps a stack to builds of ours ("pillow * simd_*")."""
    return f"{package.name} * {package.build.partition('_')[0]}_*"


def is_pinned(conda: Conda, package: CondaPackage) -> bool:
    """Whether a pin keeps a stack to builds of ours, however it is spelt."""
    return build_asked(pin_line(package)) in map(build_asked, conda.pins)


def refuse_contrary_pins(facts: Facts, package: CondaPackage, wish: Wish) -> None:
    """Raise where a pin asks for another build than the package's, or where ours would be the second one.

    Raises:
        RefusedError: names the line.
    """
    conda, file = facts.conda, facts.environment.prefix / PINS
    others = [pin for pin in conda.pins if build_asked(pin)[0] == package.name] if conda is not None else []
    for pin in others:
        _, build = build_asked(pin)
        if not build.startswith("^") and not fnmatchcase(package.build, build):
            raise RefusedError(
                f"{file} keeps {package.name} to other builds: {pin!r}",
                hint=f"take that line out of {quote(file)}; --pin puts one there that keeps this build",
            )
    if wish.pin and others and conda is not None and not is_pinned(conda, package):
        raise RefusedError(
            f"--pin: {file} pins {package.name} already: {others[0]!r}, and two pins may exclude each other",
            hint=f"take that line out of {quote(file)}, or go without --pin",
        )

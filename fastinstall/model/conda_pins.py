"""Lines of conda-meta/pinned that keep the stack to our builds, or out. Pure."""

from fnmatch import fnmatchcase

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.facts import Facts
from fastinstall.model.match_specs import build_asked, name_of_spec
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

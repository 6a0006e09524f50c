"""Why a host is left out of a fleet: nothing can be built for it, or nobody knows what it is. Pure."""

from collections.abc import Iterable

from fastinstall.errors import RefusedError
from fastinstall.model.fleet import Cause, FleetHost, LeftOut, Machine
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import Wish
from fastinstall.rules.choose import best_level, in_order, lacking
from fastinstall.rules.messages import listing
from fastinstall.rules.obstacles import OTHER_RECIPE
from fastinstall.rules.ranges import contains
from fastinstall.rules.wishes import asked_levels

_MACHINE = "x86_64"
_STOCK = "keep stock Pillow there: python -m pip install pillow"
DAY = 86400.0
_SHOWN = 3

Verdict = tuple[Cause, str, str]
"""Why, in a word and in a sentence, and what to do about it."""


def machine_verdict(machine: Machine, recipe: Recipe, wish: Wish) -> Verdict | None:
    """Explain why nothing is built for a machine, or return None if something is.

    The architecture comes first, because a level says nothing on another.
    """
    for judge in (_architecture, _implementation, _libc):
        found = judge(machine)
        if found is not None:
            return found
    return _python(machine, recipe) or _cpu(machine, recipe, wish)


def host_verdict(host: FleetHost, now: float, max_age: float | None) -> Verdict | None:
    """Why a host is left out whatever its machine could take.

    Args:
        host: by its document.
        now: in seconds since the epoch.
        max_age: days that a document may be old; None for any age.
    """
    days = (now - host.seen) / DAY
    if max_age is not None and days > max_age:
        told = f"its facts are {days:.0f} days old, and {max_age:g} were allowed"
        return Cause.STALE, told, "write them again on that host: fastinstall inspect --json > HOST.json"
    if host.protected:
        hint = "clone the environment or make one of your own there, and write its facts: fastinstall inspect --json"
        return Cause.PROTECTED, host.protected, hint
    return None


def duplicates(hosts: Iterable[FleetHost]) -> dict[str, LeftOut]:
    """The hosts whose name several documents bear, by name: nobody knows which of them speaks of it."""
    files: dict[str, list[str]] = {}
    for host in hosts:
        files.setdefault(host.name, []).append(host.file)
    return {name: _duplicate(name, sorted(found)) for name, found in files.items() if len(found) > 1}


def _duplicate(name: str, files: list[str]) -> LeftOut:
    told = listing([*files[:_SHOWN], f"{len(files) - _SHOWN} more"] if len(files) > _SHOWN else files)
    hint = f"keep the one that speaks of {name}, or give each a name of its own"
    return LeftOut(host=name, cause=Cause.DUPLICATE, reason=f"{len(files)} documents bear its name: {told}", hint=hint)


def _architecture(machine: Machine) -> Verdict | None:
    found = next((each for each in (machine.cpu.architecture, machine.architecture) if each != _MACHINE), None)
    if found is None:
        return None
    hint = f"{_STOCK}; its libjpeg-turbo has SIMD code for other architectures too (NEON on Arm)"
    return Cause.ARCHITECTURE, f"it is {found or 'of unknown architecture'}, and wheels are built for x86-64 only", hint


def _implementation(machine: Machine) -> Verdict | None:
    if machine.implementation == "cpython":
        return None
    return Cause.IMPLEMENTATION, f"its Python is {machine.implementation}: the core is built for CPython only", _STOCK


def _libc(machine: Machine) -> Verdict | None:
    if machine.libc == "glibc":
        return None
    hint = "build on a machine of that kind: fastinstall build -o DIR"
    return Cause.LIBC, f"its C library is {machine.libc or 'unknown'}: what is built here runs with glibc", hint


def _python(machine: Machine, recipe: Recipe) -> Verdict | None:
    pythons = recipe.source.pythons
    if not pythons or contains(pythons, machine.python):
        return None
    hint = f"give it a later Python, or {OTHER_RECIPE}"
    return Cause.PYTHON, f"{recipe.name} is for Python {pythons}, and it has {machine.python}", hint


def _cpu(machine: Machine, recipe: Recipe, wish: Wish) -> Verdict | None:
    asked = asked_levels(wish)
    if not asked:
        try:
            best_level(recipe, machine.cpu)
        except RefusedError as error:
            return Cause.CPU, error.message, _STOCK
        return None
    least = in_order(recipe, asked)[0]
    missing = lacking(least, machine.cpu)
    if not missing:
        return None
    told = f"{machine.cpu.name or 'its CPU'} lacks {listing(missing)} for {least.name}, the least that was asked for"
    return Cause.CPU, told, f"ask for a lower level too, or leave the choice to us: --level auto; or {_STOCK}"

"""What can be carried to another machine: the wish without this machine, and why some wishes cannot. Pure."""

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import PurePath

from fastinstall.errors import RefusedError, UsageError
from fastinstall.model.conda import Engine
from fastinstall.model.facts import Interpreter
from fastinstall.model.plan import Hazard
from fastinstall.model.recipe import Recipe
from fastinstall.model.wish import LinkMode, ToolchainSource, Wish
from fastinstall.rules.choose import in_order
from fastinstall.rules.hazards import consent_hint
from fastinstall.rules.levels import LEVELS
from fastinstall.rules.messages import quote
from fastinstall.rules.wishes import asked_levels

PREFIX = PurePath("/opt/fast-env")
"""Where the environment lies unless --new-env or --prefix says otherwise."""

_PLAIN = re.compile(r"[\w./+-]+", re.ASCII)
_COMPILER = ("gcc", "libc6-dev")
_OLDEST = (3, 11)
_LATEST_PATCH = 99
_LIBC = "2.36"


class Form(StrEnum):
    """What a plan is exported as."""

    SH = "sh"
    DOCKERFILE = "dockerfile"


def portable(recipe: Recipe, wish: Wish) -> Wish:
    """The wish for a machine that is not this one: levels for every CPU, and nothing that is here alone."""
    named = asked_levels(wish)
    level = "auto" if len(named) != 1 else named[0]
    levels = named if len(named) > 1 else () if named else _usual_levels(recipe)
    return replace(wish, level=level, levels=levels, wheelhouse=None, offline=False, upgrade=False, avoid=())


def refuse_unportable(wish: Wish, form: Form) -> None:
    """Raise where a wish is tied to this machine, or to what such a file does not make.

    Raises:
        RefusedError: names the flag.
    """
    if wish.link is not LinkMode.BUNDLE:
        raise RefusedError(
            f"--link {wish.link}: ties the wheel to the libraries of one machine, and cannot be exported",
            hint="leave it out: the libraries then come with the wheel",
        )
    if wish.engine in (Engine.CONDA, Engine.RATTLER) or wish.channels or wish.toolchain is ToolchainSource.CONDA:
        raise _no_conda("conda packages cannot be exported as a script or an image's file")
    if wish.offline and wish.wheelhouse is None:
        raise RefusedError(
            "--offline without --wheelhouse: the other machine has nothing to take the stack from",
            hint="fastinstall build -o DIR --with-tool; then --wheelhouse DIR",
        )
    if form is Form.DOCKERFILE and "native" in asked_levels(wish):
        raise RefusedError(
            "--level native: an image runs on other machines than the one that builds it",
            hint="name levels: --levels x86-64-v2,x86-64-v3",
        )


def refuse_conda(prefix: PurePath) -> None:
    """Refuse a conda environment as what is exported.

    Raises:
        RefusedError: always.
    """
    raise _no_conda(f"{prefix} is a conda environment, which cannot be exported as a script or an image's file")


def refuse_python(minor: str, form: Form) -> None:
    """Raise where the one Python of an image could not run fastinstall.

    Raises:
        RefusedError: it is older than 3.11.
    """
    if form is Form.DOCKERFILE and tuple(map(int, minor.split("."))) < _OLDEST:
        raise RefusedError(
            f"the image's Python would be {minor}, and fastinstall runs on 3.11 or later",
            hint="--python python3.12; or build a wheel here, and let the image's pip install it: "
            f"fastinstall build -o DIR --python python{minor}",
        )


def refuse_place(path: PurePath, form: Form) -> None:
    """Raise where a path cannot stand in such a file.

    Raises:
        UsageError: it is relative, and nothing there says to what; or has characters that do not belong into it.
    """
    if not path.is_absolute():
        raise UsageError(f"{path}: has to be absolute on the other machine", hint=f"for example {quote(PREFIX)}")
    if not str(path).isprintable() or (form is Form.DOCKERFILE and not _PLAIN.fullmatch(str(path))):
        raise UsageError(f"{quote(path)}: cannot stand in a {form}", hint=f"a plain path, for example {quote(PREFIX)}")


def refuse_risks(hazards: Iterable[Hazard], wish: Wish) -> None:
    """Raise where the other machine would refuse: nobody is there to accept a risk.

    Raises:
        RefusedError: names each.
    """
    risks = tuple(hazard for hazard in hazards if not hazard.allowed)
    if risks:
        raise RefusedError(
            "; ".join(hazard.summary for hazard in risks),
            hint=consent_hint(risks, wish.allow),
            details=tuple(item for hazard in risks for item in hazard.items[:6]),
        )


def system_packages(recipe: Recipe, wish: Wish) -> tuple[str, ...]:
    """Debian's packages that compiling the core takes; Python's headers come with Python."""
    wanted = (
        library
        for name, library in recipe.libraries.items()
        if library.core and not library.static and (library.in_wheels or library.required or name in wish.require)
    )
    return tuple(dict.fromkeys((*_COMPILER, *(package for library in wanted for package in library.apt))))


def foreign_python(minor: str) -> Interpreter:
    """CPython of a minor version as it is on the other machine: the latest patch, with headers and glibc."""
    digits = minor.replace(".", "")
    prefix = PurePath("/usr/local")
    return Interpreter(
        executable=PurePath(f"python{minor}"),
        implementation="cpython",
        version=f"{minor}.{_LATEST_PATCH}",
        abi=f"cp{digits}",
        platform="linux-x86_64",
        libc="glibc",
        libc_version=_LIBC,
        free_threaded=False,
        extension_suffix=f".cpython-{digits}-x86_64-linux-gnu.so",
        prefix=prefix,
        base_prefix=prefix,
        site_packages=prefix / f"lib/python{minor}/site-packages",
        include=prefix / f"include/python{minor}",
        has_headers=True,
    )


def _usual_levels(recipe: Recipe) -> tuple[str, ...]:
    names = [level.name for level in recipe.levels if level.automatic and level.name in LEVELS]
    return tuple(level.name for level in in_order(recipe, names))


def _no_conda(message: str) -> RefusedError:
    return RefusedError(
        message,
        hint="name a Python instead: --python python3.12; "
        "or make conda packages: fastinstall build --format conda -o DIR",
    )

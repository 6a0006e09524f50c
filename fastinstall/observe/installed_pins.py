"""The pins of fastinstall in an environment, and the line that keeps conda's solvers from replacing the stack.

Observing reads a few tiny files and runs no tool. The project's pin is included: a change to it that was interrupted is
noticed here, and finished by recovery. Deciding where a pin is possible goes from facts to a refusal. Pins for pip are
not described here.

A pin is made only on request, because it holds back whatever would replace the stack, even a Pillow that fixes a
vulnerability. Which solver obeys it, and when, stands in docs/how-to/pin.md.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.core.parsing import json_data
from fastinstall.journal.layout import PROJECT, RECEIPT
from fastinstall.model.conda import Conda
from fastinstall.model.conda_packages import is_ours, name_of, pin_line
from fastinstall.model.facts import Facts, PinKind, PinState
from fastinstall.model.history import Interruption
from fastinstall.model.recipe import PROVIDERS
from fastinstall.model.request import EnvironmentKind
from fastinstall.observe.pip_pins import (
    CONFIGURATION,
    CONSTRAINT,
    CONSTRAINTS,
    DIRECTORY,
    LINKS,
    WHEELS,
    constraint_in,
    read_pinned_settings,
    requirement_of,
    settings,
)
from fastinstall.observe.session import Session
from fastinstall.pins.recognition import find_project_directory, observe_project_pin, read_noted_project


def observe_pins(prefix: Path, conda: Conda | None = None) -> tuple[PinState, ...]:
    """The pins of an environment and of the project that it is noted to belong to (0.1 ms).

    Args:
        prefix: of the environment.
        conda: what conda knows of it, or None if it is not a conda environment.
    """
    line = pin_in("\n".join(conda.pins)) if conda is not None else ""
    of_conda = (PinState(kind=PinKind.CONDA, file=prefix / PINNED, requirement=line),) if line else ()
    return (*_read_pip_pin(prefix), *of_conda, *observe_project_pin(prefix))


def _read_pip_pin(prefix: Path) -> Iterator[PinState]:
    said = read_pinned_settings(foreign.bytes_or_empty(prefix / CONFIGURATION))
    if not said and not (prefix / DIRECTORY).is_dir():
        return
    requirement = constraint_in(foreign.text_or_empty(prefix / CONSTRAINTS))
    problems = tuple(filter(None, (_find_wrong_lines(prefix, said), *_find_wrong_files(prefix, requirement))))
    yield PinState(kind=PinKind.PIP, file=prefix / CONFIGURATION, requirement=requirement, problems=problems)


def _find_wrong_lines(prefix: Path, said: dict[str, str]) -> str:
    file, ours = prefix / CONFIGURATION, settings(prefix)
    elsewhere = said.get(CONSTRAINT, "")
    if not said:
        return f"{file} does not have its lines any more, so pip does not obey it"
    if elsewhere == ours[CONSTRAINT] and ours[LINKS] in said.get(LINKS, "").split():
        return ""
    if elsewhere.endswith(f"/{CONSTRAINTS}"):
        return f"{file} names {elsewhere}: the environment was moved or copied, and pip looks there"
    return f"its lines in {file} were altered"


def _find_wrong_files(prefix: Path, requirement: str) -> Iterator[str]:
    """What is wrong with constraints and wheel; a file may say anything, so what it says makes no pattern."""
    name, _, version = requirement.partition("==")
    wheel = f"{name.replace('-', '_')}-{version}-"
    wheels = foreign.list_names(prefix / WHEELS)
    if not version:
        yield f"{prefix / CONSTRAINTS} is gone or altered"
    elif not any(each.startswith(wheel) and each.endswith(".whl") for each in wheels):
        yield f"the wheel of {requirement} is gone from {prefix / WHEELS}"
    with suppress(ValueError, KeyError, TypeError):  # whoever reads the receipt whole says what is wrong with it
        receipt = json_data(foreign.bytes_or_empty(prefix / RECEIPT))
        installed = requirement_of(receipt["distribution"], receipt["version"])
        if requirement and requirement != installed:
            yield f"it holds to {requirement}, and {installed} was installed"


PINNED = "conda-meta/pinned"
"""The file that conda, mamba and micromamba read, relative to the prefix: one match spec a line."""

PIN = "pillow * simd_*"
"""Our line, for a stack of the usual name and label. So spelt, every solver reads it: py-rattler refuses the spelling
"pillow *=simd_*". It bears no comment and has no blank line beside it, because mamba and micromamba stumble over both
(https://github.com/mamba-org/mamba/issues/3374); it is known by its spelling."""

NAME = "pillow"
"""Of the distribution that can be pinned: it is what others require, so a constraint on another name holds nothing."""

HOLDS_BACK = "the pin holds back every other Pillow, security updates too"

_OURS = re.compile(rf"(?:{'|'.join(PROVIDERS)}) \* [a-z]+_\*")


def add_pin_line(existing: str, line: str = PIN) -> str:
    """What the file `PINNED` says with our pin at its end; unchanged where it is there.

    Args:
        existing: what the file says; empty if there is none.
        line: of `conda_pins.pin_line`.
    """
    if pin_in(existing):
        return existing
    kept = existing if existing.endswith("\n") or not existing else f"{existing}\n"
    return f"{kept}{line}\n"


def remove_pin_line(existing: str) -> str:
    """What the file says without our pin; every other byte of it stays."""
    return "".join(line for line in existing.splitlines(keepends=True) if not _OURS.fullmatch(line.strip()))


def pin_in(existing: str) -> str:
    """Return our pin from the lines, or "" if it is not there."""
    return next((line.strip() for line in existing.splitlines() if _OURS.fullmatch(line.strip())), "")


def refuse_unpinnable(facts: Facts) -> None:
    """Raise if a pin would do nothing, or would leave a solver without a way out.

    Args:
        facts: of an environment in which the stack is in place.

    Raises:
        RefusedError: neither a conda nor a virtual environment; a conda environment of pixi's, which reads no pins;
            the stack is no conda package there, or no wheel named pillow elsewhere; or somebody else's pin of Pillow
            is there.
    """
    prefix, conda = facts.environment.prefix, facts.conda
    if facts.environment.kind is EnvironmentKind.VENV:
        # a constraint on pillow holds a distribution of that name, and the wheel has to be ours, or pip finds none
        owners = [owner.distribution for owner in facts.stack.owners]
        if len(owners) != 1 or owners[0].name != NAME or "+" not in owners[0].version:
            told = listing(f"{owner.name} {owner.version}" for owner in owners) or "nothing"
            raise RefusedError(
                f"{prefix}: PIL belongs to {told}: only a build of ours that is named pillow can be pinned",
                hint=f"fastinstall setup --pin --dist-name {NAME} --prefix {quote(prefix)}",
            )
        return
    if facts.environment.kind is not EnvironmentKind.CONDA or conda is None:
        raise RefusedError(
            f"{prefix} is neither a virtual nor a conda environment: what is not ours to change cannot be pinned",
            hint="make one: fastinstall setup --pin --new-env ./fast-env",
        )
    if is_of_pixi(prefix):
        raise RefusedError(
            f"{prefix} is made by pixi, which reads no {PINNED}: the pin belongs into pixi.toml",
            hint="make a channel of the build that outlives the environment, and add these lines: "
            "fastinstall build --format conda -o ./channel",
            details=pixi_lines("file:///path/of/the/channel"),
        )
    _refuse_unsatisfiable(prefix, conda)


def is_of_pixi(prefix: PurePath) -> bool:
    """Whether pixi makes the environment, and makes it again from its own files."""
    return ".pixi" in prefix.parts


def pixi_lines(channel: str, line: str = PIN) -> tuple[str, ...]:
    """What goes into pixi.toml, where pixi makes the environment.

    Args:
        channel: URL of a channel that has the package; it outlives the environment.
        line: of `conda_pins.pin_line`.
    """
    name, version, build = line.split()
    return (
        f'channels = ["{channel}", "conda-forge"]',
        "[dependencies]",
        f'{name} = {{ version = "{version}", build = "{build}" }}',
    )


def environment_lines(channel: str, line: str = PIN) -> tuple[str, ...]:
    """What goes into environment.yml, where environments are made of one; arguments as of `pixi_lines`."""
    return ("channels:", f"  - {channel}", "  - conda-forge", "dependencies:", f"  - {'='.join(line.split())}")


def _refuse_unsatisfiable(prefix: PurePath, conda: Conda) -> None:
    ours = (package for package in conda.packages if is_ours(package))
    stack = next((package for package in ours if _OURS.fullmatch(pin_line(package))), None)
    if stack is None:
        pillow = conda.named("pillow")
        there = f"{pillow.version} {pillow.build}" if pillow is not None else "none"
        raise RefusedError(
            f"{prefix}: conda's pillow is {there}, which the pin would forbid: "
            "only a stack that is a conda package can be pinned",
            hint=f"fastinstall setup --pin --prefix {quote(prefix)}",
        )
    others = [line for line in conda.pins if name_of(line) == stack.name and not pin_in(line)]
    if others:
        raise RefusedError(
            f"{prefix}/{PINNED} pins {stack.name} already: {others[0]!r}, and two pins may exclude each other",
            hint=f"take that line out of {quote(f'{prefix}/{PINNED}')}, or go without --pin",
        )


_HOME = ".fastinstall"
_REACH = 3
"""So far above an environment lies the project that holds it: PROJECT/.venv, PROJECT/.pixi/envs/NAME."""


def pin_interruptions(session: Session, prefix: Path) -> Iterator[Interruption]:
    """Such changes, in the project that an environment lies in or is noted to be pinned in.

    Args:
        session: the outside world.
        prefix: of the environment.
    """
    near = any((parent / _HOME).is_dir() for parent in prefix.parents[:_REACH])
    if not near and not (prefix / PROJECT).is_file():
        return
    from fastinstall.pins.project_files import interruption_of  # noqa: PLC0415 (doctor rarely needs it)

    for directory in dict.fromkeys((find_project_directory(prefix), read_noted_project(prefix))):
        interruption = interruption_of(directory, session.begun_pins) if directory is not None else None
        if interruption is not None:
            yield interruption

"""Pins of ours as they lie in an environment: a few tiny files, none of them run or resolved."""

import os
from collections.abc import Iterator
from pathlib import Path

from fastinstall.journal.layout import RECEIPT
from fastinstall.model.conda import Conda
from fastinstall.model.parsing import json_data
from fastinstall.model.pins import PinKind, PinState
from fastinstall.pins.state import observe_project_pin
from fastinstall.rules.pip_pins import (
    CONFIGURATION,
    CONSTRAINT,
    CONSTRAINTS,
    DIRECTORY,
    LINKS,
    WHEELS,
    constraint_in,
    pinned_settings,
    requirement_of,
    settings,
)
from fastinstall.system import foreign


def observe_pins(prefix: Path, conda: Conda | None = None) -> tuple[PinState, ...]:
    """The pins of an environment and of the project that it is noted to belong to (0.1 ms).

    Args:
        prefix: of the environment.
        conda: what conda knows of it, or None if it is not a conda environment.
    """
    return (*_of_pip(prefix), *_of_conda(prefix, conda), *observe_project_pin(prefix))


def _of_conda(prefix: Path, conda: Conda | None) -> Iterator[PinState]:
    if conda is None:
        return
    from fastinstall.rules.pins import PINNED, pin_in  # noqa: PLC0415 (6 ms, only in conda environments)

    line = pin_in("\n".join(conda.pins))
    if line:
        yield PinState(kind=PinKind.CONDA, file=prefix / PINNED, requirement=line)


def _of_pip(prefix: Path) -> Iterator[PinState]:
    said = pinned_settings(_read(prefix / CONFIGURATION))
    if not said and not (prefix / DIRECTORY).is_dir():
        return
    requirement = _requirement(prefix)
    problems = (*_wrong_lines(prefix, said), *_wrong_files(prefix, requirement), *_other_build(prefix, requirement))
    yield PinState(kind=PinKind.PIP, file=prefix / CONFIGURATION, requirement=requirement, problems=problems)


def _requirement(prefix: Path) -> str:
    return constraint_in(_read(prefix / CONSTRAINTS).decode("utf-8", "replace"))


def _wrong_lines(prefix: Path, said: dict[str, str]) -> Iterator[str]:
    if not said:
        yield f"{prefix / CONFIGURATION} does not have its lines any more, so pip does not obey it"
        return
    ours = settings(prefix)
    links = said.get(LINKS, "").split()
    if said.get(CONSTRAINT) == ours[CONSTRAINT] and ours[LINKS] in links:
        return
    elsewhere = said.get(CONSTRAINT, "")
    if elsewhere.endswith(f"/{CONSTRAINTS}"):
        yield f"{prefix / CONFIGURATION} names {elsewhere}: the environment was moved or copied, and pip looks there"
    else:
        yield f"its lines in {prefix / CONFIGURATION} were altered"


def _wrong_files(prefix: Path, requirement: str) -> Iterator[str]:
    name, _, version = requirement.partition("==")
    if not version:
        yield f"{prefix / CONSTRAINTS} is gone or altered"
    elif not _has_wheel(prefix / WHEELS, f"{name.replace('-', '_')}-{version}-"):
        yield f"the wheel of {requirement} is gone from {prefix / WHEELS}"


def _has_wheel(directory: Path, beginning: str) -> bool:
    """Whether a wheel of that name and version lies there; a file may say anything, so it makes no pattern."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 (names are what is compared)
    except OSError:
        return False
    return any(name.startswith(beginning) and name.endswith(".whl") for name in names)


def _other_build(prefix: Path, requirement: str) -> Iterator[str]:
    try:
        receipt = json_data(_read(prefix / RECEIPT))
        installed = requirement_of(receipt["distribution"], receipt["version"])
    except (ValueError, KeyError, TypeError):
        return  # whoever reads the receipt whole says what is wrong with it
    if requirement and requirement != installed:
        yield f"it holds to {requirement}, and {installed} was installed"


def _read(file: Path) -> bytes:
    try:
        return foreign.read_bytes(file)
    except OSError:
        return b""

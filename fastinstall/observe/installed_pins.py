"""Observe fastinstall's pins in an environment; add or remove the line that makes conda's solvers keep the stack.

Observing reads a few small files and runs no program. The pin in the environment's project is observed too.
`refuse_unpinnable` decides from facts whether a pin is possible. The texts of pins for pip are in `pip_pins`.

A pin is set only on request, because it blocks every replacement of the stack, even a Pillow that fixes a
vulnerability. docs/how-to/pin.md describes which solvers obey a pin, and when.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.core.parsing import json_data
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.conda import Conda
from fastinstall.model.conda_packages import is_our_package
from fastinstall.model.dependants import PINS, name_of_spec, pin_line
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.guards import PinKind, PinState
from fastinstall.model.recipe import PROVIDERS
from fastinstall.observe import pip_pins
from fastinstall.pins.recognition import read_project_pin


def observe_pins(prefix: Path, conda: Conda | None = None) -> tuple[PinState, ...]:
    """Return the pins of an environment and of its project; takes about 0.1 ms.

    Args:
        prefix: the environment.
        conda: conda's facts about the environment; None if it is not a conda environment.
    """
    line = pin_in("\n".join(conda.pins)) if conda is not None else ""
    of_conda = (PinState(kind=PinKind.CONDA, file=prefix / PINS, requirement=line),) if line else ()
    of_project = read_project_pin(prefix)
    return (*_read_pip_pin(prefix), *of_conda, *((of_project,) if of_project is not None else ()))


def _read_pip_pin(prefix: Path) -> Iterator[PinState]:
    content = foreign.bytes_or_empty(prefix / pip_pins.CONFIGURATION)
    said = pip_pins.read_pinned_settings(content)
    if not said and not (prefix / pip_pins.DIRECTORY).is_dir():
        return
    requirement = pip_pins.constraint_in(foreign.text_or_empty(prefix / pip_pins.CONSTRAINTS))
    problems = tuple(filter(None, (_find_wrong_lines(prefix, content, said), *_find_wrong_files(prefix, requirement))))
    yield PinState(kind=PinKind.PIP, file=prefix / pip_pins.CONFIGURATION, requirement=requirement, problems=problems)


def _find_wrong_lines(prefix: Path, content: bytes, said: dict[str, str]) -> str:
    file, ours = prefix / pip_pins.CONFIGURATION, pip_pins.settings(prefix)
    elsewhere = said.get(pip_pins.CONSTRAINT, "")
    if not said:
        return f"{file} no longer contains the pin, so pip ignores it"
    if elsewhere == ours[pip_pins.CONSTRAINT] and ours[pip_pins.LINKS] in said.get(pip_pins.LINKS, "").split():
        return _find_unheeded_lines(prefix, content, said)
    if elsewhere.endswith(f"/{pip_pins.CONSTRAINTS}"):
        return f"{file} names {elsewhere}, where pip looks: the environment was moved or copied"
    return f"its lines in {file} were altered"


def _find_unheeded_lines(prefix: Path, content: bytes, said: dict[str, str]) -> str:
    file = prefix / pip_pins.CONFIGURATION
    try:
        heeded = pip_pins.is_heeded(content, said, file)
    except RefusedError as error:
        return error.message
    return "" if heeded else f"its lines in {file} are not in section [{pip_pins.SECTION}], so pip ignores them"


def _find_wrong_files(prefix: Path, requirement: str) -> Iterator[str]:
    """Yield problems of a pin's constraints file and wheel.

    The constraints file may contain anything. Therefore its text is compared, and never used as a glob pattern.
    """
    name, _, version = requirement.partition("==")
    wheel = f"{name.replace('-', '_')}-{version}-"
    wheels = foreign.list_names(prefix / pip_pins.WHEELS)
    if not version:
        yield f"{prefix / pip_pins.CONSTRAINTS} is missing or altered"
    elif not any(each.startswith(wheel) and each.endswith(".whl") for each in wheels):
        yield f"the wheel of {requirement} is missing from {prefix / pip_pins.WHEELS}"
    with suppress(ValueError, KeyError, TypeError):  # the journal's reader reports a malformed receipt
        receipt = json_data(foreign.bytes_or_empty(prefix / RECEIPT))
        installed = pip_pins.requirement_of(receipt["distribution"], receipt["version"])
        if requirement and requirement != installed:
            yield f"it pins {requirement}, but {installed} was installed"


PIN = "pillow * simd_*"
"""The pin's line in the file `PINS`, for a stack with the usual name and label. Every solver reads this spelling;
py-rattler refuses "pillow *=simd_*". No comment or blank line is added to the file, because mamba and micromamba fail
on both (https://github.com/mamba-org/mamba/issues/3374). The line is recognised by its spelling."""

NAME = "pillow"
"""The only distribution name that can be pinned: other packages require pillow, and no package requires other names."""

HOLDS_BACK = "the pin holds back every other Pillow, including security updates"

_OURS = re.compile(rf"(?:{'|'.join(PROVIDERS)}) \* [a-z]+_\*")


def add_pin_line(existing: str, line: str = PIN) -> str:
    """Return the text of the file `PINS` with a pin added at the end.

    Args:
        existing: the file's text; empty if the file does not exist.
        line: the pin, as returned by `dependants.pin_line`.
    """
    kept = existing if existing.endswith("\n") or not existing else f"{existing}\n"
    return f"{kept}{line}\n"


def remove_pin_line(existing: str) -> str:
    """Return the text of the file `PINS` without fastinstall's pin; all other text is kept."""
    return "".join(line for line in existing.splitlines(keepends=True) if not _OURS.fullmatch(line.strip()))


def pin_in(existing: str) -> str:
    """Return the line with fastinstall's pin in the text of the file `PINS`, or "" if there is none."""
    return next((line.strip() for line in existing.splitlines() if _OURS.fullmatch(line.strip())), "")


def refuse_unpinnable(facts: Facts) -> None:
    """Raise an error if a pin would have no effect, or would make a solver fail.

    Args:
        facts: facts of an environment in which the stack is installed.

    Raises:
        RefusedError: 1. The environment is neither a conda nor a virtual environment. 2. It belongs to pixi, which
            does not read `PINS`. 3. In a conda environment: the stack is not a conda package, or another pin of Pillow
            exists. 4. In a virtual environment: the stack is not a fastinstall build named pillow.
    """
    prefix, conda = facts.environment.prefix, facts.conda
    if facts.environment.kind is EnvironmentKind.VENV:
        # the pin constrains only the name pillow, and pip must find a wheel of that exact build
        owners = [owner.distribution for owner in facts.stack.owners]
        if len(owners) != 1 or owners[0].name != NAME or "+" not in owners[0].version:
            told = listing(f"{owner.name} {owner.version}" for owner in owners) or "nothing"
            raise RefusedError(
                f"{prefix}: PIL belongs to {told}: only a fastinstall build named pillow can be pinned",
                hint=f"fastinstall setup --pin --dist-name {NAME} --prefix {quote(prefix)}",
            )
        return
    if facts.environment.kind is not EnvironmentKind.CONDA or conda is None:
        raise RefusedError(
            f"{prefix} is neither a virtual nor a conda environment, so it cannot be pinned",
            hint="create one: fastinstall setup --pin --new-env ./fast-env",
        )
    if is_of_pixi(prefix):
        raise RefusedError(
            f"{prefix} belongs to pixi, which does not read {PINS}: the pin goes into its manifest",
            hint=f"fastinstall guard pin --prefix {quote(prefix)}",
        )
    _refuse_unsatisfiable(prefix, conda)


def is_of_pixi(prefix: PurePath) -> bool:
    """Return whether pixi manages the environment: pixi recreates its environments from files of its own."""
    return ".pixi" in prefix.parts


def environment_lines(channel: str, line: str = PIN) -> tuple[str, ...]:
    """Return the lines of an environment.yml that pin the stack.

    Args:
        channel: URL of a channel that has the package, outside the environment.
        line: the pin, as returned by `dependants.pin_line`.
    """
    return ("channels:", f"  - {channel}", "  - conda-forge", "dependencies:", f"  - {'='.join(line.split())}")


def _refuse_unsatisfiable(prefix: PurePath, conda: Conda) -> None:
    ours = (package for package in conda.packages if is_our_package(package))
    stack = next((package for package in ours if _OURS.fullmatch(pin_line(package))), None)
    if stack is None:
        pillow = conda.named("pillow")
        there = f"{pillow.version} {pillow.build}" if pillow is not None else "none"
        raise RefusedError(
            f"{prefix}: conda's pillow is {there}, which the pin would forbid: "
            "only a stack that is a conda package can be pinned",
            hint=f"fastinstall setup --pin --prefix {quote(prefix)}",
        )
    others = [line for line in conda.pins if name_of_spec(line) == stack.name and not pin_in(line)]
    if others:
        raise RefusedError(
            f"{prefix}/{PINS} already pins {stack.name}: {others[0]!r}; two pins may conflict",
            hint=f"remove that line from {quote(f'{prefix}/{PINS}')}, or omit --pin",
        )

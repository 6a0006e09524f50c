"""Pins: where there can be one, and the line that keeps conda's solvers from replacing the stack. Pure.

From texts to texts, and from facts to a refusal. Nothing is read or written here. What holds pip stands in `pip_pins`.

A pin is a wish of a person, never made by itself, because it holds back whatever would replace the stack: a Pillow with
the fix of a vulnerability too. Which solver obeys it, and when, stands in docs/how-to/pin.md.
"""

import re
from pathlib import PurePath

from fastinstall.errors import RefusedError
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.facts import Facts
from fastinstall.model.recipe import PROVIDERS
from fastinstall.rules.conda_pins import pin_line
from fastinstall.rules.conda_specs import name_of
from fastinstall.rules.conda_stack import is_ours
from fastinstall.rules.messages import listing, quote

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


def pinned_text(existing: str, line: str = PIN) -> str:
    """What the file `PINNED` says with our pin at its end; unchanged where it is there.

    Args:
        existing: what the file says; empty where there is none.
        line: of `conda_pins.pin_line`.
    """
    if is_pinned(existing):
        return existing
    kept = existing if existing.endswith("\n") or not existing else f"{existing}\n"
    return f"{kept}{line}\n"


def unpinned_text(existing: str) -> str:
    """What the file says without our pin; every other byte of it stays."""
    return "".join(line for line in existing.splitlines(keepends=True) if not _OURS.fullmatch(line.strip()))


def is_pinned(existing: str) -> bool:
    """Whether our pin is among the lines."""
    return bool(pin_in(existing))


def pin_in(existing: str) -> str:
    """Return our pin from the lines, or "" if it is not there."""
    return next((line.strip() for line in existing.splitlines() if _OURS.fullmatch(line.strip())), "")


def refuse_unpinnable(facts: Facts) -> None:
    """Raise where a pin would do nothing, or would leave a solver without a way out.

    Args:
        facts: of an environment in which the stack is in place.

    Raises:
        RefusedError: neither a conda nor a virtual environment; a conda environment of pixi's, which reads no pins;
            the stack is no conda package there, or no wheel named pillow elsewhere; or somebody else's pin of Pillow
            is there.
    """
    prefix, conda = facts.environment.prefix, facts.conda
    if facts.environment.kind is EnvironmentKind.VENV:
        _refuse_other_owners(facts)
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
    stack = next((package for package in conda.packages if _is_stack(package)), None)
    if stack is None:
        pillow = conda.named("pillow")
        there = f"{pillow.version} {pillow.build}" if pillow is not None else "none"
        raise RefusedError(
            f"{prefix}: conda's pillow is {there}, which the pin would forbid: "
            "only a stack that is a conda package can be pinned",
            hint=f"fastinstall setup --pin --prefix {quote(prefix)}",
        )
    others = [line for line in conda.pins if name_of(line) == stack.name and not is_pinned(line)]
    if others:
        raise RefusedError(
            f"{prefix}/{PINNED} pins {stack.name} already: {others[0]!r}, and two pins may exclude each other",
            hint=f"take that line out of {quote(f'{prefix}/{PINNED}')}, or go without --pin",
        )


def _is_stack(package: CondaPackage) -> bool:
    return is_ours(package) and _OURS.fullmatch(pin_line(package)) is not None


def _refuse_other_owners(facts: Facts) -> None:
    """A constraint on pillow holds a distribution of that name, and the wheel has to be ours, or pip finds none."""
    prefix = facts.environment.prefix
    owners = [owner.distribution for owner in facts.stack.owners]
    if len(owners) == 1 and owners[0].name == NAME and "+" in owners[0].version:
        return
    told = listing(f"{owner.name} {owner.version}" for owner in owners) or "nothing"
    raise RefusedError(
        f"{prefix}: PIL belongs to {told}: only a build of ours that is named pillow can be pinned",
        hint=f"fastinstall setup --pin --dist-name {NAME} --prefix {quote(prefix)}",
    )

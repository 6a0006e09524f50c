"""The optional dependencies in `fastinstall[conda]`: the error if one is missing, and archspec's list of processors."""

import sys
from collections.abc import Iterable

from fastinstall.core.architecture import archspec_name
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote


def make_missing_extra_error(distribution: str) -> RefusedError:
    """Return an error saying that a distribution is missing, with the command that installs the extra "conda"."""
    return RefusedError(
        f"conda packages need {distribution}, which is not installed with fastinstall",
        hint=f"{quote(sys.executable)} -m pip install 'fastinstall[conda]'",
    )


def find_microarchitectures(levels: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the processors that can run code for each level, as archspec names them.

    Args:
        levels: names of levels, such as "x86-64-v3"; "native" means the processor of this machine.

    Returns:
        The processors' names by level, in archspec's order; empty for a level that archspec does not know.

    Raises:
        RefusedError: archspec is not installed.

    Source: https://archspec.readthedocs.io and conda's manual, "Managing virtual packages".
    """
    try:
        from archspec import cpu  # only with the extra "conda"
    except ImportError as error:
        raise make_missing_extra_error("archspec") from error
    named = {level: cpu.host().name if level == "native" else archspec_name(level) for level in levels}
    ancestors = {name: {each.name for each in target.ancestors} for name, target in cpu.TARGETS.items()}
    return {
        level: tuple(name for name, older in ancestors.items() if least == name or least in older)
        for level, least in named.items()
    }

"""Which conda engine is available, what it works with, for which processors, and what to install if there is none."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.core.architecture import archspec_name
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaTool
from fastinstall.observe.conda.channels import ChannelSettings, channel_settings
from fastinstall.observe.conda.executable import find_conda

if TYPE_CHECKING:
    from fastinstall.conda.engines.rattler import Rattler


@immutable
class CondaTools:
    """What comes from outside.

    Attributes:
        variables: the caller's environment variables.
        cache: a directory of fastinstall's cache that is the engines' own.
        offline: ask no channel of the network; what is cached has to do.
    """

    variables: Mapping[str, str] = field(repr=False)
    cache: Path
    offline: bool = False

    def read_channel_settings(self, prefix: Path) -> ChannelSettings:
        """Read what conda's configuration makes of names of channels, for an environment or one that is to be made.

        Raises:
            DocumentError: a file of it cannot be read.
        """
        place = prefix if (prefix / "conda-meta").is_dir() else Path(self.variables.get("CONDA_PREFIX") or prefix)
        tool = find_conda(self.variables, place)
        return channel_settings(self.variables, place, Path(tool.root) if tool is not None else None)


def open_engine(engine: CondaInstaller, tool: CondaTool | None, means: CondaTools) -> CondaEngine:
    """Open the engine of that name.

    Args:
        engine: which one: CONDA or RATTLER.
        tool: the conda executable, or None if none was found.
        means: what it works with.

    Raises:
        RefusedError: it is not installed; the hint says how to get it.
        ValueError: that is no engine for conda packages.
    """
    if engine is CondaInstaller.CONDA:
        from fastinstall.conda.engines.command import CondaCommand  # noqa: PLC0415 (only where it is used)

        if tool is None:
            raise RefusedError(
                "no conda executable was found (CONDA_EXE, CONDA_PYTHON_EXE, PATH)",
                hint=f"--engine rattler works without one; it comes with {make_missing_extra_error('py-rattler').hint}",
            )
        return CondaCommand(tool=tool, means=means)
    if engine is CondaInstaller.RATTLER:
        return open_rattler(means)
    raise ValueError(f"{engine}: installs no conda packages")


def open_rattler(means: CondaTools) -> "Rattler":
    """Open the embedded engine.

    Raises:
        RefusedError: py-rattler is not installed; the hint says how to get it.
    """
    from importlib.util import find_spec  # noqa: PLC0415 (only where it is used)

    from fastinstall.conda.engines.rattler import Rattler  # noqa: PLC0415 (likewise)

    if find_spec("rattler") is None:
        raise make_missing_extra_error("py-rattler")
    return Rattler(means=means)


def make_missing_extra_error(distribution: str) -> RefusedError:
    """Return the refusal, with the command that installs the extra."""
    return RefusedError(
        f"conda packages need {distribution}, which is not installed with fastinstall",
        hint=f"{quote(sys.executable)} -m pip install 'fastinstall[conda]'",
    )


def find_microarchitectures(levels: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the processors that code for a level runs on.

    Args:
        levels: "x86-64-v3", ...; for "native" the processor of this machine counts.

    Returns:
        Level to names, the least processor first; none for a level that archspec does not know.

    Raises:
        RefusedError: archspec is not installed.

    Source: https://archspec.readthedocs.io and conda's manual, "Managing virtual packages".
    """
    try:
        from archspec import cpu  # noqa: PLC0415 (of the extra "conda")
    except ImportError as error:
        raise make_missing_extra_error("archspec") from error
    named = {level: cpu.host().name if level == "native" else archspec_name(level) for level in levels}
    ancestors = {name: {each.name for each in target.ancestors} for name, target in cpu.TARGETS.items()}
    return {
        level: tuple(name for name, older in ancestors.items() if least == name or least in older)
        for level, least in named.items()
    }

"""Open the requested engine for conda packages, or refuse with a hint about what to install."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.conda.extra import make_missing_extra_error
from fastinstall.core.errors import RefusedError
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaTool

if TYPE_CHECKING:
    from fastinstall.conda.engines.rattler import Rattler


def open_engine(
    engine: CondaInstaller, tool: CondaTool | None, variables: Mapping[str, str], cache: Path, *, offline: bool = False
) -> CondaEngine:
    """Open an engine for conda packages.

    Args:
        engine: CONDA or RATTLER.
        tool: the conda executable, or None if none was found.
        variables: the caller's environment variables.
        cache: the directory in fastinstall's cache that is reserved for engines.
        offline: use only cached files, no channels on the network.

    Raises:
        RefusedError: the engine is not installed; the hint says how to install it.
        ValueError: `engine` does not install conda packages.
    """
    if engine is CondaInstaller.CONDA:
        from fastinstall.conda.engines.command import CondaCommand  # only this engine needs it

        if tool is None:
            raise RefusedError(
                "no conda executable was found (CONDA_EXE, CONDA_PYTHON_EXE, PATH)",
                hint=f"--engine rattler works without one; it comes with {make_missing_extra_error('py-rattler').hint}",
            )
        return CondaCommand(tool, variables, cache, offline=offline)
    if engine is CondaInstaller.RATTLER:
        return open_rattler(variables, cache, offline=offline)
    raise ValueError(f"{engine}: installs no conda packages")


def open_rattler(variables: Mapping[str, str], cache: Path, *, offline: bool = False) -> "Rattler":
    """Open the embedded engine, py-rattler; the arguments are described in `open_engine`.

    Raises:
        RefusedError: py-rattler is not installed; the hint says how to get it.
    """
    from importlib.util import find_spec  # only this engine needs it

    from fastinstall.conda.engines.rattler import Rattler  # only this engine needs it

    if find_spec("rattler") is None:
        raise make_missing_extra_error("py-rattler")
    return Rattler(variables, cache, offline=offline)

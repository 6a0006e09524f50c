"""Open the engine for conda packages that was asked for, or say what to install."""

from typing import TYPE_CHECKING

from fastinstall.conda.engines.means import CondaTools
from fastinstall.conda.extra import make_missing_extra_error
from fastinstall.core.errors import RefusedError
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaTool

if TYPE_CHECKING:
    from fastinstall.conda.engines.rattler import Rattler


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

    from fastinstall.conda.engines.rattler import Rattler  # noqa: PLC0415 (only where it is used)

    if find_spec("rattler") is None:
        raise make_missing_extra_error("py-rattler")
    return Rattler(means=means)

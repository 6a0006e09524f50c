"""Which engine there is, or what to install for one."""

from fastinstall.errors import RefusedError
from fastinstall.installers.conda.engine import CondaEngine
from fastinstall.installers.conda.extra import extra_missing
from fastinstall.installers.conda.means import Means
from fastinstall.model.conda import CondaTool, Engine


def engine_for(engine: Engine, tool: CondaTool | None, means: Means) -> CondaEngine:
    """The engine of that name.

    Args:
        engine: CONDA or RATTLER.
        tool: the conda executable, or None if none was found.
        means: what it works with.

    Raises:
        RefusedError: it is not installed; the hint says how to get it.
        ValueError: that is no engine for conda packages.
    """
    if engine is Engine.CONDA:
        return _conda(tool, means)
    if engine is Engine.RATTLER:
        return _rattler(means)
    raise ValueError(f"{engine}: installs no conda packages")


def has_rattler() -> bool:
    """Whether py-rattler is installed beside fastinstall; it is not imported."""
    from importlib.util import find_spec  # noqa: PLC0415 (needed only where an engine is looked for)

    return find_spec("rattler") is not None


def _conda(tool: CondaTool | None, means: Means) -> CondaEngine:
    from fastinstall.installers.conda.command import CondaCommand  # noqa: PLC0415 (only where it is used)

    if tool is None:
        raise RefusedError(
            "no conda executable was found (CONDA_EXE, CONDA_PYTHON_EXE, PATH)",
            hint=f"--engine rattler works without one; it comes with {extra_missing('py-rattler').hint}",
        )
    return CondaCommand(tool=tool, means=means)


def _rattler(means: Means) -> CondaEngine:
    from fastinstall.installers.conda.rattler import Rattler  # noqa: PLC0415 (only where it is used)

    if not has_rattler():
        raise extra_missing("py-rattler")
    return Rattler(means=means)

"""Start pip, always the tool's own and pointed at the target, so that a target without pip is served too.

pip has no stable API, so it runs as a program and is not imported. A target too old for the tool's pip is served by its
own.
"""

import sys
from collections.abc import Mapping

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.model.facts import Interpreter

_TOOL_PIP = (sys.executable, "-P", "-m", "pip")


_DROPPED = frozenset(
    {
        "PYTHONPATH",
        "PYTHONHOME",
        "__PYVENV_LAUNCHER__",
        "_PIP_RUNNING_IN_SUBPROCESS",  # makes pip ignore --python, and so work on the tool's own environment
        "PIP_PYTHON",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "PIP_USER",
        "PIP_QUIET",
        "PIP_VERBOSE",
    }
)


def argv_for(interpreter: Interpreter) -> tuple[str, ...]:
    """Return the words that start pip for a target; a pip command follows.

    Raises:
        RefusedError: the target is older than the tool's pip supports, and has no pip of its own.
    """
    if _is_supported(interpreter.version):
        return (*_TOOL_PIP, "--python", str(interpreter.executable))
    if interpreter.pip_version is None:
        python = interpreter.executable
        raise RefusedError(
            f"{python}: too old for fastinstall's pip, and has no pip of its own",
            hint=f"{quote(python)} -m ensurepip, or use an environment with a later Python",
        )
    # -I: never a directory named pip where the user happens to stand
    return (str(interpreter.executable), "-I", "-m", "pip")


def pip_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a pip of ours: the user's, less what would lead it elsewhere."""
    kept = {name: value for name, value in variables.items() if name not in _DROPPED}
    ours = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "FASTINSTALL_GUARD": "0"}
    return {**kept, **ours, "PYTHONIOENCODING": "utf-8"}


def _is_supported(version: str) -> bool:
    from importlib.metadata import metadata  # noqa: PLC0415 (slow to import, needed for an install only)

    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (likewise)

    return SpecifierSet(metadata("pip")["Requires-Python"] or "").contains(version, prereleases=True)

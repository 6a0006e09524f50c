"""Run fastinstall's own pip on a target, so that the target needs no pip of its own.

pip has no stable API, so it is run as a program and not imported. If the target is too old for fastinstall's pip, the
target's own pip is run. A dry run reports what pip would install: it resolves against the index, fetches the files
needed for that, and builds nothing.
"""

import sys
from collections.abc import Mapping, Sequence

from fastinstall.core.errors import RefusedError, UndeterminedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import normalise_distribution_name
from fastinstall.model.facts import Interpreter

_TOOL_PIP = (sys.executable, "-P", "-m", "pip")
_DROPPED = frozenset(
    {
        *("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__"),
        "_PIP_RUNNING_IN_SUBPROCESS",  # makes pip ignore --python, and so change fastinstall's own environment
        *("PIP_PYTHON", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER"),  # they change where pip installs
        *("PIP_QUIET", "PIP_VERBOSE"),  # they change how much pip prints
    }
)
_DRY = ("install", "--dry-run", "--quiet", "--report", "-", "--retries", "1", "--only-binary", ":all:")
_TRIAL_SECONDS = 180.0
_UNREACHED = "Retrying (Retry(total=0"
"""Part of pip's warning about the last attempt to reach an index. pip then uses only installed distributions, and
reports no error."""
_IMPOSSIBLE = ("ResolutionImpossible", "No matching distribution found", "Could not find a version")


@immutable
class PipForecast:
    """What `pip install` would do.

    Attributes:
        installs: the versions that pip would install, by the normalised name of the distribution.
        impossible: pip's message if no versions meet the requirements; otherwise empty.
    """

    installs: dict[str, str]
    impossible: str = ""


def argv_for(interpreter: Interpreter) -> tuple[str, ...]:
    """Return the first words of a command that runs pip on a target; pip's own arguments must follow them.

    Raises:
        RefusedError: the target is too old for fastinstall's pip, and has no pip of its own.
    """
    if _is_supported(interpreter.version):
        return (*_TOOL_PIP, "--python", str(interpreter.executable))
    if interpreter.pip_version is None:
        python = interpreter.executable
        raise RefusedError(
            f"{python}: too old for fastinstall's pip, and has no pip of its own",
            hint=f"{quote(python)} -m ensurepip, or use an environment with a later Python",
        )
    # -I: never import a directory named pip from the working directory
    return (str(interpreter.executable), "-I", "-m", "pip")


def pip_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for running pip: the user's, without those that would misdirect pip."""
    kept = {name: value for name, value in variables.items() if name not in _DROPPED}
    ours = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "FASTINSTALL_GUARD": "0"}
    return {**kept, **ours, "PYTHONIOENCODING": "utf-8"}


def forecast_pip_install(
    interpreter: Interpreter, words: Sequence[str], settings: Mapping[str, str], variables: Mapping[str, str]
) -> PipForecast:
    """Find out what `pip install WORDS` would do; nothing is changed.

    Args:
        words: arguments and options of `pip install`.
        settings: PIP_* variables that override pip's configuration; those with an empty value are ignored.
        variables: the environment variables of the shell.

    Raises:
        UndeterminedError: no index was reached, pip took too long, or pip is too old for dry runs.
        RefusedError: neither fastinstall's pip nor a pip of the target supports the target.
    """
    environment = {**pip_environment(variables), **{name: value for name, value in settings.items() if value}}
    argv = (*argv_for(interpreter), *_DRY, *words)
    try:
        done = run(argv, environment=environment, check=False, timeout=_TRIAL_SECONDS)
    except CommandError as error:
        raise UndeterminedError(error.message) from error
    if _UNREACHED in done.stderr:
        raise UndeterminedError("an index did not answer")
    if done.exit_code == 0:
        items = json_data(done.stdout)["install"]  # source: pip, "Installation Report"
        named = ((item["metadata"]["name"], item["metadata"]["version"]) for item in items)
        return PipForecast(installs={normalise_distribution_name(name): version for name, version in named})
    if any(words in done.stderr for words in _IMPOSSIBLE):
        return PipForecast(installs={}, impossible=_describe_stderr(done.stderr))
    raise UndeterminedError(_describe_stderr(done.stderr))


def _is_supported(version: str) -> bool:
    from importlib.metadata import metadata  # noqa: PLC0415 (slow to import, needed only for an installation)

    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (slow to import, needed only for an installation)

    return SpecifierSet(metadata("pip")["Requires-Python"] or "").contains(version, prereleases=True)


def _describe_stderr(stderr: str) -> str:
    lines = [line.removeprefix("ERROR: ").strip() for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else (stderr.strip().splitlines() or ["pip said nothing"])[-1]

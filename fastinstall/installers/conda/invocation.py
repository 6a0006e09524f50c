"""Runs the user's conda: always on a named prefix, always for JSON, never asking anything."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall.installers.conda.answers import Document, documents_in, error_in
from fastinstall.installers.conda.failures import conda_failure, failure, wordless_failure
from fastinstall.installers.conda.means import Means
from fastinstall.model.conda import CondaTool
from fastinstall.model.immutable import immutable
from fastinstall.system.process import run

_DROPPED = frozenset(
    {
        "PYTHONPATH",
        "PYTHONHOME",
        "__PYVENV_LAUNCHER__",
        # what belongs to a shell's active environment, which need not be the one that is worked on
        "CONDA_DEFAULT_ENV",
        "CONDA_PROMPT_MODIFIER",
        "CONDA_SHLVL",
        # settings of conda, each of which is also a variable, that would make it do something else
        "CONDA_CLOBBER",
        "CONDA_CREATE_DEFAULT_PACKAGES",
        "CONDA_DEBUG",
        "CONDA_DEPS_MODIFIER",
        "CONDA_DISALLOWED_PACKAGES",
        "CONDA_DOWNLOAD_ONLY",
        "CONDA_DRY_RUN",
        "CONDA_FORCE",
        "CONDA_FORCE_REINSTALL",
        "CONDA_FORCE_REMOVE",
        "CONDA_IGNORE_PINNED",
        "CONDA_JSON",
        "CONDA_QUIET",
        "CONDA_SUBDIR",
        "CONDA_TARGET_PREFIX_OVERRIDE",
        "CONDA_TRACE",
        "CONDA_UPDATE_MODIFIER",
        "CONDA_VERBOSE",
        "CONDA_VERBOSITY",
    }
)
_OURS = {
    "CONDA_ADD_PIP_AS_PYTHON_DEPENDENCY": "false",
    "CONDA_AGGRESSIVE_UPDATE_PACKAGES": "",
    "CONDA_AUTO_UPDATE_CONDA": "false",
    "CONDA_NOTIFY_OUTDATED_CONDA": "false",
    "CONDA_NUMBER_CHANNEL_NOTICES": "0",
    "CONDA_REPORT_ERRORS": "false",
    "FASTINSTALL_GUARD": "0",
    "PYTHONIOENCODING": "utf-8",
}
_OVERRIDDEN_PIN = re.compile(r"pinned spec .* conflicts with explicit specs")
"""The classic solver installs what somebody has pinned away, and says so in a warning."""

_UNLISTED = {"CONDA_REGISTER_ENVS": "false"}
_NO_PLUGINS = {"CONDA_NO_PLUGINS": "true"}


@immutable
class Invocation:
    """A command of conda.

    Attributes:
        verb: "install", "create", "remove".
        prefix: what it works on.
        words: further arguments.
        seconds: before it is killed.
        environment: whose settings apply, as if it were active; None for that of `prefix`.
        unlisted: whether the prefix stays out of the user's list of environments.
        bare: leave plugins out: for work that needs neither a solver nor the network.
        packages: a package cache of its own, before the user's; None for the user's alone.
    """

    verb: str
    prefix: Path
    words: tuple[str, ...]
    seconds: float
    environment: Path | None = None
    unlisted: bool = False
    bare: bool = False
    packages: Path | None = None


def invoke(tool: CondaTool, invocation: Invocation, means: Means, *, offline: bool = False) -> tuple[Document, ...]:
    """Run it to its end.

    Returns:
        What it printed.

    Raises:
        CommandError: it cannot be started, does not end in time, or fails without a reason in JSON.
        FailedError: it fails; with its own message.
        RefusedError: the environment is frozen, locked, or not writable.
    """
    place = ("-p", str(invocation.prefix))
    network = ("--offline",) if offline or means.offline else ()
    argv = (*tool.command, invocation.verb, "--json", "-q", "-y", *place, *network, *invocation.words)
    completed = run(argv, environment=_variables(invocation, means), check=False, timeout=invocation.seconds)
    documents = documents_in(completed.stdout)
    error = error_in(documents)
    if error is not None:
        raise conda_failure(error, invocation.environment or invocation.prefix)
    if completed.exit_code != 0:
        raise wordless_failure(completed, "conda")
    overridden = _OVERRIDDEN_PIN.search(completed.stderr)
    if overridden:
        raise failure("SpecsConfigurationConflictError", overridden[0], "conda", invocation.prefix)
    return documents


def information(tool: CondaTool, means: Means) -> Document:
    """Return the output of `conda info`, empty if it gives none."""
    environment = conda_variables(means.variables)
    completed = run((*tool.command, "info", "--json"), environment=environment, check=False, timeout=60)
    found = documents_in(completed.stdout)
    return found[-1] if found else {}


def conda_variables(variables: Mapping[str, str], more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for the user's conda: the user's own, less what would lead it elsewhere."""
    kept = {name: value for name, value in variables.items() if name not in _DROPPED}
    return {**kept, **_OURS, **(more or {})}


def _variables(invocation: Invocation, means: Means) -> dict[str, str]:
    more = {"CONDA_PREFIX": str(invocation.environment or invocation.prefix)}
    if invocation.environment is not None:
        more["CONDA_TARGET_PREFIX_OVERRIDE"] = str(invocation.environment)
    if invocation.packages is not None:
        more["CONDA_PKGS_DIRS"] = str(invocation.packages)
    unlisted = _UNLISTED if invocation.unlisted else {}
    return conda_variables(means.variables, {**more, **unlisted, **(_NO_PLUGINS if invocation.bare else {})})


def specified(lines: Sequence[str]) -> str:
    """The text of a file that has conda install exactly these URLs."""
    return "".join(f"{line}\n" for line in ("@EXPLICIT", *lines))

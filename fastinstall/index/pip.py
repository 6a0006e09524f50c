"""Run pip, always the tool's own and pointed at the target, so that a target without pip is served too.

pip has no stable API, so it runs as a program and is not imported. A target too old for the tool's pip is served by its
own.

What pip would install is found by a dry run: it resolves against the index, fetches what that takes, and builds
nothing.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from fastinstall.core.errors import FailedError, RefusedError, UndeterminedError
from fastinstall.core.home import expand_home
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.values import immutable
from fastinstall.index.locations import name_place
from fastinstall.model.facts import Interpreter
from fastinstall.observe.pip_settings import list_pip_settings
from fastinstall.observe.stack import normalise_distribution_name

_TOOL_PIP = (sys.executable, "-P", "-m", "pip")
_PIP_TIMEOUT = 15.0  # pip's own default
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


@immutable
class PipSettings:
    """What pip's configuration (files and PIP_* variables) says about package indexes.

    Attributes:
        index_url: the main index; empty for the public default. May bear credentials.
        extra_index_urls: further indexes.
        find_links: further directories and pages that list files.
        certificate: a file of certificate authorities to trust instead of the system's.
        proxy: a proxy's URL; empty for what the usual variables say.
        trusted_hosts: hosts ("name" or "name:port") that may go without HTTPS.
        no_index: whether only `find_links` may be asked.
        timeout: seconds that pip waits for an answer.
    """

    index_url: str = field(default="", repr=False)
    extra_index_urls: tuple[str, ...] = field(default=(), repr=False)
    find_links: tuple[str, ...] = field(default=(), repr=False)
    certificate: Path | None = None
    proxy: str = field(default="", repr=False)
    trusted_hosts: tuple[str, ...] = ()
    no_index: bool = False
    timeout: float = _PIP_TIMEOUT

    @property
    def indexes(self) -> tuple[str, ...]:
        """The indexes in pip's order."""
        return (self.index_url or _find_default_index(), *self.extra_index_urls)

    @property
    def places(self) -> tuple[str, ...]:
        """Names of all places whose files pip would take, in its order; also where it must not ask them now."""
        return tuple(dict.fromkeys(map(name_place, (*self.indexes, *self.find_links))))


def _find_default_index() -> str:
    from unearth import PackageFinder  # noqa: PLC0415 (slow to import; only where pip's settings name no index)

    return PackageFinder().sources[0]["url"]


def argv_for(interpreter: Interpreter) -> tuple[str, ...]:
    """The words that start pip for a target; a pip command follows.

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
    """The environment for a pip of ours: the user's, less what would lead it elsewhere."""
    kept = {name: value for name, value in variables.items() if name not in _DROPPED}
    ours = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "FASTINSTALL_GUARD": "0"}
    return {**kept, **ours, "PYTHONIOENCODING": "utf-8"}


def pip_settings(python: Path, variables: Mapping[str, str]) -> PipSettings:
    """The index settings that pip would use for a target: global, user's, environment's, PIP_* variables.

    They are read from pip's files, for `pip config list` takes a fifth of a second of each setup.

    Raises:
        FailedError: pip cannot read its configuration.
    """
    try:
        values = {setting.key: setting.value for setting in list_pip_settings(python.parent.parent, variables)}
    except RefusedError as error:
        raise FailedError("pip cannot read its configuration", hint=error.hint, details=(error.message,)) from error
    certificate = values.get("cert", "")
    return PipSettings(
        index_url=values.get("index-url", ""),
        extra_index_urls=tuple(values.get("extra-index-url", "").split()),
        find_links=tuple(values.get("find-links", "").split()),
        certificate=expand_home(certificate) if certificate else None,
        proxy=values.get("proxy", ""),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        no_index=values.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t"),
        timeout=_parse_seconds(values.get("timeout", values.get("default-timeout", ""))),
    )


def _is_supported(version: str) -> bool:
    from importlib.metadata import metadata  # noqa: PLC0415 (slow to import, needed for an install only)

    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (likewise)

    return SpecifierSet(metadata("pip")["Requires-Python"] or "").contains(version, prereleases=True)


def _parse_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return _PIP_TIMEOUT


_DRY = ("install", "--dry-run", "--quiet", "--report", "-", "--retries", "1", "--only-binary", ":all:")
_TRIAL_SECONDS = 180.0
_UNREACHED = "Retrying (Retry(total=0"
"""Of the last attempt. Without an index pip takes what is installed for all there is, and says no more than this."""

_IMPOSSIBLE = ("ResolutionImpossible", "No matching distribution found", "Could not find a version")


@immutable
class PipForecast:
    """What pip would do.

    Attributes:
        installs: normalised name to version, of what it would install.
        impossible: its words, where it finds nothing that fits; empty if it does.
    """

    installs: dict[str, str]
    impossible: str = ""


def forecast_pip_install(
    interpreter: Interpreter, words: Sequence[str], settings: Mapping[str, str], variables: Mapping[str, str]
) -> PipForecast:
    """What `pip install WORDS` would do; nothing is changed.

    Args:
        interpreter: the target's Python.
        words: of the command, options too.
        settings: variables of pip's that hide those of its files; empty ones do not.
        variables: of the shell.

    Raises:
        UndeterminedError: pip could not tell: no index reached, no answer in time, or a pip of before dry runs.
        RefusedError: no pip serves this target.
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


def _describe_stderr(stderr: str) -> str:
    lines = [line.removeprefix("ERROR: ").strip() for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else (stderr.strip().splitlines() or ["pip said nothing"])[-1]

"""Run fastinstall's own pip on a target, so that the target needs no pip, and read pip's settings.

pip has no stable API, so it is run as a program and not imported. If the target is too old for fastinstall's pip, the
target's own pip is run. pip's dry run reports what pip would install: it resolves the requirements, for which it
fetches files from the index, but it builds nothing. fastinstall itself asks the indexes that pip is configured for.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fastinstall.core.directories import expand_home
from fastinstall.core.errors import FailedError, RefusedError, UndeterminedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, run
from fastinstall.core.secrets import remove_credentials
from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import normalise_distribution_name
from fastinstall.model.facts import Interpreter
from fastinstall.observe.pip_settings import list_pip_settings

TOOL_PIP = (sys.executable, "-P", "-m", "pip")
_DROPPED = frozenset(
    {
        *("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__"),
        "_PIP_RUNNING_IN_SUBPROCESS",  # makes pip ignore --python, and so change fastinstall's own environment
        *("PIP_PYTHON", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER"),  # these change where pip installs
        *("PIP_QUIET", "PIP_VERBOSE"),  # these change how much pip prints
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
    from importlib.metadata import metadata  # slow to import, needed only for an installation

    from packaging.specifiers import SpecifierSet  # slow to import, needed only for an installation

    supported = SpecifierSet(metadata("pip")["Requires-Python"] or "")
    if supported.contains(interpreter.version, prereleases=True):
        return (*TOOL_PIP, "--python", str(interpreter.executable))
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


def _describe_stderr(stderr: str) -> str:
    lines = [line.removeprefix("ERROR: ").strip() for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else (stderr.strip().splitlines() or ["pip said nothing"])[-1]


_PIP_TIMEOUT = 15.0  # pip's own default


@immutable
class PipSettings:
    """What pip's configuration (files and PIP_* variables) says about package indexes.

    Attributes:
        index_url: the main index; empty for the public default. May contain credentials.
        extra_index_urls: further indexes to ask, in order.
        find_links: further directories and pages that list files.
        certificate: a file or directory of certificate authorities to trust instead of the system's.
        proxy: URL of a proxy; if empty, the usual variables (HTTPS_PROXY) apply.
        trusted_hosts: hosts ("name" or "name:port") that may be used without HTTPS.
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
    def urls(self) -> tuple[str, ...]:
        """Addresses of all indexes and `find-links`, as configured; the first is empty for the public default."""
        return (self.index_url, *self.extra_index_urls, *self.find_links)

    @property
    def places(self) -> tuple[str, ...]:
        """Names of all indexes and `find-links` in pip's order, including indexes that `no_index` excludes."""
        return tuple(dict.fromkeys(map(name_place, (*self.indexes, *self.find_links))))


def pip_settings(python: Path, variables: Mapping[str, str]) -> PipSettings:
    """Return the index settings that pip would use for a target, from pip's configuration files and PIP_* variables.

    pip's files are read directly, because `pip config list` would add 0.2 s to each setup.

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


def local_path(location: str) -> Path | None:
    """Return the local path that a `file:` URL or a path names; None for a remote address.

    >>> local_path("file:///srv/my%20wheels"), local_path("https://example.org/simple")
    (PosixPath('/srv/my wheels'), None)
    """
    if location.startswith("file:"):
        return Path(unquote(urlsplit(location).path))
    return None if "://" in location else expand_home(location)


def name_place(place: str) -> str:
    """Return the name of an index or a `find-links` in our records: its address without credentials.

    >>> name_place("https://me:secret@example.org/simple/")
    'https://example.org/simple'
    """
    return remove_credentials(place).rstrip("/")


def _find_default_index() -> str:
    from unearth import PackageFinder  # slow to import, needed only if pip's settings name no index

    return PackageFinder().sources[0]["url"]


def _parse_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return _PIP_TIMEOUT

"""Run pip, always the tool's own and pointed at the target, so that a target without pip is served too.

pip has no stable API, so it runs as a program and is not imported. A target too old for the tool's pip is served by its
own.

What pip would install is found by a dry run: it resolves against the index, fetches what that takes, and builds
nothing.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from importlib.util import find_spec
from pathlib import Path

from fastinstall.core.errors import RefusedError, UndeterminedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.process import CommandError, Completed, run
from fastinstall.core.values import immutable
from fastinstall.model.facts import Interpreter
from fastinstall.observe.stack import normalise_distribution_name

_TOOL_PIP = (sys.executable, "-P", "-m", "pip")
_TOO_OLD = "This version of pip does not support python"
_NO_PIP = "No module named pip"
_SECONDS = 60.0
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
_SETTING = re.compile(r"^(?P<section>:env:|[\w-]+)\.(?P<key>[\w-]+)=(?P<value>['\"].*)$")
_SECTIONS = ("global", "install", ":env:")  # the later one wins, as for `pip install`


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


def argv_for(interpreter: Interpreter) -> tuple[str, ...]:
    """The words that start pip for a target; a pip command follows.

    Raises:
        RefusedError: the target is older than the tool's pip supports, and has no pip of its own.
    """
    if _is_supported(interpreter.version):
        return (*_TOOL_PIP, "--python", str(interpreter.executable))
    if interpreter.pip_version is None:
        raise _make_no_pip_error(interpreter.executable.as_posix())
    return _make_own_pip_words(Path(interpreter.executable))


def pip_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment for a pip of ours: the user's, less what would lead it elsewhere."""
    kept = {name: value for name, value in variables.items() if name not in _DROPPED}
    ours = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "FASTINSTALL_GUARD": "0"}
    return {**kept, **ours, "PYTHONIOENCODING": "utf-8"}


def pip_settings(python: Path, variables: Mapping[str, str]) -> PipSettings:
    """The index settings that pip would use for a target: global, user's, environment's, PIP_* variables.

    Raises:
        CommandError: pip cannot read its configuration.
    """
    words = ("config", "list")
    try:
        completed = _run(python, words, variables)
    except RefusedError:
        completed = run((*_TOOL_PIP, *words), environment=pip_environment(variables), check=False, timeout=_SECONDS)
    if completed.exit_code != 0:
        raise CommandError("pip cannot read its configuration", completed, hint=f"{quote(python)} -m pip config debug")
    return parse_settings(completed.stdout)


def parse_settings(listing: str) -> PipSettings:
    """Read what `pip config list` prints: `section.key='value'`, one a line, the value as Python's repr."""
    values = _parse_settings(listing)
    certificate = values.get("cert", "")
    return PipSettings(
        index_url=values.get("index-url", ""),
        extra_index_urls=tuple(values.get("extra-index-url", "").split()),
        find_links=tuple(values.get("find-links", "").split()),
        certificate=Path(certificate).expanduser() if certificate else None,
        proxy=values.get("proxy", ""),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        no_index=values.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t"),
        timeout=_parse_seconds(values.get("timeout", values.get("default-timeout", ""))),
    )


def _run(python: Path, words: tuple[str, ...], variables: Mapping[str, str]) -> Completed:
    environment = pip_environment(variables)
    completed = run((*_make_tool_pip_words(python), *words), environment=environment, check=False, timeout=_SECONDS)
    if _TOO_OLD not in completed.stderr:
        return completed
    completed = run((*_make_own_pip_words(python), *words), environment=environment, check=False, timeout=_SECONDS)
    if _NO_PIP in completed.stderr:
        raise _make_no_pip_error(str(python))
    return completed


def _make_tool_pip_words(python: Path) -> tuple[str, ...]:
    """The tool's pip for a target: what `pip --python` starts once it has started itself, which takes as long again."""
    found = find_spec("pip")
    runner = Path(found.origin).with_name("__pip-runner__.py") if found is not None and found.origin else None
    if runner is None or not runner.is_file():
        return (*_TOOL_PIP, "--python", str(python))
    return (str(python), str(runner))


def _make_own_pip_words(python: Path) -> tuple[str, ...]:
    return (str(python), "-I", "-m", "pip")  # -I: never a directory named pip where the user happens to stand


def _is_supported(version: str) -> bool:
    from importlib.metadata import metadata  # noqa: PLC0415 (slow to import, needed for an install only)

    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (likewise)

    return SpecifierSet(metadata("pip")["Requires-Python"] or "").contains(version, prereleases=True)


def _make_no_pip_error(python: str) -> RefusedError:
    return RefusedError(
        f"{python}: too old for the pip of fastinstall, and without a pip of its own",
        hint=f"{quote(python)} -m ensurepip, or choose an environment of a later Python",
    )


def _parse_settings(listing: str) -> dict[str, str]:
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in listing.splitlines():
        match = _SETTING.match(line)
        if match and match["section"] in found:
            found[match["section"]][match["key"].lower()] = _parse_literal(match["value"])
    return {key: value for section in _SECTIONS for key, value in found[section].items()}


def _parse_literal(text: str) -> str:
    import ast  # noqa: PLC0415 (needed only once pip has answered)

    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return text


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


@immutable
class PipConditions:
    """Under which settings pip is asked; they hide those of its files.

    Attributes:
        constraints: a constraints file.
        links: places of wheels.
    """

    constraints: str
    links: Sequence[str]


def forecast_pip_install(
    interpreter: Interpreter, words: Sequence[str], conditions: PipConditions, variables: Mapping[str, str]
) -> PipForecast:
    """What `pip install WORDS` would do; nothing is changed.

    Args:
        interpreter: the target's Python.
        words: of the command, options too.
        conditions: settings.
        variables: of the shell.

    Raises:
        UndeterminedError: pip could not tell: no index reached, no answer in time, or a pip of before dry runs.
        RefusedError: no pip serves this target.
    """
    ours = {"PIP_CONSTRAINT": conditions.constraints, "PIP_FIND_LINKS": " ".join(conditions.links)}
    environment = {**pip_environment(variables), **{name: value for name, value in ours.items() if value}}
    argv = (*argv_for(interpreter), *_DRY, *words)
    try:
        done = run(argv, environment=environment, check=False, timeout=_TRIAL_SECONDS)
    except CommandError as error:
        raise UndeterminedError(error.message) from error
    if _UNREACHED in done.stderr:
        raise UndeterminedError("an index did not answer")
    if done.exit_code == 0:
        return PipForecast(installs=_list_installs(done.stdout))
    if any(words in done.stderr for words in _IMPOSSIBLE):
        return PipForecast(installs={}, impossible=_describe_stderr(done.stderr))
    raise UndeterminedError(_describe_stderr(done.stderr))


def _list_installs(report: str) -> dict[str, str]:
    """Source: pip, "Installation Report"."""
    items = json_data(report)["install"]
    return {normalise_distribution_name(item["metadata"]["name"]): item["metadata"]["version"] for item in items}


def _describe_stderr(stderr: str) -> str:
    lines = [line.removeprefix("ERROR: ").strip() for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return lines[0] if lines else (stderr.strip().splitlines() or ["pip said nothing"])[-1]

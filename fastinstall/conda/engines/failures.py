"""Turn a conda engine's failure into an error with the engine's own message and a hint."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastinstall.core.errors import FailedError, FastinstallError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.process import CommandError, Completed
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable
from fastinstall.model.dependants import name_of_spec
from fastinstall.observe.conda.prefix import read_pinned_specs

_LINES = 24


_FROZEN_HINT = "its owner froze this environment in conda-meta/frozen: choose another one (--prefix, --new-env)"


@immutable
class FailureKind:
    """A kind of failure.

    Attributes:
        names: the engines' names for such errors, separated by spaces.
        what: the message, a format string with the fields `engine` and `prefix`.
        hint: the advice, a format string with the same fields.
        error: the class of the exception to raise.
    """

    names: str
    what: str
    hint: str
    error: Callable[..., FastinstallError] = FailedError


_NO_SOLUTION = FailureKind(
    names="UnsatisfiableError LibMambaUnsatisfiableError RattlerUnsatisfiableError SolverError",
    what="{engine} finds no solution for {prefix}",
    hint="request another version (--version), or install the wheel without telling conda: --engine pip",
)
_MISSING = FailureKind(
    names="PackagesNotFoundError PackagesNotFoundInChannelsError ResolvePackageNotFound NoChannelsConfiguredError",
    what="{engine} finds no such package for {prefix}",
    hint="name a channel that has it: --channel conda-forge",
)
_KINDS = (
    _NO_SOLUTION,
    _MISSING,
    FailureKind(
        names="SpecsConfigurationConflictError PinnedError",
        what="{engine} says that it conflicts with a pin of {prefix}",
        hint="request a version that the pin allows (--version), or change the pin in {prefix}/conda-meta/pinned",
    ),
    FailureKind(
        names="UnavailableInvalidChannel CondaHTTPError CondaSSLError ProxyError OfflineError ChannelError "
        "AuthenticationError ConnectionFailedError GatewayError FetchRepoDataError DownloadError",
        what="{engine} cannot reach a channel",
        hint="check the network, name another channel (--channel), or use the cache only: --offline",
    ),
    FailureKind(
        names="ChannelNotAllowed ChannelNotAllowedError ChannelDenied",
        what="conda's configuration forbids {engine} a channel",
        hint="name an allowed channel (--channel); see allowlist_channels in: conda config --show",
        error=RefusedError,
    ),
    FailureKind(names="EnvironmentIsFrozenError", what="{prefix} is frozen", hint=_FROZEN_HINT, error=RefusedError),
    FailureKind(
        names="EnvironmentNotWritableError NotWritableError NoWritableEnvsDirError",
        what="{engine} may not write to {prefix}",
        hint="run it as the owner of {prefix}, or create your own environment: --new-env DIR",
        error=RefusedError,
    ),
    FailureKind(
        names="LockError",
        what="another {engine} command is working on {prefix}",
        hint="wait for it to end, then run this again",
        error=RefusedError,
    ),
    FailureKind(
        names="CorruptedEnvironmentError InvalidRecordError",
        what="{prefix} has records that {engine} cannot read",
        hint="fastinstall doctor environment --prefix {prefix}",
    ),
)


def refuse_protected(prefix: Path) -> None:
    """Refuse to change an environment that is frozen (CEP 22) or not writable, even if the engine would change it.

    Raises:
        RefusedError: the environment is frozen, or this user may not write to it.
    """
    if (prefix / "conda-meta" / "frozen").exists():
        raise RefusedError(f"{prefix} is frozen", hint=_FROZEN_HINT)
    if not os.access(prefix / "conda-meta", os.W_OK | os.X_OK):
        told = f"{prefix / 'conda-meta'} is not writable by this user"
        raise make_failure("EnvironmentNotWritableError", told, "fastinstall", prefix)


def make_failure(name: str, text: str, engine: str, prefix: Path) -> FastinstallError:
    """Return the exception to raise for a failure that an engine reports.

    Args:
        name: the engine's name for the error.
        text: the engine's message.
        engine: the engine's name: "conda", "py-rattler".
        prefix: the environment's prefix.
    """
    lines = tuple(line.rstrip() for line in redact_text(text).splitlines() if line.strip())
    kind = next((kind for kind in _KINDS if name in kind.names.split()), None)
    if kind is None:
        first = lines[0] if lines else "no message"
        return FailedError(
            f"{engine}: {name}: {first}", hint=_suggest_other_engine(engine), details=lines[1 : _LINES + 1]
        )
    names = {"engine": engine, "prefix": quote(prefix)}
    return kind.error(kind.what.format(**names), hint=kind.hint.format(**names), details=lines[:_LINES])


def make_conda_failure(document: dict[str, Any], prefix: Path) -> FastinstallError:
    """Return the exception to raise for a failure that conda reports in JSON."""
    several = [each for each in document.get("errors") or () if isinstance(each, dict)]
    told = several[0] if several else document
    text = str(told.get("message") or told.get("error") or "")
    cause = str(told.get("caused_by") or "")
    name = str(told.get("exception_name") or "error")
    if name in f"{_NO_SOLUTION.names} {_MISSING.names}".split():
        # Some solvers mention the pin. Others report the pinned package as missing.
        pinned = set(map(name_of_spec, read_pinned_specs(prefix / "conda-meta")))
        missing = {name_of_spec(each) for each in re.findall(r"^\s*- (\S+)", text, re.MULTILINE)}
        if pinned and (re.search(r"\bpin(ned|-\d)", text) or pinned & missing):
            name = "PinnedError"
    return make_failure(name, text if cause in ("", "None") else f"{text}\n{cause}", "conda", prefix)


def make_wordless_failure(completed: Completed, engine: str) -> FastinstallError:
    """Return the exception to raise for an engine that failed without giving a reason in JSON."""
    return CommandError(
        f"{engine} failed, exit code {completed.exit_code}", completed, hint=_suggest_other_engine(engine)
    )


def _suggest_other_engine(engine: str) -> str:
    """Return a hint for an unknown failure of an engine: use the other engine. For conda, first check its settings."""
    if engine == "conda":
        return "check conda's settings: conda config --show-sources; or do without conda: --engine rattler"
    return "if conda is installed, use it: --engine conda"

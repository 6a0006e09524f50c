"""Why an engine could not, in its own words, with what to do about it.

What conda prints with `--json`: one document, several, warnings and progress in between, or nothing at all.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fastinstall.conda.engines.linked_records import package_of
from fastinstall.conda.history_file import parse_spec_name
from fastinstall.core import foreign
from fastinstall.core.errors import FailedError, FastinstallError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.process import CommandError, Completed
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaPackage

_NO_SOLUTION = ("UnsatisfiableError", "LibMambaUnsatisfiableError", "RattlerUnsatisfiableError", "SolverError")
_PINNED = ("SpecsConfigurationConflictError", "PinnedError")
_MISSING = (
    "PackagesNotFoundError",
    "PackagesNotFoundInChannelsError",
    "ResolvePackageNotFound",
    "NoChannelsConfiguredError",
)
_NOT_ALLOWED = ("ChannelNotAllowed", "ChannelNotAllowedError", "ChannelDenied")
_UNREACHABLE = (
    "UnavailableInvalidChannel",
    "CondaHTTPError",
    "CondaSSLError",
    "ProxyError",
    "OfflineError",
    "ChannelError",
    "AuthenticationError",
    "ConnectionFailedError",
    "GatewayError",
    "FetchRepoDataError",
    "DownloadError",
)
_FROZEN = ("EnvironmentIsFrozenError",)
_NOT_WRITABLE = ("EnvironmentNotWritableError", "NotWritableError", "NoWritableEnvsDirError")
_NO_CACHE = ("NoWritablePkgsDirError",)
_LOCKED = ("LockError",)
_CORRUPT = ("CorruptedEnvironmentError", "InvalidRecordError")
_FULL = ("NoSpaceLeftError",)
_LINES = 24
_PIN = re.compile(r"\bpin(ned|-\d)")
_ITEM = re.compile(r"^\s*- (\S+)", re.MULTILINE)

_FROZEN_HINT = "an environment is frozen by its keeper, in conda-meta/frozen: choose another one (--prefix, --new-env)"


@immutable
class FailureKind:
    """A kind of failure.

    Attributes:
        what: for people, with the environment's prefix in it.
        hint: likewise.
        error: the class of its exception.
    """

    what: str
    hint: str
    error: Callable[..., FastinstallError] = FailedError


_KINDS = {
    _NO_SOLUTION: FailureKind(
        what="{engine} finds no way to have this in {prefix}",
        hint="ask for another version (--version), or have the wheel without conda's knowledge: --engine pip",
    ),
    _PINNED: FailureKind(
        what="{engine} finds it at odds with what is pinned for {prefix}",
        hint="ask for a version that the pin allows (--version), or change the pin in {prefix}/conda-meta/pinned",
    ),
    _MISSING: FailureKind(
        what="{engine} finds no such package for {prefix}",
        hint="name a channel that has it: --channel conda-forge",
    ),
    _UNREACHABLE: FailureKind(
        what="{engine} cannot reach a channel",
        hint="try again with a network, name another channel (--channel), or work with what is cached: --offline",
    ),
    _NOT_ALLOWED: FailureKind(
        what="conda's configuration does not let {engine} ask a channel",
        hint="name one that allowlist_channels has, and denylist_channels has not (--channel); see conda config --show",
        error=RefusedError,
    ),
    _FROZEN: FailureKind(what="{prefix} is frozen", hint=_FROZEN_HINT, error=RefusedError),
    _NOT_WRITABLE: FailureKind(
        what="{engine} may not write to {prefix}",
        hint="run it as the user that owns {prefix}, or make an environment of your own: --new-env DIR",
        error=RefusedError,
    ),
    _NO_CACHE: FailureKind(
        what="{engine} may not write to any of its package caches (pkgs_dirs); {prefix} is not the reason",
        hint="name one that you may write to, and run this again: export CONDA_PKGS_DIRS=~/.conda/pkgs",
        error=RefusedError,
    ),
    _LOCKED: FailureKind(
        what="another command of {engine} is at work on {prefix}",
        hint="wait for it to end, and run this again",
        error=RefusedError,
    ),
    _CORRUPT: FailureKind(
        what="{prefix} has records that {engine} cannot read",
        hint="fastinstall doctor environment --prefix {prefix}",
    ),
    _FULL: FailureKind(what="no space is left for {engine}", hint="df -h {prefix}"),
}


def refuse_frozen(prefix: Path) -> None:
    """Leave alone what its keeper has frozen, whether or not the engine would. Source: CEP 22.

    Raises:
        RefusedError: it is frozen.
    """
    if (prefix / "conda-meta" / "frozen").exists():
        raise RefusedError(f"{prefix} is frozen", hint=_FROZEN_HINT)


def refuse_protected(prefix: Path) -> None:
    """Change nothing where that is not wanted, or not allowed.

    Raises:
        RefusedError: it is frozen, or this user may not write to it.
    """
    refuse_frozen(prefix)
    if not os.access(prefix / "conda-meta", os.W_OK | os.X_OK):
        raise make_failure(
            _NOT_WRITABLE[0], f"{prefix / 'conda-meta'} is not writable for this user", "fastinstall", prefix
        )


def refuse_existing(prefix: Path) -> None:
    """Make environments where nothing is: what fails is taken away again.

    Raises:
        FailedError: something is there.
    """
    if os.path.lexists(prefix):
        raise FailedError(f"{prefix}: is there already", hint=f"ls -la {quote(prefix)}")


def make_failure(name: str, text: str, engine: str, prefix: Path) -> FastinstallError:
    """The error for what an engine says.

    Args:
        name: the engine's name of the error.
        text: its message.
        engine: who says so: "conda", "py-rattler".
        prefix: of the environment it is about.
    """
    lines = tuple(line.rstrip() for line in redact_text(text).splitlines() if line.strip())
    kind = _find_kind(name)
    if kind is None:
        first = lines[0] if lines else "no message"
        return FailedError(
            f"{engine}: {name}: {first}", hint=_suggest_other_engine(engine), details=lines[1 : _LINES + 1]
        )
    names = {"engine": engine, "prefix": quote(prefix)}
    return kind.error(kind.what.format(**names), hint=kind.hint.format(**names), details=lines[:_LINES])


def make_conda_failure(document: dict[str, Any], prefix: Path) -> FastinstallError:
    """The error for what conda tells of a failure in JSON."""
    several = [each for each in document.get("errors") or () if isinstance(each, dict)]
    told = several[0] if several else document
    text = str(told.get("message") or told.get("error") or "")
    cause = str(told.get("caused_by") or "")
    name = str(told.get("exception_name") or "error")
    if name in (*_NO_SOLUTION, *_MISSING) and _is_about_pin(text, prefix):
        name = _PINNED[0]
    return make_failure(name, text if cause in ("", "None") else f"{text}\n{cause}", "conda", prefix)


def make_wordless_failure(completed: Completed, engine: str) -> FastinstallError:
    """The error for an engine that failed and did not say why in JSON."""
    return CommandError(
        f"{engine} failed, exit code {completed.exit_code}", completed, hint=_suggest_other_engine(engine)
    )


def _is_about_pin(text: str, prefix: Path) -> bool:
    """Some solvers speak of pins as such, others call missing what is pinned and not on offer."""
    file = prefix / "conda-meta" / "pinned"
    lines = foreign.text_if_there(file).splitlines()
    pinned = {parse_spec_name(line.strip()) for line in lines if line.strip() and not line.lstrip().startswith("#")}
    missing = {parse_spec_name(each) for each in _ITEM.findall(text)}
    return bool(pinned) and bool(_PIN.search(text) or pinned & missing)


def _suggest_other_engine(engine: str) -> str:
    """What to do where only the engine's keeper can know what is wrong with it."""
    if engine == "conda":
        return "see what conda is set to: conda config --show-sources; or work without it: --engine rattler"
    return "work by conda, where there is one: --engine conda"


def _find_kind(name: str) -> FailureKind | None:
    return next((kind for names, kind in _KINDS.items() if name in names), None)


Document = dict[str, Any]
_DECODER = json.JSONDecoder()
_SUFFIXES = (".conda", ".tar.bz2")


@immutable
class Actions:
    """What a transaction comes to.

    Attributes:
        linked: what comes; what conda does not tell of a package is empty.
        unlinked: what goes, as name, version and build.
    """

    linked: tuple[CondaPackage, ...]
    unlinked: tuple[CondaPackage, ...]


def parse_documents(text: str) -> tuple[Document, ...]:
    """Every JSON object that is printed, whatever stands around it."""
    return tuple(_decode_documents(text))


def find_error(documents: tuple[Document, ...]) -> Document | None:
    """The document that tells of a failure."""
    failures = (each for each in documents if "exception_name" in each or each.get("error"))
    return next((each for each in failures if each.get("exception_name") != "DryRunExit"), None)


def parse_actions(documents: tuple[Document, ...]) -> Actions:
    """Return what the last reported transaction would do, if any."""
    told = [each["actions"] for each in documents if each.get("actions")]
    parts = _list_parts(told[-1]) if told else []
    fetched = {package.dist: package for part in parts for package in _parse_packages(part.get("FETCH"))}
    linked = (package for part in parts for package in _parse_packages(part.get("LINK")))
    unlinked = (package for part in parts for package in _parse_packages(part.get("UNLINK")))
    return Actions(linked=tuple(fetched.get(each.dist, each) for each in linked), unlinked=tuple(unlinked))


def _decode_documents(text: str) -> Iterator[Document]:
    position = text.find("{")
    while position >= 0:
        try:
            found, end = _DECODER.raw_decode(text, position)
        except ValueError:
            end = position + 1
        else:
            yield found
        position = text.find("{", end)


def _list_parts(actions: object) -> list[Document]:
    """Old versions of conda give a list of what others give at once."""
    several = actions if isinstance(actions, list) else [actions]
    return [each for each in several if isinstance(each, dict)]


def _parse_packages(entries: object) -> list[CondaPackage]:
    several = entries if isinstance(entries, list) else []
    found = (_parse_package(each) for each in several)
    return [each for each in found if each is not None]


def _parse_package(entry: object) -> CondaPackage | None:
    if isinstance(entry, str):
        return _parse_dist(entry)
    if not isinstance(entry, dict):
        return None
    if entry.get("name"):
        return package_of({"subdir": entry.get("platform"), **entry, **_parse_channel(entry)})
    return _parse_dist(str(entry.get("dist_name", "")))


def _parse_channel(entry: Document) -> Document:
    return {"channel": entry["base_url"]} if entry.get("base_url") else {}


def _parse_dist(text: str) -> CondaPackage | None:
    """Of "conda-forge/linux-64::pillow-13.0.0-h0_0", or a file's name."""
    place, _, dist = text.rpartition("::")
    for suffix in _SUFFIXES:
        dist = dist.removesuffix(suffix)
    name, _, build = dist.rpartition("-")
    name, _, version = name.rpartition("-")
    channel, _, subdir = place.rpartition("/")
    return CondaPackage(name=name, version=version, build=build, channel=channel, subdir=subdir) if name else None

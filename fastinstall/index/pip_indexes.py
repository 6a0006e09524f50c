"""The indexes that pip is configured for, and how to reach them: fastinstall asks the same ones."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fastinstall.core.directories import expand_home
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.secrets import remove_credentials
from fastinstall.core.values import immutable
from fastinstall.observe.pip_settings import list_pip_settings

_PIP_TIMEOUT = 15.0  # pip's own default


@immutable
class PipSettings:
    """What pip's configuration (files and PIP_* variables) says about package indexes.

    Attributes:
        index_url: the main index; empty for the public default. May contain credentials.
        extra_index_urls: further indexes to ask, in order.
        find_links: further directories and pages that list files.
        certificate: a file of certificate authorities to trust instead of the system's.
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
        """All configured indexes and `find-links`, as written."""
        return (self.index_url, *self.extra_index_urls, *self.find_links)

    @property
    def places(self) -> tuple[str, ...]:
        """Names of all indexes and `find-links` in pip's order, including indexes that `no_index` excludes."""
        return tuple(dict.fromkeys(map(name_place, (*self.indexes, *self.find_links))))


def pip_settings(python: Path, variables: Mapping[str, str]) -> PipSettings:
    """Return the index settings that pip would use for a target, from all its configuration files and PIP_* variables.

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
    from unearth import PackageFinder  # noqa: PLC0415 (slow to import; only where pip's settings name no index)

    return PackageFinder().sources[0]["url"]


def _parse_seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return _PIP_TIMEOUT

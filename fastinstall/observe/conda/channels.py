"""Which channels conda is configured to use and where they lie, from its files and variables; conda is not run.

Another engine is given the addresses that conda would use. A bare name that exists on a private server must never be
asked of a public one, where anybody may have taken it. What is configured beside names decides: `channel_alias`,
`custom_channels`, `custom_multichannels`, `default_channels`, and mamba's `mirrored_channels`. Any other name belongs
to the public host, as it does for conda.

Source: `models/channel.py` and `base/context.py` of conda 24.7.1, with which the tests compare.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import chain
from pathlib import Path

from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.core.secrets import public_text
from fastinstall.core.values import immutable
from fastinstall.observe.conda.condarc import CondaSettings, environment_files, search_path
from fastinstall.observe.conda.records import public_channel

DEFAULTS, NO_DEFAULTS, LOCAL = "defaults", "nodefaults", "local"
"""Names with a meaning of their own: what conda has built in; that this is not meant; what conda-build has made."""

_BUILT_IN = "pkgs/"
_PATH = re.compile(r"\./|\.\.|~|/")
_TOKEN = re.compile(r"/t/([a-zA-Z0-9-]*)")
_SUBDIR = re.compile(r"/(?:noarch|(?:linux|osx|win|freebsd|zos|emscripten|wasi)-\w+)/?$")


@immutable
class ChannelSettings:
    """What conda's configuration says of channels, with the credentials that it holds: never stored, never shown.

    Attributes:
        alias: the address below which bare names lie; empty for conda's own.
        custom: names, and the address below which each lies.
        multiple: names that stand for several channels.
        default: what "defaults" stands for, or None if nothing is configured.
        mirrored: names, and the address of a mirror of each.
        allowed: the only channels that may be asked; empty for all.
        denied: channels that must not be asked.
        configured: the channels in use, as they are written.
    """

    alias: str = field(default="", repr=False)
    custom: dict[str, str] = field(default_factory=dict, repr=False)
    multiple: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    default: tuple[str, ...] | None = field(default=None, repr=False)
    mirrored: dict[str, str] = field(default_factory=dict, repr=False)
    allowed: tuple[str, ...] = field(default=(), repr=False)
    denied: tuple[str, ...] = field(default=(), repr=False)
    configured: tuple[str, ...] = field(default=(), repr=False)


def channel_urls(channels: Iterable[str], settings: ChannelSettings) -> tuple[str, ...]:
    """Where channels lie, in their order, each once.

    Args:
        channels: names, addresses and paths, as a person or a plan gives them, without credentials.
        settings: of the environment.

    Returns:
        Addresses with the credentials that are configured for them, and paths; a bare name is the public host's.

    Raises:
        RefusedError: a name that cannot be told from here.
    """
    return tuple(dict.fromkeys(url for channel in channels for url in _resolve_urls(channel, settings)))


def add_credentials(url: str, settings: ChannelSettings) -> str:
    """An address of a channel or of a file in one, with what is configured for the place that it is below.

    Nothing is added to an address that has credentials, nor where the place is configured with another scheme.
    """
    if public_text(url) != url:
        return url
    places = sorted(_list_places(settings), key=lambda each: len(each[0]), reverse=True)
    fitting = (
        secret + url[len(public) :] for public, secret in places if url == public or url.startswith(f"{public}/")
    )
    return next(fitting, url)


def _resolve_urls(channel: str, settings: ChannelSettings) -> tuple[str, ...]:
    if "://" in channel:
        return (add_credentials(_SUBDIR.sub("", channel.rstrip("/")), settings),)
    if channel == NO_DEFAULTS:
        return ()
    if _PATH.match(channel):
        return (channel,)
    name = _SUBDIR.sub("", channel).strip("/")
    several = settings.default if name == DEFAULTS else settings.multiple.get(name)
    if several is not None:
        return tuple(_resolve_member(each, settings) for each in several)
    address = "" if name in (DEFAULTS, LOCAL) else _find_address(name, settings)
    if not address:
        raise RefusedError(
            f"the channel {name!r} has a meaning that conda alone knows, and py-rattler would ask another one of that "
            "name",
            hint="name the channels that are meant, --channel conda-forge for example; say what it stands for, by "
            "default_channels or custom_channels in .condarc; or have conda do it, where there is one: --engine conda",
        )
    return (address,)


def _find_address(name: str, settings: ChannelSettings) -> str:
    """Where a name lies; empty if conda alone knows."""
    if name in settings.mirrored:
        return settings.mirrored[name].rstrip("/")
    members = {_get_member_name(each, settings): _resolve_member(each, settings) for each in _list_members(settings)}
    parts = name.split("/")
    for place in ("/".join(parts[:number]) for number in range(len(parts), 0, -1)):  # "a/b/c", "a/b", "a"
        if place in settings.custom:
            address = settings.custom[place]
            return _join_below(address if "://" in address else settings.alias, name)
        if place in members:
            return members[place] + name.removeprefix(place)
    return "" if name.startswith(_BUILT_IN) else _join_below(settings.alias, name)


def _list_members(settings: ChannelSettings) -> tuple[str, ...]:
    """Channels that are one of several."""
    return (*(settings.default or ()), *chain(*settings.multiple.values()))


def _resolve_member(channel: str, settings: ChannelSettings) -> str:
    """One of several: an address, or a name below the alias."""
    return channel.rstrip("/") if "://" in channel else _join_below(settings.alias, channel.strip("/"))


def _get_member_name(channel: str, settings: ChannelSettings) -> str:
    """The name that one of several has alone, too: its path."""
    alias, public = public_text(settings.alias).rstrip("/"), public_text(_resolve_member(channel, settings))
    below = public.removeprefix(f"{alias}/") if alias else public
    return below.partition("://")[2].partition("/")[2] if "://" in below else below


def _join_below(address: str, name: str) -> str:
    """The channel of a name below an address; its token goes before the name."""
    if not address:
        return name
    found = _TOKEN.search(address)
    token = f"/t/{found[1]}" if found is not None and found[1] else ""
    return f"{_TOKEN.sub('', address, count=1).rstrip('/')}{token}/{name}"


def _list_places(settings: ChannelSettings) -> Iterator[tuple[str, str]]:
    """Addresses for which credentials are configured: without them, and with them."""
    whole = (*settings.configured, *_list_members(settings), *settings.mirrored.values())
    named = (_join_below(address, name) for name, address in settings.custom.items())
    for secret in (*(each.rstrip("/") for each in whole), *named):
        if "://" in secret and public_text(secret) != secret:
            yield public_text(secret), secret
    alias = settings.alias.rstrip("/")
    if public_text(alias) != alias:
        yield public_text(alias), _join_below(alias, "").rstrip("/")


_CHANNELS, _DEFAULT = ("channels", "channel"), ("default_channels",)
_CUSTOM, _MULTIPLE, _MIRRORED = "custom_channels", "custom_multichannels", "mirrored_channels"
_ALLOWED, _DENIED = ("allowlist_channels", "whitelist_channels"), "denylist_channels"
_ALIAS = "channel_alias"
_ALL = (*_CHANNELS, *_DEFAULT, _ALIAS, _CUSTOM, _MULTIPLE, _MIRRORED, _DENIED, *_ALLOWED)


def read_configured_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """The channels that conda would use for an environment, the one that ranks highest first.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
        root: the prefix that conda itself is installed in, or None if unknown.

    Returns:
        Names and URLs, without credentials; empty if nothing is configured and conda's own defaults hold.
    """
    return _read_public_channels(search_path(variables, prefix, root), _CHANNELS, variables, variables)


def read_default_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """What "defaults" stands for among those, likewise; empty if conda's own hold."""
    return _read_public_channels(search_path(variables, prefix, root), _DEFAULT, variables, variables)


def channels_of_environment(prefix: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The channels that an environment's own configuration files name, likewise."""
    return _read_public_channels(environment_files(prefix), _CHANNELS, variables, {})


def usual_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """The channels that conda uses for every environment, by its configuration files, the highest first.

    A channel whose name holds credentials is left out: nothing of it goes elsewhere.
    """
    own = environment_files(prefix)
    files = [file for file in search_path(variables, prefix, root) if file not in own]
    channels = CondaSettings(files, _CHANNELS, variables, {}).read_list(*_CHANNELS)
    return tuple(each for each in channels if public_channel(each) == each)


def channel_settings(variables: Mapping[str, str], prefix: Path, root: Path | None) -> ChannelSettings:
    """What conda's configuration makes of names of channels, with the credentials that it holds; never stored.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
        root: the prefix that conda itself is installed in, or None if unknown.

    Raises:
        DocumentError: a file that cannot be read might say that a name is a private channel's.
    """
    try:
        settings = CondaSettings(search_path(variables, prefix, root), _ALL, variables, variables, strict=True)
    except DocumentError as error:
        raise error.hinting("mend it; `conda config --show-sources` says what conda reads, and from where") from None
    return ChannelSettings(
        alias=settings.read_word(_ALIAS),
        custom={name: words[0] for name, words in settings.read_table(_CUSTOM).items()},
        multiple=settings.read_table(_MULTIPLE),
        default=settings.read_list(*_DEFAULT) or None,
        mirrored={name: words[0] for name, words in settings.read_table(_MIRRORED).items()},
        allowed=settings.read_list(*_ALLOWED),
        denied=settings.read_list(_DENIED),
        configured=settings.read_list(*_CHANNELS),
    )


def _read_public_channels(
    files: Iterable[Path], names: tuple[str, ...], variables: Mapping[str, str], overrides: Mapping[str, str]
) -> tuple[str, ...]:
    channels = CondaSettings(files, names, variables, overrides).read_list(*names)
    return tuple(dict.fromkeys(map(public_channel, channels)))

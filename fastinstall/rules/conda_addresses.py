"""Where the channels lie that conda's configuration has names for: what conda makes of them, for another engine.

A bare name that a private server has must never be asked of a public one, where anybody may have taken it. What is
configured beside names decides: `channel_alias`, `custom_channels`, `custom_multichannels`, `default_channels`, and
mamba's `mirrored_channels`. A name that none of them speaks of is the public host's, as it is for conda. Pure.

Source: `models/channel.py` and `base/context.py` of conda 24.7.1, with which the tests compare.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from fastinstall.errors import RefusedError
from fastinstall.model.immutable import immutable
from fastinstall.rules.secrets import public_text

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
    return tuple(dict.fromkeys(url for channel in channels for url in _urls(channel, settings)))


def with_credentials(url: str, settings: ChannelSettings) -> str:
    """An address of a channel or of a file in one, with what is configured for the place that it is below.

    Nothing is added to an address that has credentials, nor where the place is configured with another scheme.
    """
    if public_text(url) != url:
        return url
    places = sorted(_places(settings), key=lambda each: len(each[0]), reverse=True)
    fitting = (
        secret + url[len(public) :] for public, secret in places if url == public or url.startswith(f"{public}/")
    )
    return next(fitting, url)


def _urls(channel: str, settings: ChannelSettings) -> tuple[str, ...]:
    if "://" in channel:
        return (with_credentials(_SUBDIR.sub("", channel.rstrip("/")), settings),)
    if _PATH.match(channel) or channel == NO_DEFAULTS:
        return () if channel == NO_DEFAULTS else (channel,)
    name = _SUBDIR.sub("", channel).strip("/")
    several = _several(name, settings)
    return several if several is not None else (_named(name, settings),)


def _several(name: str, settings: ChannelSettings) -> tuple[str, ...] | None:
    """What a name stands for that may stand for several channels; None where it is that of one."""
    if name == LOCAL or (name == DEFAULTS and settings.default is None):
        raise _unknown(name)
    listed = settings.default if name == DEFAULTS else settings.multiple.get(name)
    return tuple(_member(each, settings) for each in listed) if listed is not None else None


def _member(channel: str, settings: ChannelSettings) -> str:
    """One of several: an address, or a name below the alias."""
    return channel.rstrip("/") if "://" in channel else _below(settings.alias, channel.strip("/"))


def _named(name: str, settings: ChannelSettings) -> str:
    if name in settings.mirrored:
        return settings.mirrored[name].rstrip("/")
    members = dict(_members(settings))
    for place in _beginnings(name):
        if place in settings.custom:
            address = settings.custom[place]
            return _below(address if "://" in address else settings.alias, name)
        if place in members:
            return members[place] + name.removeprefix(place)
    if name.startswith(_BUILT_IN):
        raise _unknown(name)
    return _below(settings.alias, name)


def _unknown(name: str) -> RefusedError:
    return RefusedError(
        f"the channel {name!r} has a meaning that conda alone knows, and py-rattler would ask another one of that name",
        hint="name the channels that are meant, --channel conda-forge for example; say what it stands for, by "
        "default_channels or custom_channels in .condarc; or have conda do it, where there is one: --engine conda",
    )


def _members(settings: ChannelSettings) -> Iterator[tuple[str, str]]:
    """Channels that are one of several: the name of each, its path, and its address; they have that name alone, too."""
    for several in (settings.default or (), *settings.multiple.values()):
        for each in several:
            url = _member(each, settings)
            yield _name_of(public_text(url), public_text(settings.alias).rstrip("/")), url


def _name_of(url: str, alias: str) -> str:
    below = url.removeprefix(f"{alias}/") if alias else url
    return below.partition("://")[2].partition("/")[2] if "://" in below else below


def _beginnings(name: str) -> Iterator[str]:
    """A name, and what is left of it without its last parts: "a/b/c", "a/b", "a"."""
    parts = name.split("/")
    return ("/".join(parts[:number]) for number in range(len(parts), 0, -1))


def _below(address: str, name: str) -> str:
    """The channel of a name below an address; its token goes before the name."""
    if not address:
        return name
    found = _TOKEN.search(address)
    token = f"/t/{found[1]}" if found is not None and found[1] else ""
    return f"{_TOKEN.sub('', address, count=1).rstrip('/')}{token}/{name}"


def _places(settings: ChannelSettings) -> Iterator[tuple[str, str]]:
    """Addresses for which credentials are configured: without them, and with them."""
    several = (channel for each in (settings.default or (), *settings.multiple.values()) for channel in each)
    whole = (*settings.configured, *several, *settings.mirrored.values())
    named = (_below(address, name) for name, address in settings.custom.items())
    for secret in (*(each.rstrip("/") for each in whole), *named):
        if "://" in secret and public_text(secret) != secret:
            yield public_text(secret), secret
    alias = settings.alias.rstrip("/")
    if public_text(alias) != alias:
        yield public_text(alias), _below(alias, "").rstrip("/")

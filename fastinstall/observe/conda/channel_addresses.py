"""The addresses that conda would use for names of channels.

A bare name that exists on a private server must never be looked up on a public one, where anybody may have registered
it. The configuration of names decides: `channel_alias`, `custom_channels`, `custom_multichannels`, `default_channels`,
and mamba's `mirrored_channels`. Any other name belongs to the public host, as in conda.

Source: `models/channel.py` and `base/context.py` of conda 24.7.1, with which the tests compare.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import chain

from fastinstall.core.errors import RefusedError
from fastinstall.core.secrets import public_text
from fastinstall.core.values import immutable

DEFAULTS, NO_DEFAULTS, LOCAL = "defaults", "nodefaults", "local"
"""Names with a meaning of their own: what conda has built in; that this is not meant; what conda-build has made."""


_BUILT_IN = "pkgs/"


_PATH = re.compile(r"\./|\.\.|~|/")


_TOKEN = re.compile(r"/t/([a-zA-Z0-9-]*)")


_SUBDIR = re.compile(r"/(?:noarch|(?:linux|osx|win|freebsd|zos|emscripten|wasi)-\w+)/?$")


@immutable
class ChannelSettings:
    """Conda's configuration of channels, with its credentials: never stored, never shown.

    Attributes:
        alias: the address below which bare names are found; empty for conda's own.
        custom: names, and the address below which each is found.
        multiple: names that stand for several channels.
        default: what "defaults" stands for, or None if nothing is configured.
        mirrored: names, and the address of a mirror of each.
        allowed: the only channels that may be asked; empty for all.
        denied: channels that must not be asked.
        configured: the channels in use, as written.
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
    """Return the addresses of channels, in their order, each once.

    Args:
        channels: names, addresses and paths, as a person or a plan gives them, without credentials.

    Returns:
        Addresses with the configured credentials, and paths; a bare name belongs to the public host.

    Raises:
        RefusedError: a name that only conda can resolve.
    """
    return tuple(dict.fromkeys(url for channel in channels for url in _resolve_urls(channel, settings)))


def add_credentials(url: str, settings: ChannelSettings) -> str:
    """Return the address of a channel or of a file in one, with the credentials configured for that place.

    An address keeps credentials that it has; none are added if the place is configured with another scheme.
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
            f"only conda knows which channel {name!r} means; py-rattler would use another channel of that name",
            hint="name the channels, for example --channel conda-forge; or define the name by default_channels or "
            "custom_channels in .condarc; or let conda install: --engine conda",
        )
    return (address,)


def _find_address(name: str, settings: ChannelSettings) -> str:
    """Return the address of a name; empty if only conda knows it."""
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
    """List the channels that belong to a multichannel."""
    return (*(settings.default or ()), *chain(*settings.multiple.values()))


def _resolve_member(channel: str, settings: ChannelSettings) -> str:
    """Resolve a member of a multichannel: an address, or a name below the alias."""
    return channel.rstrip("/") if "://" in channel else _join_below(settings.alias, channel.strip("/"))


def _get_member_name(channel: str, settings: ChannelSettings) -> str:
    """Return the name that a member also has on its own: its path."""
    alias, public = public_text(settings.alias).rstrip("/"), public_text(_resolve_member(channel, settings))
    below = public.removeprefix(f"{alias}/") if alias else public
    return below.partition("://")[2].partition("/")[2] if "://" in below else below


def _join_below(address: str, name: str) -> str:
    """Join an address and a channel name; the address's token goes before the name."""
    if not address:
        return name
    found = _TOKEN.search(address)
    token = f"/t/{found[1]}" if found is not None and found[1] else ""
    return f"{_TOKEN.sub('', address, count=1).rstrip('/')}{token}/{name}"


def _list_places(settings: ChannelSettings) -> Iterator[tuple[str, str]]:
    """Yield addresses that have credentials configured: without them, and with them."""
    whole = (*settings.configured, *_list_members(settings), *settings.mirrored.values())
    named = (_join_below(address, name) for name, address in settings.custom.items())
    for secret in (*(each.rstrip("/") for each in whole), *named):
        if "://" in secret and public_text(secret) != secret:
            yield public_text(secret), secret
    alias = settings.alias.rstrip("/")
    if public_text(alias) != alias:
        yield public_text(alias), _join_below(alias, "").rstrip("/")

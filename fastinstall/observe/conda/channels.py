"""Which channels conda is configured to use and where they lie, from its files and variables; conda is not run.

Another engine is given the addresses that conda would use. A bare name that exists on a private server must never be
asked of a public one, where anybody may have taken it. What is configured beside names decides: `channel_alias`,
`custom_channels`, `custom_multichannels`, `default_channels`, and mamba's `mirrored_channels`. Any other name belongs
to the public host, as it does for conda.

Source: `models/channel.py` and `base/context.py` of conda 24.7.1, with which the tests compare.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TypeVar

from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.core.secrets import public_text
from fastinstall.core.values import immutable
from fastinstall.observe.conda.condarc import (
    Condarc,
    Table,
    Word,
    Words,
    choose_highest,
    environment_files,
    observe_condarc,
    read_condarc,
    search_path,
)
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
    if name == LOCAL or (name == DEFAULTS and several is None):
        raise _make_unknown_channel_error(name)
    if several is not None:
        return tuple(_resolve_member(each, settings) for each in several)
    return (_resolve_named_channel(name, settings),)


def _resolve_member(channel: str, settings: ChannelSettings) -> str:
    """One of several: an address, or a name below the alias."""
    return channel.rstrip("/") if "://" in channel else _join_below(settings.alias, channel.strip("/"))


def _resolve_named_channel(name: str, settings: ChannelSettings) -> str:
    if name in settings.mirrored:
        return settings.mirrored[name].rstrip("/")
    members = dict(_list_members(settings))
    parts = name.split("/")
    for place in ("/".join(parts[:number]) for number in range(len(parts), 0, -1)):  # "a/b/c", "a/b", "a"
        if place in settings.custom:
            address = settings.custom[place]
            return _join_below(address if "://" in address else settings.alias, name)
        if place in members:
            return members[place] + name.removeprefix(place)
    if name.startswith(_BUILT_IN):
        raise _make_unknown_channel_error(name)
    return _join_below(settings.alias, name)


def _make_unknown_channel_error(name: str) -> RefusedError:
    return RefusedError(
        f"the channel {name!r} has a meaning that conda alone knows, and py-rattler would ask another one of that name",
        hint="name the channels that are meant, --channel conda-forge for example; say what it stands for, by "
        "default_channels or custom_channels in .condarc; or have conda do it, where there is one: --engine conda",
    )


def _list_members(settings: ChannelSettings) -> Iterator[tuple[str, str]]:
    """Channels that are one of several: the name of each, its path, and its address; they have that name alone, too."""
    alias = public_text(settings.alias).rstrip("/")
    for each in _list_multichannel_members(settings):
        url = _resolve_member(each, settings)
        public = public_text(url)
        below = public.removeprefix(f"{alias}/") if alias else public
        yield below.partition("://")[2].partition("/")[2] if "://" in below else below, url


def _list_multichannel_members(settings: ChannelSettings) -> Iterator[str]:
    yield from settings.default or ()
    for several in settings.multiple.values():
        yield from several


def _join_below(address: str, name: str) -> str:
    """The channel of a name below an address; its token goes before the name."""
    if not address:
        return name
    found = _TOKEN.search(address)
    token = f"/t/{found[1]}" if found is not None and found[1] else ""
    return f"{_TOKEN.sub('', address, count=1).rstrip('/')}{token}/{name}"


def _list_places(settings: ChannelSettings) -> Iterator[tuple[str, str]]:
    """Addresses for which credentials are configured: without them, and with them."""
    whole = (*settings.configured, *_list_multichannel_members(settings), *settings.mirrored.values())
    named = (_join_below(address, name) for name, address in settings.custom.items())
    for secret in (*(each.rstrip("/") for each in whole), *named):
        if "://" in secret and public_text(secret) != secret:
            yield public_text(secret), secret
    alias = settings.alias.rstrip("/")
    if public_text(alias) != alias:
        yield public_text(alias), _join_below(alias, "").rstrip("/")


Source = TypeVar("Source", Words, Table)
_CHANNELS, _DEFAULT = ("channels", "channel"), ("default_channels",)
_ALIAS, _CUSTOM, _MULTIPLE = ("channel_alias",), ("custom_channels",), ("custom_multichannels",)
_MIRRORED, _DENIED = ("mirrored_channels",), ("denylist_channels",)
_ALLOWED = ("allowlist_channels", "whitelist_channels")
_ALL = (*_CHANNELS, *_DEFAULT, *_ALIAS, *_CUSTOM, *_MULTIPLE, *_MIRRORED, *_DENIED, *_ALLOWED)


def read_configured_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """The channels that conda would use for an environment, the one that ranks highest first.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
        root: the prefix that conda itself is installed in, or None if unknown.

    Returns:
        Names and URLs, without credentials; empty if nothing is configured and conda's own defaults hold.
    """
    return _read_public_channels(search_path(variables, prefix, root), _CHANNELS, variables)


def read_default_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """What "defaults" stands for among those, likewise; empty if conda's own hold."""
    return _read_public_channels(search_path(variables, prefix, root), _DEFAULT, variables)


def channels_of_environment(prefix: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The channels that an environment's own configuration files name, likewise."""
    return tuple(dict.fromkeys(map(public_channel, _read_list(environment_files(prefix), _CHANNELS, variables))))


def usual_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """The channels that conda uses for every environment, by its configuration files, the highest first.

    A channel whose name holds credentials is left out: nothing of it goes elsewhere.
    """
    own = frozenset(environment_files(prefix))
    files = [file for file in search_path(variables, prefix, root) if file not in own]
    return tuple(each for each in _read_list(files, _CHANNELS, variables) if public_channel(each) == each)


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
        found = [read_condarc(file, _ALL, variables) for file in search_path(variables, prefix, root)]
    except DocumentError as error:
        raise error.hinting("mend it; `conda config --show-sources` says what conda reads, and from where") from None
    files = [file for file in found if file is not None]
    defaults = _read_lists(files, _DEFAULT, variables)
    allowed, denied, configured = (
        tuple(_merge_lists(_read_lists(files, key, variables))) for key in (_ALLOWED, _DENIED, _CHANNELS)
    )
    return ChannelSettings(
        alias=choose_highest((file.word(*_ALIAS) for file in files), variables.get("CONDA_CHANNEL_ALIAS", "")),
        custom=_read_addresses(files, _CUSTOM),
        multiple={name: tuple(_merge_lists(said)) for name, said in _read_tables(files, _MULTIPLE).items()},
        default=tuple(_merge_lists(defaults)) if defaults else None,
        mirrored=_read_addresses(files, _MIRRORED),
        allowed=allowed,
        denied=denied,
        configured=configured,
    )


def _read_public_channels(
    files: Iterable[Path], names: tuple[str, ...], variables: Mapping[str, str]
) -> tuple[str, ...]:
    found = (observe_condarc(file, names, variables) for file in files)
    channels = _merge_lists(_read_lists(filter(None, found), names, variables))
    return tuple(dict.fromkeys(map(public_channel, channels)))


def _read_list(files: Iterable[Path], names: tuple[str, ...], variables: Mapping[str, str]) -> list[str]:
    """One list of several files, whatever a variable says."""
    found = (observe_condarc(file, names, variables) for file in files)
    return _merge_lists(_read_lists(filter(None, found), names, {}))


def _read_lists(files: Iterable[Condarc], names: tuple[str, ...], variables: Mapping[str, str]) -> list[Words]:
    """A key's lists, those that rank higher last; the variable named after it ranks highest."""
    lists = [words for file in files if (words := file.list(*names)) is not None]
    set_by = next((value for name in names if (value := variables.get(f"CONDA_{name.upper()}"))), "")
    named = tuple(Word(text=text.strip()) for text in set_by.split(",") if text.strip())
    return [*lists, Words(words=named)] if set_by else lists


def _read_tables(files: Iterable[Condarc], names: tuple[str, ...]) -> dict[str, list[Words]]:
    """What a key's mappings say of each name, those that rank higher last."""
    said: dict[str, list[Words]] = {}
    for table in _select_relevant([table for file in files if (table := file.table(*names)) is not None]):
        for name, words in table.words.items():
            said.setdefault(name, []).append(words)
    return said


def _read_addresses(files: Iterable[Condarc], names: tuple[str, ...]) -> dict[str, str]:
    """One address for each name."""
    return {name: _select_relevant(said)[-1].words[0].text for name, said in _read_tables(files, names).items()}


def _merge_lists(sources: Sequence[Words]) -> list[str]:
    """One list of several, as conda makes it: later sources rank higher, and flags move words or end the search."""
    relevant = _select_relevant(sources)
    top = (word.text for source in relevant for word in source.words if word.flag == "top")
    bottom = [word.text for source in reversed(relevant) for word in source.words if word.flag == "bottom"]
    usual = (word.text for source in reversed(relevant) for word in source.words)
    ranked = list(dict.fromkeys((*top, *usual)))
    return list(dict.fromkeys((*reversed(bottom), *reversed(ranked))))[::-1]


def _select_relevant(sources: Sequence[Source]) -> list[Source]:
    """Those up to the first that is final."""
    end = next((number for number, source in enumerate(sources, start=1) if source.flag == "final"), None)
    return list(sources[:end])

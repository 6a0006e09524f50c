"""Read which channels conda is configured to use, and resolve channel names to addresses, from files and variables.

The name of a channel on a private server must never be looked up on a public server, where anybody may have registered
the same name. These settings give names an address: `channel_alias`, `custom_channels`, `custom_multichannels`,
`default_channels`, and mamba's `mirrored_channels`. Any other name is looked up on the public host, as in conda.

conda is not run: that would take longer than all other probes together. Flags in comments of conda's files ("#!final",
"#!top") are ignored. A key with an unexpected value counts as missing; conda itself reports such values.

Sources: `SEARCH_PATH` in conda's `base/constants.py`, `Configuration` in its `common/configuration.py`;
`models/channel.py` and `base/context.py` of conda 24.7.1, with which the tests compare.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import DocumentError, RefusedError
from fastinstall.core.secrets import public_text
from fastinstall.core.values import immutable
from fastinstall.observe.conda.records import public_channel

_SYSTEM = ("/etc/conda", "/var/lib/conda")
_NAMES = (".condarc", "condarc")
_DIRECTORY = "condarc.d"
_SUFFIXES = (".yml", ".yaml")
_NOTHING = ("", "~", "null", "Null", "NULL")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})")


class CondaSettings:
    """The values of a few keys in conda's configuration files, merged as conda does.

    Args:
        files: the configuration files, the lowest rank first.
        names: the keys that will be read; a file that contains none of them is not parsed.
        variables: environment variables that values may refer to ("$NAME").
        overrides: environment variables; a variable named after a key ("CONDA_CHANNELS") outranks all files.
        strict: if True, an unreadable file is an error; otherwise, it counts as empty.

    Raises:
        DocumentError: with `strict`, a file cannot be read, or is not YAML.
    """

    def __init__(
        self,
        files: Iterable[Path],
        names: tuple[str, ...],
        variables: Mapping[str, str],
        overrides: Mapping[str, str],
        *,
        strict: bool = False,
    ) -> None:
        self._variables = variables
        self._overrides = overrides
        self._files: list[dict[str, Any]] = []
        for file in files:
            try:
                text = foreign.read_text(file, limit=foreign.DOCUMENT)
                data = _load(text) if any(name in text for name in names) else None
            except (OSError, ValueError) as error:
                if strict:
                    reason = getattr(error, "strerror", "") or error
                    raise DocumentError(file, "", f"cannot be read: {reason}") from None
            else:
                self._files += [data] if isinstance(data, dict) else []

    def read_word(self, *names: str) -> str:
        """Return the string that a key is set to; empty if the key is not set. `names` are the key and its aliases."""
        words = [words[0] for value in self._find(names, str) if (words := self._read_words(value))]
        return self._get_override(names) or (words[0] if words else "")

    def read_list(self, *names: str) -> tuple[str, ...]:
        """Return the items of a key's lists, the highest rank first; empty if the key is not set.

        The lists come from a variable and from all files. `names` are the key and its aliases.
        """
        override = [word.strip() for word in self._get_override(names).split(",") if word.strip()]
        lists = (self._read_words(value) for value in self._find(names, list))
        return tuple(dict.fromkeys(chain(override, *lists)))

    def read_table(self, *names: str) -> dict[str, tuple[str, ...]]:
        """Merge a key's mappings from all files; for each name in them, the values of the highest rank come first.

        `names` are the key and its aliases.
        """
        found: dict[str, tuple[str, ...]] = {}
        for table in self._find(names, dict):
            for name, value in table.items():
                words = (*found.get(name, ()), *self._read_words(value))
                found |= {name: tuple(dict.fromkeys(words))} if words else {}
        return found

    def _get_override(self, names: tuple[str, ...]) -> str:
        return next((value for name in names if (value := self._overrides.get(f"CONDA_{name.upper()}"))), "")

    def _find(self, names: tuple[str, ...], kind: type) -> list[Any]:
        """Return a key's values of type `kind`, at most one from each file, the highest rank first."""
        values = (next((data[name] for name in names if name in data), None) for data in reversed(self._files))
        return [value for value in values if isinstance(value, kind)]

    def _read_words(self, value: object) -> list[str]:
        words = value if isinstance(value, list) else [value]
        return [
            _VARIABLE.sub(lambda found: self._variables.get(found[1] or found[2], found[0]), word)
            for word in words
            if isinstance(word, str) and word not in _NOTHING
        ]


def _load(text: str) -> object:
    """Parse YAML; numbers, booleans and null are kept as text.

    Raises:
        ValueError: the text is not YAML.
    """
    import yaml  # slow to import, and rarely needed

    try:
        return yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506 (creates only texts)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from None


def read_settings(
    names: tuple[str, ...], variables: Mapping[str, str], prefix: Path, root: Path | None, *, strict: bool = False
) -> CondaSettings:
    """Return the settings of the keys `names` for an environment; variables outrank files.

    The arguments `variables`, `prefix` and `root` are described in `search_path`.

    Raises:
        DocumentError: with `strict`, a file cannot be read, or is not YAML.
    """
    return CondaSettings(search_path(variables, prefix, root), names, variables, variables, strict=strict)


def search_path(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[Path, ...]:
    """Return the configuration files that conda would read for an environment, the lowest rank first.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
        root: the prefix that conda itself is installed in, or None if unknown.
    """
    home, settings = variables.get("HOME"), variables.get("XDG_CONFIG_HOME")
    directories = [*map(Path, _SYSTEM), *((root,) if root else ())]
    directories += [Path(settings, "conda")] if settings else []
    directories += [Path(home, ".config/conda"), Path(home, ".conda")] if home else []
    places = [file for directory in directories for file in environment_files(directory)]
    places += [Path(home, ".condarc")] if home else []
    places += environment_files(prefix)
    named = expand_home(variables.get("CONDARC", ""))
    places += [named] if named.name in _NAMES or named.name.endswith(_SUFFIXES) else []
    return tuple(dict.fromkeys(path for path in places if path.is_file()))


def environment_files(directory: Path) -> tuple[Path, ...]:
    """Return the configuration files in a directory, such as an environment's prefix, the lowest rank first."""
    names = foreign.list_names(directory / _DIRECTORY)
    parts = (directory / _DIRECTORY / name for name in names if name.endswith(_SUFFIXES))
    return (*(path for name in _NAMES if (path := directory / name).is_file()), *parts)


DEFAULTS, NO_DEFAULTS, LOCAL = "defaults", "nodefaults", "local"
"""Special channel names: conda's default channels; no default channels; packages that conda-build built locally."""


_BUILT_IN = "pkgs/"
_PATH = re.compile(r"\./|\.\.|~|/")
_TOKEN = re.compile(r"/t/([a-zA-Z0-9-]*)")
_SUBDIR = re.compile(r"/(?:noarch|(?:linux|osx|win|freebsd|zos|emscripten|wasi)-\w+)/?$")


@immutable
class ChannelSettings:
    """Conda's configuration of channels, with credentials; never stored and never shown.

    Attributes:
        alias: base address of bare names; empty for conda's default alias.
        custom: base address of each custom channel, by the channel's name.
        multiple: channels of each multichannel, by the multichannel's name.
        default: the channels that "defaults" stands for; None if not configured.
        mirrored: address of a mirror, by the channel's name.
        allowed: the only channels that may be used; empty if all may be used.
        denied: channels that must not be used.
        configured: the channels to use, as written in the configuration.
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
    """Return the addresses of channels, in order, without duplicates.

    Args:
        channels: names, addresses and paths, as a person or a plan gives them, without credentials.
        settings: conda's configuration of channels.

    Returns:
        For each channel: its address with the configured credentials, its path, or its bare name if it is on conda's
        default host.

    Raises:
        RefusedError: only conda can resolve one of the names.
    """
    return tuple(dict.fromkeys(url for channel in channels for url in _resolve_urls(channel, settings)))


def add_credentials(url: str, settings: ChannelSettings) -> str:
    """Return the address of a channel, or of a file in a channel, with the credentials configured for that channel.

    An address is returned unchanged if it already has credentials, or if none are configured for it. Credentials are
    configured for one scheme: those for an https address are not added to an http address.
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
    """Return the address of a channel from its name; empty if only conda can resolve the name."""
    if name in settings.mirrored:
        return settings.mirrored[name].rstrip("/")
    members = {_get_member_name(each, settings): _resolve_member(each, settings) for each in _list_members(settings)}
    parts = name.split("/")
    # For "a/b/c", try "a/b/c", "a/b" and "a".
    for place in ("/".join(parts[:number]) for number in range(len(parts), 0, -1)):
        if place in settings.custom:
            address = settings.custom[place]
            return _join_below(address if "://" in address else settings.alias, name)
        if place in members:
            return members[place] + name.removeprefix(place)
    return "" if name.startswith(_BUILT_IN) else _join_below(settings.alias, name)


def _list_members(settings: ChannelSettings) -> tuple[str, ...]:
    """List the members of "defaults" and of all multichannels."""
    return (*(settings.default or ()), *chain(*settings.multiple.values()))


def _resolve_member(channel: str, settings: ChannelSettings) -> str:
    """Return the address of a multichannel's member; `channel` is an address, or a name below the alias."""
    return channel.rstrip("/") if "://" in channel else _join_below(settings.alias, channel.strip("/"))


def _get_member_name(channel: str, settings: ChannelSettings) -> str:
    """Return the name by which a multichannel's member can be used alone: its address without alias or host."""
    alias, public = public_text(settings.alias).rstrip("/"), public_text(_resolve_member(channel, settings))
    below = public.removeprefix(f"{alias}/") if alias else public
    return below.partition("://")[2].partition("/")[2] if "://" in below else below


def _join_below(address: str, name: str) -> str:
    """Join an address and a channel name; a token in the address is moved to just before the name."""
    if not address:
        return name
    found = _TOKEN.search(address)
    token = f"/t/{found[1]}" if found is not None and found[1] else ""
    return f"{_TOKEN.sub('', address, count=1).rstrip('/')}{token}/{name}"


def _list_places(settings: ChannelSettings) -> Iterator[tuple[str, str]]:
    """Yield a pair for each address that has credentials: the address without and with the credentials."""
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
    """Return the channels that conda would use for an environment, the highest priority first.

    The arguments are described in `search_path`.

    Returns:
        Names and URLs, without credentials; empty if no channels are configured, so that conda's defaults apply.
    """
    return _publish(read_settings(_CHANNELS, variables, prefix, root).read_list(*_CHANNELS))


def resolve_configured_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """Return conda's configured channels; "defaults" is replaced by the default channels if these are configured."""
    settings = read_settings((*_CHANNELS, *_DEFAULT), variables, prefix, root)
    defaults = settings.read_list(*_DEFAULT) or (DEFAULTS,)
    channels = settings.read_list(*_CHANNELS)
    return _publish(each for channel in channels for each in (defaults if channel == DEFAULTS else (channel,)))


def channels_of_environment(prefix: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the channels that an environment's own configuration files name, without credentials."""
    return _publish(CondaSettings(environment_files(prefix), _CHANNELS, variables, {}).read_list(*_CHANNELS))


def usual_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """Return the channels that conda's configuration files name for every environment, the highest priority first.

    The environment's own files are not read. Channels whose addresses contain credentials are left out.
    """
    own = environment_files(prefix)
    files = [file for file in search_path(variables, prefix, root) if file not in own]
    channels = CondaSettings(files, _CHANNELS, variables, {}).read_list(*_CHANNELS)
    return tuple(each for each in channels if public_channel(each) == each)


def channel_settings(variables: Mapping[str, str], prefix: Path, root: Path | None) -> ChannelSettings:
    """Return conda's configuration of channels, with credentials; never store the result.

    The arguments are described in `search_path`.

    Raises:
        DocumentError: a file cannot be read. It is not skipped, because it might assign a name to a private channel.
    """
    try:
        settings = read_settings(_ALL, variables, prefix, root, strict=True)
    except DocumentError as error:
        raise error.hinting("correct it; `conda config --show-sources` lists what conda reads") from None
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


def _publish(channels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(public_channel, channels)))

"""Which channels conda is configured to use, and where they lie, from its files and variables; conda is not run."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from fastinstall.errors import DocumentError
from fastinstall.probes.conda_condarc import (
    Condarc,
    Table,
    Word,
    Words,
    environment_files,
    observe_condarc,
    read_condarc,
    search_path,
)
from fastinstall.probes.conda_urls import public_channel
from fastinstall.rules.conda_addresses import ChannelSettings

Source = TypeVar("Source", Words, Table)
_CHANNELS = ("channels", "channel")
_ALIAS = ("channel_alias",)
_CUSTOM = ("custom_channels",)
_MULTIPLE = ("custom_multichannels",)
_DEFAULT = ("default_channels",)
_MIRRORED = ("mirrored_channels",)
_ALLOWED = ("allowlist_channels", "whitelist_channels")
_DENIED = ("denylist_channels",)
_ALL = (*_CHANNELS, *_ALIAS, *_CUSTOM, *_MULTIPLE, *_DEFAULT, *_MIRRORED, *_ALLOWED, *_DENIED)


def configured_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """The channels that conda would use for an environment, the one that ranks highest first.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
        root: the prefix that conda itself is installed in, or None if unknown.

    Returns:
        Names and URLs, without credentials; empty where nothing is configured and conda's own defaults hold.
    """
    return _configured(_CHANNELS, variables, prefix, root)


def configured_defaults(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """What "defaults" stands for among those, likewise; empty where conda's own hold."""
    return _configured(_DEFAULT, variables, prefix, root)


def channels_of_environment(prefix: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The channels that an environment's own configuration files name, likewise."""
    files = (observe_condarc(file, _CHANNELS, variables) for file in environment_files(prefix))
    return _public(_merged(_lists(filter(None, files), _CHANNELS, {})))


def usual_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """The channels that conda uses for every environment, by its configuration files, the highest first.

    A channel whose name holds credentials is left out: nothing of it goes elsewhere.
    """
    own = frozenset(environment_files(prefix))
    files = [
        observe_condarc(file, _CHANNELS, variables) for file in search_path(variables, prefix, root) if file not in own
    ]
    channels = _merged(_lists(filter(None, files), _CHANNELS, {}))
    return tuple(channel for channel in channels if public_channel(channel) == channel)


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
    defaults = _lists(files, _DEFAULT, variables)
    return ChannelSettings(
        alias=_highest([word for file in files if (word := file.word(*_ALIAS)) is not None], variables),
        custom=_addresses(files, _CUSTOM),
        multiple={name: tuple(_merged(said)) for name, said in _tables(files, _MULTIPLE).items()},
        default=tuple(_merged(defaults)) if defaults else None,
        mirrored=_addresses(files, _MIRRORED),
        allowed=tuple(_merged(_lists(files, _ALLOWED, variables))),
        denied=tuple(_merged(_lists(files, _DENIED, variables))),
        configured=tuple(_merged(_lists(files, _CHANNELS, variables))),
    )


def _configured(
    names: tuple[str, ...], variables: Mapping[str, str], prefix: Path, root: Path | None
) -> tuple[str, ...]:
    files = [observe_condarc(file, names, variables) for file in search_path(variables, prefix, root)]
    return _public(_merged(_lists(filter(None, files), names, variables)))


def _public(channels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(public_channel, channels)))


def _lists(files: Iterable[Condarc], names: tuple[str, ...], variables: Mapping[str, str]) -> list[Words]:
    """A key's lists, those that rank higher last; the variable named after it ranks highest."""
    lists = [words for file in files if (words := file.list(*names)) is not None]
    set_by = next((value for name in names if (value := variables.get(f"CONDA_{name.upper()}"))), "")
    named = tuple(Word(text=text.strip()) for text in set_by.split(",") if text.strip())
    return [*lists, Words(words=named)] if set_by else lists


def _highest(found: Sequence[Word], variables: Mapping[str, str]) -> str:
    """The word that counts of a key that takes one; empty where there is none."""
    final = next((word.text for word in found if word.flag == "final"), "")
    return final or variables.get("CONDA_CHANNEL_ALIAS", "") or (found[-1].text if found else "")


def _tables(files: Iterable[Condarc], names: tuple[str, ...]) -> dict[str, list[Words]]:
    """What a key's mappings say of each name, those that rank higher last."""
    said: dict[str, list[Words]] = {}
    for table in _relevant([table for file in files if (table := file.table(*names)) is not None]):
        for name, words in table.words.items():
            said.setdefault(name, []).append(words)
    return said


def _addresses(files: Iterable[Condarc], names: tuple[str, ...]) -> dict[str, str]:
    """One address for each name."""
    return {name: _relevant(said)[-1].words[0].text for name, said in _tables(files, names).items()}


def _merged(sources: Sequence[Words]) -> list[str]:
    """One list of several, as conda makes it: later sources rank higher, and flags move words or end the search."""
    relevant = _relevant(sources)
    top = (word.text for source in relevant for word in source.words if word.flag == "top")
    bottom = [word.text for source in reversed(relevant) for word in source.words if word.flag == "bottom"]
    usual = (word.text for source in reversed(relevant) for word in source.words)
    ranked = list(dict.fromkeys((*top, *usual)))
    return list(dict.fromkeys((*reversed(bottom), *reversed(ranked))))[::-1]


def _relevant(sources: Sequence[Source]) -> list[Source]:
    """Those up to the first that is final."""
    end = next((number for number, source in enumerate(sources, start=1) if source.flag == "final"), None)
    return list(sources[:end])

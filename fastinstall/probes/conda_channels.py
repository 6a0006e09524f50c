"""Which channels conda is configured to use, from its configuration files and variables; conda is not run."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fastinstall.probes.conda_condarc import Word, Words, environment_files, read_list, search_path
from fastinstall.probes.conda_urls import public_channel

_NAMES = ("channels", "channel")
_VARIABLES = ("CONDA_CHANNELS", "CONDA_CHANNEL")


def configured_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """The channels that conda would use for an environment, the one that ranks highest first.

    Args:
        variables: the shell's environment variables.
        prefix: the environment.
        root: the prefix that conda itself is installed in; None if unknown.

    Returns:
        Names and URLs, without credentials; empty where nothing is configured and conda's own defaults hold.
    """
    files = [read_list(file, _NAMES, variables) for file in search_path(variables, prefix, root)]
    words = (variables[name].split(",") for name in _VARIABLES if variables.get(name))
    named = [Words(words=tuple(Word(text=text.strip()) for text in each if text.strip())) for each in words]
    return _public(_merged([*filter(None, files), *named[:1]]))


def channels_of_environment(prefix: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The channels that an environment's own configuration files name, likewise."""
    files = (read_list(file, _NAMES, variables) for file in environment_files(prefix))
    return _public(_merged(list(filter(None, files))))


def _public(channels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(public_channel, channels)))


def _merged(sources: Sequence[Words]) -> list[str]:
    """One list of several, as conda makes it: later sources rank higher, and flags move words or end the search."""
    ends = [number for number, source in enumerate(sources, start=1) if source.flag == "final"]
    relevant = sources[: ends[0]] if ends else sources
    top = (word.text for source in relevant for word in source.words if word.flag == "top")
    bottom = [word.text for source in reversed(relevant) for word in source.words if word.flag == "bottom"]
    usual = (word.text for source in reversed(relevant) for word in source.words)
    ranked = list(dict.fromkeys((*top, *usual)))
    return list(dict.fromkeys((*reversed(bottom), *reversed(ranked))))[::-1]

"""The channels that conda is configured to use, from its files and variables, without running conda."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fastinstall.core.errors import DocumentError
from fastinstall.observe.conda.channel_addresses import ChannelSettings
from fastinstall.observe.conda.condarc import CondaSettings, environment_files, search_path
from fastinstall.observe.conda.records import public_channel

_CHANNELS, _DEFAULT = ("channels", "channel"), ("default_channels",)
_CUSTOM, _MULTIPLE, _MIRRORED = "custom_channels", "custom_multichannels", "mirrored_channels"
_ALLOWED, _DENIED = ("allowlist_channels", "whitelist_channels"), "denylist_channels"
_ALIAS = "channel_alias"
_ALL = (*_CHANNELS, *_DEFAULT, _ALIAS, _CUSTOM, _MULTIPLE, _MIRRORED, _DENIED, *_ALLOWED)


def read_configured_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """Return the channels that conda would use for an environment, the highest first.

    Args:
        variables: the shell's environment variables.
        root: the prefix that conda itself is installed in, or None if unknown.

    Returns:
        Names and URLs, without credentials; empty if nothing is configured and conda's defaults apply.
    """
    return _read_public_channels(search_path(variables, prefix, root), _CHANNELS, variables, variables)


def read_default_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """Return what "defaults" stands for in these channels; empty if conda's own defaults apply."""
    return _read_public_channels(search_path(variables, prefix, root), _DEFAULT, variables, variables)


def channels_of_environment(prefix: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the channels that an environment's own configuration files name, without credentials."""
    return _read_public_channels(environment_files(prefix), _CHANNELS, variables, {})


def usual_channels(variables: Mapping[str, str], prefix: Path, root: Path | None) -> tuple[str, ...]:
    """Return the channels that conda uses for every environment, from its configuration files, the highest first.

    Leaves out a channel whose name holds credentials: none of it goes elsewhere.
    """
    own = environment_files(prefix)
    files = [file for file in search_path(variables, prefix, root) if file not in own]
    channels = CondaSettings(files, _CHANNELS, variables, {}).read_list(*_CHANNELS)
    return tuple(each for each in channels if public_channel(each) == each)


def channel_settings(variables: Mapping[str, str], prefix: Path, root: Path | None) -> ChannelSettings:
    """Return conda's configuration of channel names, with its credentials; never stored.

    Args:
        variables: the shell's environment variables.
        root: the prefix that conda itself is installed in, or None if unknown.

    Raises:
        DocumentError: an unreadable file, which might assign a name to a private channel.
    """
    try:
        settings = CondaSettings(search_path(variables, prefix, root), _ALL, variables, variables, strict=True)
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


def _read_public_channels(
    files: Iterable[Path], names: tuple[str, ...], variables: Mapping[str, str], overrides: Mapping[str, str]
) -> tuple[str, ...]:
    channels = CondaSettings(files, names, variables, overrides).read_list(*names)
    return tuple(dict.fromkeys(map(public_channel, channels)))

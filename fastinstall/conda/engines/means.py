"""The inputs of a conda engine: environment variables, a cache directory, and conda's channel settings."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.observe.conda.channels import ChannelSettings, channel_settings
from fastinstall.observe.conda.executable import find_conda


@immutable
class CondaTools:
    """The inputs of a conda engine.

    Attributes:
        variables: the caller's environment variables.
        cache: the directory in fastinstall's cache that is reserved for engines.
        offline: use only cached files, no channels on the network.
    """

    variables: Mapping[str, str] = field(repr=False)
    cache: Path
    offline: bool = False

    def read_channel_settings(self, prefix: Path) -> ChannelSettings:
        """Read the channel settings in conda's configuration for an environment.

        If the environment does not exist yet, read the settings for the active environment.

        Raises:
            DocumentError: a configuration file cannot be read.
        """
        place = prefix if (prefix / "conda-meta").is_dir() else Path(self.variables.get("CONDA_PREFIX") or prefix)
        tool = find_conda(self.variables, place)
        return channel_settings(self.variables, place, Path(tool.root) if tool is not None else None)

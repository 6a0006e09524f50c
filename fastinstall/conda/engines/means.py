"""What a conda engine works with: the caller's variables, a directory of the cache, and the channels."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.observe.conda.channels import ChannelSettings, channel_settings
from fastinstall.observe.conda.executable import find_conda


@immutable
class CondaTools:
    """What comes from outside.

    Attributes:
        variables: the caller's environment variables.
        cache: a directory of fastinstall's cache that is the engines' own.
        offline: ask no channel of the network; what is cached has to do.
    """

    variables: Mapping[str, str] = field(repr=False)
    cache: Path
    offline: bool = False

    def read_channel_settings(self, prefix: Path) -> ChannelSettings:
        """Read what conda's configuration makes of names of channels, for an environment or one that is to be made.

        Raises:
            DocumentError: a file of it cannot be read.
        """
        place = prefix if (prefix / "conda-meta").is_dir() else Path(self.variables.get("CONDA_PREFIX") or prefix)
        tool = find_conda(self.variables, place)
        return channel_settings(self.variables, place, Path(tool.root) if tool is not None else None)

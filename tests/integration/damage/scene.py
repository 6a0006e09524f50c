"""An environment to be damaged, and helpers for all damage functions."""

from dataclasses import dataclass
from pathlib import Path

from support.environments.real import Environments
from support.sandbox import Venv

Variables = dict[str, str]
"""Variables with which a damage shows, usually none. Each damage function returns them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An environment to be damaged.

    Attributes:
        environments: creates environments, and provides the files that damage them.
        venv: the environment.
    """

    environments: Environments
    venv: Venv

    @property
    def root(self) -> Path:
        """Return a directory for files that a damage function creates."""
        return self.environments.sandbox.root

    @property
    def site(self) -> Path:
        """Return the environment's site-packages."""
        return self.venv.site_packages

    @property
    def core(self) -> Path:
        """Return PIL's imaging core."""
        return self.venv.core

    @property
    def metadata(self) -> Path:
        """Return the dist-info directory of the distribution that provides PIL."""
        (found,) = self.site.glob("[Pp]illow*.dist-info")
        return found

    def bundled(self, stem: str) -> Path:
        """Return a bundled library by its stem, for example "libjpeg"."""
        (found,) = self.site.glob(f"pillow.libs/{stem}-*")
        return found

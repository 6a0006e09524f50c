"""An environment to be damaged, and what all damages need."""

from dataclasses import dataclass
from pathlib import Path

from support.environments.real import Environments
from support.sandbox import Venv

Variables = dict[str, str]
"""Under which a damage shows; none, as a rule. Each damage is a function that returns them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An environment to be damaged.

    Attributes:
        environments: what made it, and what it can be damaged with.
        venv: the environment.
    """

    environments: Environments
    venv: Venv

    @property
    def root(self) -> Path:
        """A directory for what a damage makes."""
        return self.environments.sandbox.root

    @property
    def site(self) -> Path:
        """Where its distributions lie."""
        return self.venv.site_packages

    @property
    def core(self) -> Path:
        """PIL's imaging core."""
        return self.venv.core

    @property
    def metadata(self) -> Path:
        """The dist-info of what provides PIL."""
        (found,) = self.site.glob("[Pp]illow*.dist-info")
        return found

    def bundled(self, stem: str) -> Path:
        """A library that the wheel brought: "libjpeg"."""
        (found,) = self.site.glob(f"pillow.libs/{stem}-*")
        return found

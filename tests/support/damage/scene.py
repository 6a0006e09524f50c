"""An environment to be damaged, what that takes, and what all damages need."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from support.elf.jpeg_libraries import JpegLibraries
from support.elf.linked_pillow import SUFFIX, PillowSource
from support.environments.site_packages import record_line
from support.sandbox import Sandbox, Venv

Variables = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An environment to be damaged, and what that takes.

    Attributes:
        sandbox: where commands run.
        venv: the environment.
        parts: what it can be damaged with.
    """

    sandbox: Sandbox
    venv: Venv
    parts: "Parts"

    @property
    def site(self) -> Path:
        """Where its distributions lie."""
        return self.venv.site_packages

    @property
    def core(self) -> Path:
        """PIL's imaging core."""
        return self.site / f"PIL/_imaging{SUFFIX}"

    @property
    def metadata(self) -> Path:
        """The dist-info of what provides PIL."""
        (found,) = self.site.glob("[Pp]illow*.dist-info")
        return found

    def bundled(self, stem: str) -> Path:
        """A library that the wheel brought: "libjpeg"."""
        (found,) = self.site.glob(f"pillow.libs/{stem}-*")
        return found


class Parts(Protocol):
    """What environments are damaged with; each is made when the first damage asks."""

    def jpegs(self) -> JpegLibraries:
        """Other libjpegs."""
        ...

    def other_version(self) -> Path:
        """The site-packages of another version of Pillow."""
        ...

    def source(self) -> PillowSource:
        """Pillow's source, compiled as it should be."""
        ...

    def careless_source(self) -> PillowSource:
        """The same with the flags that many guides give: `CFLAGS=-mavx2`, and nothing of the interpreter's."""
        ...


Damage = Callable[[Scene], Variables]
"""Leaves the environment damaged, and returns the variables under which that shows: none, as a rule."""


def rerecord(site: Path, metadata: Path, changed: Path) -> None:
    """Make RECORD speak of a file as it is, as the one who built it would have."""
    name = changed.relative_to(site).as_posix()
    lines = (metadata / "RECORD").read_text().splitlines()
    kept = [line for line in lines if not line.startswith(f"{name},")]
    (metadata / "RECORD").write_text("\n".join((*kept, record_line(name, changed.read_bytes()), "")))

"""What a tool has to say of itself so that its projects can be pinned. Pure."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from fastinstall.core.architecture import LABEL_PATTERN
from fastinstall.core.values import immutable
from fastinstall.pins.markers import PinnedBuild, PinnedPackage

Pinned = TypeVar("Pinned", PinnedBuild, PinnedPackage)


@immutable
class Locking:
    """How a tool's program makes a lock.

    Attributes:
        lock: arguments that make the lock anew, and keep the versions that it has.
        why: a command that shows who requires Pillow.
        names_python: whether they take `--python`.
        variables: that it runs with.
        drops: variables of the user's that would lead it out of the copy in which a pin is tried.
    """

    lock: tuple[str, ...]
    why: str
    names_python: bool = False
    variables: Mapping[str, str]
    drops: tuple[str, ...]


class PinTool(ABC, Generic[Pinned]):
    """A tool that makes environments of a project's manifest and lock.

    Attributes:
        name: which is that of its module and of its program ("uv").
        manifests: the files that people write; the first that is there counts. A pin changes no others but the lock.
        lock: the file that it writes, or "" if it writes none.
        sync: the command by which it makes the environment.
        takes_packages: whether it installs our build as a conda package, and not as a wheel.
        locking: how a pin is tried beforehand, or None if only the tool itself can try it.
        pinned: what its manifests have where a build of ours is pinned; the first group is the build.
    """

    name: str
    manifests: tuple[str, ...] = ("pyproject.toml",)
    lock: str = ""
    sync: str
    takes_packages: bool = False
    locking: Locking | None = None
    pinned = re.compile(rf"(?:==|[/\"']pillow(?:_simd)?-)(\d[\w.]*\+[a-z]+(?:\.(?:{LABEL_PATTERN}))+)")

    def rank_signs(self, there: frozenset[str], tables: Mapping[str, Any]) -> int:
        """Return how strong a sign of this tool there is: 4 for a manifest of its own, 3 its lock, 2 its table, 0 none.

        Args:
            there: the manifests and locks of all tools that are there.
            tables: what [tool] of pyproject.toml has.
        """
        if there & {*self.manifests} - {"pyproject.toml"}:
            return 4
        return 3 if self.lock in there else 2 * (self.name in tables)

    @abstractmethod
    def format_lines(self, text: str, pinned: Pinned) -> str:
        """Return the TOML that a manifest with this text has to have for the pin."""

    def find_pinned(self, text: str) -> str:
        """Return the build of ours that a manifest pins ("13.0.0+simd.v3"); empty if it pins none."""
        found = self.pinned.search(text)
        return found[1] if found is not None else ""

    def describe_caution(self, directory: PurePath, pinned: Pinned) -> str:
        """Return what its users have to know of such a pin; empty for nothing."""
        return ""

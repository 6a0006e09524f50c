"""What a tool has to say of itself so that its projects can be pinned. Pure."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.pins.manifests import Addition, format_additions
from fastinstall.pins.markers import PinnedBuild, PinnedPackage

Pinned = TypeVar("Pinned", PinnedBuild, PinnedPackage)


_OUR_VERSION = re.compile(r"(?:==|[/\"']pillow(?:_simd)?-)(?P<version>\d[\w.]*\+[a-z]+(?:\.(?:v\d|native))+)")


class ProjectSign(IntEnum):
    """By what a directory shows that it is a project of a tool; the greater one decides."""

    NONE = 0
    SETTINGS = 1
    TABLE = 2
    LOCK = 3
    MANIFEST = 4


@immutable
class Locking:
    """How a tool's program makes a lock.

    Attributes:
        check: arguments that check whether the lock says what the manifest asks for.
        lock: arguments that make the lock.
        why: a command that shows who requires Pillow.
        names_python: whether both take `--python`.
        variables: that it runs with.
        drops: variables of the user's that would lead it out of the copy in which a pin is tried.
    """

    check: tuple[str, ...]
    lock: tuple[str, ...]
    why: str
    names_python: bool = False
    variables: Mapping[str, str]
    drops: tuple[str, ...]


@immutable
class Manifest:
    """The file that a pin edits.

    Attributes:
        path: absolute.
        text: its content.
        beside: the content of those files of `PinTool.beside` that are there, by name.
    """

    path: PurePath
    text: str
    beside: Mapping[str, str]


class PinTool(ABC, Generic[Pinned]):
    """A tool that makes environments of a project's manifest and lock.

    Attributes:
        name: which is that of its module and of its program ("uv").
        manifests: the files that people write; the first that is there counts. A pin writes no others but the lock.
        lock: the file that it writes, or "" if it writes none.
        beside: further files that `list_foreign` has to see.
        sync: the command by which it makes the environment.
        takes_packages: whether it installs our build as a conda package, and not as a wheel.
        locking: how a pin is tried beforehand, or None if only the tool itself can try it.
    """

    name: str
    manifests: tuple[str, ...] = ("pyproject.toml",)
    lock: str = ""
    beside: tuple[str, ...] = ()
    sync: str
    takes_packages: bool = False
    locking: Locking | None = None

    def sign(self, files: frozenset[str], tables: Mapping[str, Any]) -> ProjectSign:
        """Whether a directory is a project of this tool: by its lock, or its table.

        Args:
            files: the manifests and locks of all tools that are there.
            tables: what [tool] of pyproject.toml has.
        """
        if self.lock in files:
            return ProjectSign.LOCK
        return ProjectSign.TABLE if self.name in tables else ProjectSign.NONE

    @abstractmethod
    def list_additions(self, text: str, pinned: Pinned) -> tuple[Addition, ...]:
        """What the manifest has to say more.

        Args:
            text: of the manifest.
            pinned: what it is pinned to.
        """

    @abstractmethod
    def list_foreign(self, manifest: Manifest, pinned: Pinned) -> Iterator[str]:
        """The settings of somebody else's that decide on the distribution already, each with its place.

        Raises:
            RefusedError: something else is in the way.
            ValueError: something is not TOML.
        """

    def refuse_foreign(self, manifest: Manifest, pinned: Pinned) -> None:
        """Raise if somebody else's setting decides on the distribution already.

        Raises:
            RefusedError: shows theirs, and in its details ours.
            ValueError: something is not TOML.
        """
        for foreign in self.list_foreign(manifest, pinned):
            raise RefusedError(
                f"{manifest.path.name} already sets {pinned.name}: {foreign}",
                hint=f"remove it, then run the command again: grep -n {pinned.name} {quote(manifest.path)}",
                details=self.describe_additions(manifest.text, pinned),
            )

    def describe_additions(self, text: str, pinned: Pinned) -> tuple[str, ...]:
        """The lines that a person could add by hand."""
        return ("the pin would add:", *format_additions(self.list_additions(text, pinned)))

    def prepare_lock(self, manifest: str, lock: str, pinned: Pinned) -> str:
        """The lock without the pin, as the tool shall meet it when it locks with the pin.

        Raises:
            RefusedError: the tool would not notice that something in there forbids the pin.
        """
        return lock

    def find_pinned(self, text: str) -> str:
        """Find the build of ours that a manifest pins ("13.0.0+simd.v3"), or return "" if it pins none."""
        found = _OUR_VERSION.search(text)
        return found["version"] if found is not None else ""

    def describe_caution(self, directory: PurePath, pinned: Pinned) -> str:
        """What its users have to know of such a pin; empty for nothing."""
        return ""

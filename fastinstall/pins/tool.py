"""What a tool has to say of itself so that its projects can be pinned. Pure."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from pathlib import PurePath
from typing import Any, Protocol

from fastinstall.core.errors import RefusedError
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaPackage
from fastinstall.pins.manifests import Addition, format_additions
from fastinstall.pins.markers import PinnedBuild

CHANNEL = ".fastinstall/channel"
"""Where a project whose tool takes conda packages keeps ours, as a channel, relative to its directory."""


class ProjectSign(IntEnum):
    """By what a directory shows that it is a project of a tool; the greater one decides."""

    NONE = 0
    SETTINGS = 1
    TABLE = 2
    LOCK = 3
    MANIFEST = 4


class Payload(StrEnum):
    """What a tool finds our build as."""

    WHEEL = "wheel"
    CHANNEL = "channel"


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
class Pinned:
    """What a project is pinned to: a wheel, or a conda package.

    Attributes:
        build: of the wheel.
        package: of the channel.
    """

    build: PinnedBuild | None = None
    package: CondaPackage | None = None

    @property
    def wheel(self) -> PinnedBuild:
        """The build.

        Raises:
            RefusedError: it is a conda package.
        """
        if self.build is None:
            raise RefusedError("the project's tool takes wheels alone", hint="go without --pin")
        return self.build

    @property
    def conda(self) -> CondaPackage:
        """The package.

        Raises:
            RefusedError: it is a wheel.
        """
        if self.package is None:
            raise RefusedError("the project's tool takes no wheel", hint="go without --pin")
        return self.package


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


class PinTool(Protocol):
    """A tool that makes environments of a project's manifest and lock."""

    @property
    def name(self) -> str:
        """Its name, which is that of its module and of its program ("uv")."""

    @property
    def manifests(self) -> tuple[str, ...]:
        """The files that people write; the first that is there counts. A pin writes no others but the lock."""

    @property
    def lock(self) -> str:
        """The file that it writes, or "" if it writes none."""

    @property
    def beside(self) -> tuple[str, ...]:
        """Further files that `refuse_foreign` has to see."""

    @property
    def sync(self) -> str:
        """The command by which it makes the environment."""

    @property
    def payload(self) -> Payload:
        """What it finds our build as."""

    @property
    def locking(self) -> Locking | None:
        """How a pin is tried beforehand, or None if only the tool itself can try it."""

    def sign(self, files: frozenset[str], tables: Mapping[str, Any]) -> ProjectSign:
        """Whether a directory is a project of this tool.

        Args:
            files: the manifests and locks of all tools that are there.
            tables: what [tool] of pyproject.toml has.
        """

    def list_additions(self, text: str, pinned: Pinned) -> tuple[Addition, ...]:
        """What the manifest has to say more.

        Args:
            text: of the manifest.
            pinned: what it is pinned to.
        """

    def refuse_foreign(self, manifest: Manifest, pinned: Pinned) -> None:
        """Raise if somebody else's setting decides on the distribution already.

        Raises:
            RefusedError: shows theirs, and in its details ours.
            ValueError: something is not TOML.
        """

    def prepare_lock(self, manifest: str, lock: str, pinned: Pinned) -> str:
        """The lock without the pin, as the tool shall meet it when it locks with the pin.

        Raises:
            RefusedError: the tool would not notice that something in there forbids the pin.
        """

    def format_pin_words(self, requirement: str) -> str:
        """The words by which a manifest names what is pinned."""

    def describe_caution(self, directory: PurePath, pinned: Pinned) -> str:
        """What its users have to know of such a pin; empty for nothing."""


def make_foreign_setting_refusal(
    manifest: PurePath, name: str, foreign: str, additions: tuple[Addition, ...]
) -> RefusedError:
    """The refusal where a setting of somebody else's decides on the distribution.

    Args:
        manifest: that has it.
        name: of the distribution.
        foreign: the setting, with its place.
        additions: ours.
    """
    return RefusedError(
        f"{manifest.name} decides on {name} already: {foreign}",
        hint="take that out, or go without --pin",
        details=("the pin would add:", *format_additions(additions)),
    )


def version_of(requirement: str) -> str:
    """The version of what is pinned ("pillow==13.0.0+simd.v3")."""
    return requirement.rpartition("==")[2]

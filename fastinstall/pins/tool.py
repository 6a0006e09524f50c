"""Base class of the tools whose projects can be pinned, and the build that they are pinned to. Pure.

Where the build runs is said by markers of PEP 508.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from fastinstall.core.architecture import LABEL_PATTERN
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaPackage

_HERE = PurePath()
_WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)-cp3(?P<minor>\d+)-(?P<abi>[^-]+)-(?P<platforms>[^-]+)\.whl")


@immutable
class PinnedBuild:
    """A wheel of ours.

    Attributes:
        wheel: its file name, without the directory.
        name: of the distribution, in lower case, with hyphens ("pillow-simd").
        version: of the distribution, with its local label ("13.0.0+simd.v3").
        python: that it runs on ("3.11").
        machine: the `platform_machine` that it runs on ("x86_64").
        directory: where it lies, as the manifest names it: relative to the project, or absolute.
    """

    wheel: str
    name: str
    version: str
    python: str
    machine: str
    directory: PurePath

    @property
    def here(self) -> str:
        """The marker of where the wheel runs."""
        return f"{self._same_python} and {_AND.format(machine=self.machine)}"

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The markers of everywhere else, no two of which overlap.

        Beside each other, because a resolver that forks between Pythons (uv) loses such a fork where one marker
        covers several of them: numpy then fell to the newest of the oldest Python, for all.
        """
        return (
            f"{self._same_python} and ({_OR.format(machine=self.machine)})",
            f"python_full_version < '{self.python}'",
            f"python_full_version >= '{self._next_python}'",
        )

    @property
    def _same_python(self) -> str:
        return f"python_full_version >= '{self.python}' and python_full_version < '{self._next_python}'"

    @property
    def _next_python(self) -> str:
        major, minor = self.python.split(".")
        return f"{major}.{int(minor) + 1}"


_AND = "sys_platform == 'linux' and platform_machine == '{machine}' and platform_python_implementation == 'CPython'"
_OR = "sys_platform != 'linux' or platform_machine != '{machine}' or platform_python_implementation != 'CPython'"


@immutable
class PinnedPackage:
    """A conda package of ours, and the channel that it lies in.

    Attributes:
        package: the stack, as its channel lists it.
        directory: the channel, as the manifest names it: relative to the project, or absolute.
    """

    package: CondaPackage
    directory: PurePath


def parse_pinned_build(wheel: str, directory: PurePath = _HERE) -> PinnedBuild:
    """Return what a wheel's file name says of it (PEP 427).

    Args:
        directory: where the wheel lies, as the manifest names it.

    Raises:
        ValueError: not the name of a wheel of CPython for Linux.
    """
    found = _WHEEL.fullmatch(wheel)
    machine = re.search(r"linux(?:_\d+_\d+|\d+)?_(?P<machine>[a-z0-9_]+)$", found["platforms"]) if found else None
    if found is None or machine is None:
        raise ValueError(f"{wheel}: not a wheel of CPython for Linux")
    return PinnedBuild(
        wheel=wheel,
        name=found["name"].replace("_", "-").lower(),
        version=found["version"],
        python=f"3.{found['minor']}",
        machine=machine["machine"],
        directory=directory,
    )


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

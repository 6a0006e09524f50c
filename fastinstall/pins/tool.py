"""Base class of the tools whose projects can be pinned, and classes for the build that a project is pinned to. Pure.

Environment markers (PEP 508) say on which platforms and Pythons a wheel runs.
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
    """A wheel that fastinstall built.

    Attributes:
        wheel: its file name, without the directory.
        name: name of the distribution, in lower case, with hyphens ("pillow-simd").
        version: version of the distribution, with its local label ("13.0.0+simd.v3").
        python: the minor version of Python that it runs on ("3.11").
        machine: the `platform_machine` that it runs on ("x86_64").
        directory: the wheel's directory, as written in the manifest: relative to the project, or absolute.
    """

    wheel: str
    name: str
    version: str
    python: str
    machine: str
    directory: PurePath

    @property
    def here(self) -> str:
        """The marker that is true exactly where the wheel runs."""
        return f"{self._same_python} and {_AND.format(machine=self.machine)}"

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Markers that together are true wherever the wheel does not run; no two are true in the same place.

        They are separate because uv, which resolves ranges of Pythons separately, merges the ranges that one marker
        covers. All Pythons then got the newest numpy for the oldest of them.
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
    """A conda package that fastinstall built, and its channel.

    Attributes:
        package: the package of the stack, as its channel lists it.
        directory: directory of the channel, as written in the manifest: relative to the project, or absolute.
    """

    package: CondaPackage
    directory: PurePath


def parse_pinned_build(wheel: str, directory: PurePath = _HERE) -> PinnedBuild:
    """Parse the file name of a wheel (PEP 427).

    Args:
        wheel: the file name.
        directory: the wheel's directory, as written in the manifest.

    Raises:
        ValueError: it is not the name of a wheel for CPython on Linux.
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
        lock: arguments that write a new lock but keep the versions of the present one.
        why: a shell command that shows which distributions require Pillow.
        names_python: whether to add `--python` with the interpreter of the environment.
        variables: environment variables to set.
        drops: variables of the user's to remove, as they would make the tool leave the copy in which a pin is tried.
    """

    lock: tuple[str, ...]
    why: str
    names_python: bool = False
    variables: Mapping[str, str]
    drops: tuple[str, ...]


class PinTool(ABC, Generic[Pinned]):
    """A tool that makes environments from a project's manifest and lock file.

    Attributes:
        name: name of the tool ("uv"), of its module in `tools/`, and of its program.
        manifests: possible file names of the manifest; the first that exists is used. A pin changes only this file and
            the lock.
        lock: file name of the lock, or "" if the tool writes none.
        sync: the shell command that makes the environment.
        takes_packages: whether the tool installs the build as a conda package rather than a wheel.
        locking: how to try a pin in a copy of the project, or None if that is not possible.
        pinned: matches a pin to a build of fastinstall in a manifest; the first group is the build.
    """

    name: str
    manifests: tuple[str, ...] = ("pyproject.toml",)
    lock: str = ""
    sync: str
    takes_packages: bool = False
    locking: Locking | None = None
    pinned = re.compile(rf"(?:==|[/\"']pillow(?:_simd)?-)(\d[\w.]*\+[a-z]+(?:\.(?:{LABEL_PATTERN}))+)")

    def rank_signs(self, there: frozenset[str], tables: Mapping[str, Any]) -> int:
        """Return how clearly a project is this tool's: 4 for its own manifest, 3 for its lock, 2 for a table, else 0.

        Args:
            there: file names of the project's manifests and locks, of any tool.
            tables: content of the table [tool] in pyproject.toml.
        """
        if there & {*self.manifests} - {"pyproject.toml"}:
            return 4
        return 3 if self.lock in there else 2 * (self.name in tables)

    @abstractmethod
    def format_lines(self, text: str, pinned: Pinned) -> str:
        """Return the TOML to merge into a manifest with this text to pin the build."""

    def find_pinned(self, text: str) -> str:
        """Return the build of fastinstall that a manifest pins ("13.0.0+simd.v3"); empty if it pins none."""
        found = self.pinned.search(text)
        return found[1] if found is not None else ""

    def describe_caution(self, directory: PurePath, pinned: Pinned) -> str:
        """Return a warning to users about this pin; empty if none is needed."""
        return ""

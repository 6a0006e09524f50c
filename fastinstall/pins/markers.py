"""The build that a project is pinned to, and where it runs, as markers of PEP 508 say it. Pure."""

import re
from pathlib import PurePath

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

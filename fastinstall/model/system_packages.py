"""What the operating systems call the packages that a build needs, and the commands that install them. Pure."""

from collections.abc import Iterable

from fastinstall.core.values import immutable
from fastinstall.model.recipe import NativeRequirement

INSTALL = {
    "apt": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
    "apk": "apk add",
}
"""What installs packages, by the name of the package manager."""

_COMPILERS = {
    "apt": ("gcc", "libc6-dev"),
    "dnf": ("gcc",),
    "pacman": ("gcc",),
    "zypper": ("gcc",),
    "apk": ("gcc", "musl-dev"),
}
_PYTHONS = {
    "apt": "python{0}-dev",
    "dnf": "python{0}-devel",
    "pacman": "python",
    "zypper": "python{1}-devel",
    "apk": "python3-dev",
}

ELSEWHERE = (
    "build the wheel elsewhere: fastinstall build -o DIR; then here: fastinstall setup --offline --wheelhouse DIR"
)
"""What remains where neither a package manager nor the place of the headers is reached."""


@immutable
class BuildNeeds:
    """What a build needs of the operating system.

    Attributes:
        libraries: whose headers are missing.
        python: minor version of the Python whose headers are missing ("3.12"); empty: they are there.
        compiler: whether a C compiler is missing.
    """

    libraries: tuple[NativeRequirement, ...] = ()
    python: str = ""
    compiler: bool = False

    def list_packages(self, manager: str) -> tuple[str, ...]:
        """Return the names of the packages that a package manager has to install."""
        names = [*_COMPILERS[manager]] if self.compiler else []
        names += [_PYTHONS[manager].format(self.python, self.python.replace(".", ""))] if self.python else []
        names += [package for library in self.libraries for package in getattr(library, manager)]
        return tuple(dict.fromkeys(names))

    def explain(self, managers: Iterable[str], *, prefix: str = "") -> str:
        """Return the ways to bring it, for a hint.

        Args:
            managers: package managers that are there.
            prefix: before their commands: "sudo ".
        """
        packages = {manager: self.list_packages(manager) for manager in managers}
        ways = [f"{prefix}{INSTALL[manager]} {' '.join(names)}" for manager, names in packages.items() if names]
        return "; or ".join((*ways, ELSEWHERE))

"""The protocol of an engine that installs conda packages: it solves, fetches and links, and undoes nothing.

What an engine does to a live environment is recorded and undone by its caller.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from fastinstall.model.conda import CondaChange, CondaInstaller, CondaPackage, CondaRequest


class CondaEngine(Protocol):
    """Installs conda packages."""

    @property
    def name(self) -> CondaInstaller:
        """Which one it is."""

    @property
    def description(self) -> str:
        """For people: "conda 24.7.1, classic solver"."""

    def preview(self, request: CondaRequest) -> CondaChange:
        """Solve, and change nothing.

        What is installed stays as it is wherever the solver can, and pins are respected. Packages of `request.ours`
        need not exist.

        Raises:
            FailedError: no solution, a channel that cannot be reached, records that cannot be read.
            RefusedError: the environment is frozen, locked or not writable.
        """

    def link(self, packages: Sequence[CondaPackage], scratch: Path, *, prefix: Path) -> None:
        """Link packages with `file:` URLs into an empty directory, as if it were `prefix`.

        No solver is asked, no dependency is brought, and no list of environments learns of the directory. The records
        name the channels and URLs that are given, and what solvers should take as the user's request.

        Raises:
            FailedError: a package is damaged, or something is left that names the directory.
        """

    def change(self, prefix: Path, change: CondaChange) -> None:
        """Do exactly this to a live environment; no solver is asked.

        What is only in `unlinked` goes without its dependants, what is in `linked` comes; the same package in both is
        installed again. A name that is not installed is no error.

        Raises:
            FailedError: it did not come to what was asked; the environment may be changed half.
            RefusedError: the environment is frozen, locked or not writable; nothing is changed.
        """

    def read_contents(self, package: CondaPackage, *, python: str = "") -> tuple[str, ...]:
        """Fetch a package into the engine's cache, and tell what linking it brings.

        Args:
            package: the package; its `url` says where to fetch it.
            python: minor version of the environment's Python ("3.11"), for a noarch package of Python.

        Returns:
            Paths relative to a prefix, bytecode that may be compiled included.

        Raises:
            FailedError: it cannot be had.
        """

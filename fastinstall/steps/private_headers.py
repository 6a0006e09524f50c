"""Unpack C headers of the operating system's packages into our cache; neither root nor the system is touched."""

from collections.abc import Iterator

from fastinstall.core.events import Started
from fastinstall.core.values import immutable, tagged
from fastinstall.index.execution import ExecutionContext
from fastinstall.model.recipe_documents import Problem
from fastinstall.steps.kind import FetchedInputs, SavedPlanContext, StepDefaults, find_word_problems
from fastinstall.steps.system_packages import PACKAGE


@tagged("private-headers")
@immutable
class PrivateHeaders(StepDefaults):
    """Unpack C headers of the operating system's packages into our cache; the system stays as it is.

    Attributes:
        manager: "apt" or "dnf".
        packages: their names.
        libraries: the recipe's names of the libraries that they serve.
        reason: why.
    """

    manager: str
    packages: tuple[str, ...]
    libraries: tuple[str, ...]
    reason: str

    def describe(self) -> str:
        """What is done, in a line of a plan."""
        return f"fetch headers by {self.manager} into the cache: {' '.join(self.packages)}"

    def find_problems(self, _saved: SavedPlanContext, /) -> Iterator[Problem]:
        """Words that are not names of packages."""
        yield from find_word_problems(self.packages, "packages", PACKAGE, "the name of a package")

    def fetch(self, context: ExecutionContext) -> FetchedInputs:
        """Unpack them.

        Raises:
            FailedError: they cannot be had.
        """
        from fastinstall.wheelbuild.system_packages import (  # noqa: PLC0415 (only where it is carried out)
            include_directories,
            unpack_headers,
        )

        context.emit(Started(stage="headers", message=f"fetching headers: {' '.join(self.packages)}"))
        root = unpack_headers(self.manager, self.packages, context.cache, context.emit)
        return FetchedInputs(includes=include_directories(root))

"""Make a private prefix with compiler and headers in our cache, of conda packages."""

import re
from collections.abc import Iterator

from fastinstall.core.messages import listing
from fastinstall.core.values import immutable, tagged
from fastinstall.index.execution import ExecutionContext
from fastinstall.model.recipe_documents import Problem
from fastinstall.steps.kind import FetchedInputs, SavedPlanContext, StepDefaults, find_word_problems

_SPEC = re.compile(r"[A-Za-z0-9_][^\s'\"$`;|&<>\\]*(?: ?[<>=!~|,.*\w+-]+)*")
_CHANNEL = re.compile(r"[^\s-]\S*")


@tagged("conda-toolchain")
@immutable
class CondaToolchain(StepDefaults):
    """Make a private prefix with compiler and headers in our cache, of conda packages; the target stays as it is.

    Attributes:
        channels: where they come from, the first one preferred.
        packages: match specs.
        libraries: the recipe's names of the libraries that they serve.
        reason: why.
    """

    channels: tuple[str, ...]
    packages: tuple[str, ...]
    libraries: tuple[str, ...]
    reason: str

    def describe(self) -> str:
        """What is done, in a line of a plan."""
        where, what = listing(self.channels), " ".join(self.packages)
        return f"fetch a toolchain of conda packages from {where} into the cache: {what}"

    def find_problems(self, _saved: SavedPlanContext, /) -> Iterator[Problem]:
        """Words that are neither match specs nor channels."""
        yield from find_word_problems(self.packages, "packages", _SPEC, "a match spec")
        yield from find_word_problems(self.channels, "channels", _CHANNEL, "a channel")

    def fetch(self, context: ExecutionContext) -> FetchedInputs:
        """Make the prefix, or take the one that was made before.

        Raises:
            RefusedError: py-rattler is not there, or no packages answer to the plan.
            FailedError: they could not be installed, or there is no compiler among them.
        """
        from fastinstall.conda.compiler_prefix import prepare_private_toolchain  # noqa: PLC0415 (only where it is carried out)

        private = prepare_private_toolchain(self.packages, self.channels, context)
        return FetchedInputs(includes=private.includes, variables=private.variables)

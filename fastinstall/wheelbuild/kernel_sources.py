"""The C files of ours that go into a core: kernels, and what lets malloc keep memory."""

from pathlib import Path

from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import UsageError
from fastinstall.core.messages import listing
from fastinstall.model.recipe import Recipe


def find_memory_source(recipe: Recipe) -> Path | None:
    """Return the C file that lets malloc keep memory, for a recipe's core; None if it keeps none."""
    return recipes_directory() / "memory.c" if recipe.keep_memory else None


def list_kernel_sources(recipe: Recipe) -> tuple[Path, ...]:
    """Return the C files of a recipe's kernels, with the files that they include.

    Raises:
        UsageError: the recipe names an unknown kernel.
    """
    if not recipe.kernels:
        return ()
    directory = kernels_directory()
    found = {file.stem for file in directory.glob("*.c")}
    for index, kernel in enumerate(recipe.kernels):
        if kernel.name not in found:
            raise UsageError(
                f"recipe {recipe.name}: kernels[{index}].name: unknown kernel {kernel.name!r}",
                hint=f"known: {listing(sorted(found))}",
            )
    return (*sorted(directory.glob("*.h")), *(directory / f"{kernel.name}.c" for kernel in recipe.kernels))


def kernels_directory() -> Path:
    """Return the directory of the kernels that come with fastinstall."""
    return recipes_directory() / "kernels"

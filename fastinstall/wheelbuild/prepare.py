"""Prepare an unpacked source for compiling: put our kernels into it, and tune it; and say which C files of ours go in.

It is tuned by text: GCC's pragma and our macros, before a file or around single functions. Unlike command-line flags
they reach only that code, through any build backend.
"""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from fastinstall.core import files
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import UsageError
from fastinstall.core.events import Noted
from fastinstall.core.messages import listing
from fastinstall.model.recipe import Recipe
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers.probe import Headers
from fastinstall.wheelbuild.source_changes import add_kernel, apply_tuning_rule


def prepare_source(request: BuildRequest, headers: Headers, tree: Path) -> tuple[str, ...]:
    """Put our kernels into an unpacked source, and tune it.

    Args:
        headers: as found; function options require GCC.
        tree: top directory of the source.

    Returns:
        The names of the kernels that are in it.
    """
    if not headers.gcc and not headers.clang:
        return ()
    used = tuple(_add_kernels(request, headers, tree))
    _tune(request, headers, tree)
    return used


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


def _add_kernels(request: BuildRequest, headers: Headers, tree: Path) -> Iterator[str]:
    for kernel in request.recipe.kernels:
        if kernel.name in request.step.without or (kernel.clang_only and not headers.clang):
            continue
        path, sources = tree / kernel.file, kernels_directory()
        if not _rewrite(path, partial(add_kernel, kernel=kernel)):
            message = f"the kernel {kernel.name} is not used: {kernel.file} lacks a function that it replaces"
            request.emit(Noted(message=message, warning=True))
            continue
        shutil.copyfile(sources / f"{kernel.name}.c", path.with_name(f"{kernel.name}.h"))
        for header in sources.glob("*.h"):
            shutil.copyfile(header, path.with_name(header.name))
        yield kernel.name


def _tune(request: BuildRequest, headers: Headers, tree: Path) -> None:
    for rule in request.recipe.tuning:
        if rule.options and not headers.gcc:
            continue
        if not _rewrite(tree / rule.file, partial(apply_tuning_rule, rule=rule)):
            request.emit(Noted(message=f"a tuning rule is not used: {rule.file} lacks its function"))


def _rewrite(path: Path, change: Callable[[str], str | None]) -> bool:
    """Change the text of a C file; return False if it is missing or cannot be changed."""
    text = change(path.read_text(encoding="utf-8", errors="surrogateescape")) if path.is_file() else None
    if text is not None:
        files.write_bytes(path, text.encode("utf-8", "surrogateescape"))
    return text is not None

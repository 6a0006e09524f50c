"""Prepare the source for compiling: unpack it, put our kernels into it, and tune it.

- Unpack: only regular files and directories below one top directory.
- Tune by text: GCC's pragma and our macros, before a file or around single functions. Unlike command-line flags they
  reach only that code, through any build backend.
"""

import shutil
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from fastinstall.core import files
from fastinstall.core.archives import unpack_tar
from fastinstall.core.events import Noted
from fastinstall.wheelbuild.build_inputs import BuildRequest, kernels_directory
from fastinstall.wheelbuild.linking import Headers
from fastinstall.wheelbuild.source_changes import add_kernel, apply_tuning_rule

_NOT_COMPILED = ("Tests", "docs")  # they are 19/20 of Pillow's sdist


def extract_source(sdist: Path, directory: Path, *, but: Collection[str] = ()) -> Path:
    """Unpack an sdist.

    Args:
        sdist: a tar archive, compressed with gzip.
        directory: the destination; created if missing.
        but: entries of the top directory to leave out ("Tests").

    Returns:
        The one top directory of the archive.

    Raises:
        FailedError: it is not such an archive, is damaged, or holds a member that no sdist needs: an absolute path,
            "..", a link, a device, or a second top directory. Then nothing is unpacked.
        OSError: as the kernel says.
    """
    left_out = [(name,) for name in but]
    return directory / unpack_tar(sdist, directory, lambda name: PurePosixPath(name).parts[1:2] not in left_out)


def unpack_source(request: BuildRequest, space: Path) -> Path:
    """Return the top directory of the unpacked source, without files that are not compiled.

    Raises:
        FailedError: it cannot be unpacked.
    """
    return extract_source(request.source, space / "source", but=_NOT_COMPILED)


def prepare_source(request: BuildRequest, headers: Headers, tree: Path) -> tuple[str, ...]:
    """Put our kernels into an unpacked source, and tune it.

    Args:
        request: the build.
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

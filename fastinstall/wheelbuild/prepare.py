"""Unpack a source and prepare it for compiling: add the kernels, and apply the tuning rules.

The source is edited as text. Kernels replace functions of Pillow. Tuning rules put a pragma of GCC at the top of a
file, or a pragma or macro around single functions. Unlike command-line flags, these affect only that code, and work
with any build backend.

Functions are recognised by Pillow's formatting: a definition ends with the first "}" at the start of a line. A function
that is not found, or found twice (in branches of an #if), is not changed.
"""

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

from fastinstall.core import files
from fastinstall.core.archives import unpack_tar
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import UsageError
from fastinstall.core.events import Noted
from fastinstall.core.messages import listing
from fastinstall.core.version_numbers import contains
from fastinstall.model.recipe import SOURCE_SUFFIX, Kernel, Recipe, Tuning
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.headers import Headers

NOT_COMPILED = ("Tests", "docs")  # 95% of the size of Pillow's sdist


def extract_source(sdist: Path, directory: Path, *, but: Collection[str] = (), only: Collection[str] = ()) -> Path:
    """Unpack an sdist.

    Args:
        sdist: a tar archive, compressed with gzip.
        directory: the destination; created if missing.
        but: names in the top directory to leave out ("Tests").
        only: names in the top directory to unpack; empty for all.

    Returns:
        The path of the archive's only top directory.

    Raises:
        FailedError: the file is not such an archive, is damaged, or contains an absolute path, "..", a link, a device,
            or a second top directory.
        OSError: a file cannot be read or written.
    """

    def is_wanted(name: str) -> bool:
        below = PurePosixPath(name).parts[1:2]
        return not below or (below[0] not in but and (not only or below[0] in only))

    return unpack_tar(sdist, directory, is_wanted)


_FUNCTION = (
    r"^[ \t]*[A-Za-z_][\w \t*]*(?:\n[ \t]*)?(?<!\w)(?P<name>{name})\s*\([^;{{}}]*\)\s*"  # return type, name, parameters
    r"\{{.*?^\}}[^\n]*(?:\n|\Z)"  # its body
)


def prepare_source(request: BuildRequest, headers: Headers, tree: Path) -> tuple[str, ...]:
    """Put our kernels into an unpacked source, and apply the recipe's tuning rules.

    Args:
        headers: the probed headers, which also identify the compiler. Kernels need GCC or clang; tuning rules with
            compiler options need GCC.
        tree: top directory of the source.

    Returns:
        The names of the kernels that were put into the source.
    """
    if not headers.gcc and not headers.clang:
        return ()
    used = tuple(_add_kernels(request, headers, tree))
    for rule in request.recipe.tuning:
        if rule.options and not headers.gcc:
            continue
        if not _rewrite(tree / rule.file, partial(apply_tuning_rule, rule=rule)):
            request.emit(Noted(message=f"a tuning rule is not used: {rule.file} lacks its function"))
    return used


def find_memory_source(recipe: Recipe) -> Path | None:
    """Return the C file that makes malloc keep freed memory; None if the recipe does not request this."""
    return recipes_directory() / "memory.c" if recipe.keep_memory else None


def list_kernel_sources(recipe: Recipe) -> tuple[Path, ...]:
    """Return the C files of a recipe's kernels, and all headers that kernels may include.

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
    """Return the directory of fastinstall's kernels."""
    return recipes_directory() / "kernels"


def _add_kernels(request: BuildRequest, headers: Headers, tree: Path) -> Iterator[str]:
    source = request.step.source
    for kernel in request.recipe.kernels:
        if kernel.name in request.step.left_out or (kernel.clang_only and not headers.clang):
            continue
        if kernel.versions and source and not contains(kernel.versions, source.version):
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


def _rewrite(path: Path, change: Callable[[str], str | None]) -> bool:
    """Rewrite a C file with `change`; return False if the file is missing or `change` returns None."""
    text = change(path.read_text(encoding="utf-8", errors="surrogateescape")) if path.is_file() else None
    if text is not None:
        files.write_bytes(path, text.encode("utf-8", "surrogateescape"))
    return text is not None


def apply_tuning_rule(source: str, rule: Tuning) -> str | None:
    """Return a source with a tuning rule applied, or None if the source lacks a function of the rule.

    Args:
        source: the text of a C file.
        rule: options and macros, and the functions that they apply to.
    """
    if not rule.functions:
        return f"{_optimize(rule.options)}\n{source}"
    found = _find_functions(source, rule.functions)
    before = [f"#define {macro}" for macro in rule.macros]
    after = [f"#undef {macro.partition('(')[0]}" for macro in rule.macros]
    if rule.options:
        before = ["#pragma GCC push_options", _optimize(rule.options), *before]
        after = [*after, "#pragma GCC pop_options"]
    if found is None:
        return None
    return _surround(source, {each: (_join(before), _join(after)) for each in found})


def add_kernel(source: str, kernel: Kernel) -> str | None:
    """Return a source with one of our kernels added, or None if the source lacks a function that the kernel replaces.

    Macros rename the source's own definitions of the replaced functions. The kernel is included after the last of these
    definitions. If upstream has added leading underscores to a function's name, macros rename the kernel's function in
    the same way.

    Args:
        source: the text of a C file.
        kernel: the kernel; `KERNEL.h` must be beside the file.
    """
    found = _find_functions(source, [f"_*{name}" for name in kernel.functions])
    if found is None:
        return None
    names = zip(kernel.functions, (each["name"] for each in found), strict=True)
    renamed = [(name, own) for name, own in names if name != own]
    lines = [f"#define {name}{end} {own}{end}\n" for name, own in renamed for end in ("", SOURCE_SUFFIX)]
    added = {
        each: (f"#define {each['name']} {each['name']}{SOURCE_SUFFIX}\n", f"#undef {each['name']}\n") for each in found
    }
    last = max(added, key=lambda each: each.end())
    added[last] = (added[last][0], "".join((added[last][1], *lines, f'#include "{kernel.name}.h"\n')))
    return _surround(source, added)


def _find_functions(source: str, names: Iterable[str]) -> list[re.Match[str]] | None:
    """Return the definition that each name pattern matches; None if a pattern matches no definition or several."""
    found = [[*re.finditer(_FUNCTION.format(name=name), source, re.MULTILINE | re.DOTALL)] for name in names]
    return [each[0] for each in found] if all(len(each) == 1 for each in found) else None


def _surround(source: str, added: Mapping[re.Match[str], tuple[str, str]]) -> str:
    """Return a source with texts added before and after some functions; `added` has both texts for each function."""
    for each in sorted(added, key=lambda each: -each.start()):
        before, after = added[each]
        source = f"{source[: each.start()]}{before}{each[0]}{after}{source[each.end() :]}"
    return source


def _optimize(options: Sequence[str]) -> str:
    quoted = ", ".join(f'"{option}"' for option in options)
    return f"#pragma GCC optimize ({quoted})"


def _join(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)

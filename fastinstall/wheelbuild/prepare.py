"""Prepare the source for compiling: unpack it, merge the fork's changes if the recipe says so, and tune it.

- Unpack: only regular files and directories below one top directory.
- Tune by text: GCC's pragma and our macros, before a file or around single functions. Unlike command-line flags they
  reach only that code, through any build backend.
- Cache merges by all their inputs, completely or not at all. `<cache>/merges/<key>/` holds the files that a merge
  changed below `files/`, and `merge.json` with its report and digests. One merge serves every Python and every CPU
  level, and survives a failed build. Only merges that passed their static checks are cached.
"""

import hashlib
import importlib.metadata
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path, PurePosixPath

from fastinstall import __version__
from fastinstall import cmerge as merging
from fastinstall.cmerge.documents import SOURCE_SUFFIX, Kernels, MergeReport, OwnKernel, Tuning
from fastinstall.core import files, foreign, sealed_trees, values
from fastinstall.core.archives import unpack_tar
from fastinstall.core.errors import DocumentError, FailedError
from fastinstall.core.events import Emit, Finished, Noted, Started
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.wheelbuild.build_inputs import BuildRequest, kernels_directory
from fastinstall.wheelbuild.linking import Headers


def extract_source(sdist: Path, directory: Path, *, but: Collection[str] = (), only: Collection[str] = ()) -> Path:
    """Unpack an sdist.

    Args:
        sdist: a tar archive, compressed with gzip.
        directory: the destination; created if missing.
        but: entries of the top directory to leave out ("Tests").
        only: the only entries of the top directory to unpack; empty for all.

    Returns:
        The one top directory of the archive.

    Raises:
        FailedError: it is not such an archive, is damaged, or holds a member that no sdist needs: an absolute path,
            "..", a link, a device, or a second top directory. Then nothing is unpacked.
        OSError: as the kernel says.
    """
    return directory / unpack_tar(sdist, directory, lambda name: _is_wanted(PurePosixPath(name), but, only))


def _is_wanted(path: PurePosixPath, but: Collection[str], only: Collection[str]) -> bool:
    below = path.parts[1:2]
    return not below or (below[0] not in but and (not only or below[0] in only))


def apply_tuning_rule(source: str, rule: Tuning) -> str | None:
    """Apply a rule to a source, or return None if the source lacks a function of the rule.

    Args:
        source: the text of a C file.
        rule: what to insert where.
    """
    if not rule.functions:
        return f"{_optimize(rule.options)}\n{source}"
    return _remove_functions(source, rule)


def _remove_functions(source: str, rule: Tuning) -> str | None:
    from fastinstall.cmerge.syntax import parse_items  # noqa: PLC0415 (the parser, only where it is needed)

    parsed = parse_items(source)
    missing = set(rule.functions)
    pieces: list[str] = []
    for item in parsed.items:
        wanted = item.key.kind == "function" and item.key.name in rule.functions
        missing -= {item.key.name} if wanted else set()
        pieces += (item.lead, _wrap_definition(item.text, rule) if wanted else item.text)
    return None if missing else "".join((*pieces, parsed.tail))


def _wrap_definition(definition: str, rule: Tuning) -> str:
    before = [f"#define {macro}" for macro in rule.macros]
    after = [f"#undef {macro.partition('(')[0]}" for macro in rule.macros]
    if rule.options:
        before = ["#pragma GCC push_options", _optimize(rule.options), *before]
        after = [*after, "#pragma GCC pop_options"]
    return "\n".join(("", *before, definition, *after, ""))


def add_own_kernel(source: str, kernel: OwnKernel) -> str | None:
    """Put one of our kernels into a source, or return None if the source lacks a function of the kernel.

    Macros rename the source's own definitions; the kernel is included after the last of them. Functions that upstream
    renamed with leading underscores are found, and the kernel's are renamed likewise.

    Args:
        source: the text of a C file.
        kernel: the kernel; `KERNEL.h` must be beside the file.
    """
    from fastinstall.cmerge.syntax import parse_items  # noqa: PLC0415 (the parser, only where it is needed)

    parsed = parse_items(source)
    names: dict[str, str] = {}
    pieces: list[str] = []
    for item in parsed.items:
        found = _find_defined(item.text, kernel.functions) if item.key.kind in ("function", "conditional") else {}
        defines = "".join(f"#define {name} {name}{SOURCE_SUFFIX}\n" for name in found.values())
        undefines = "".join(f"\n#undef {name}" for name in found.values())
        pieces += (item.lead, f"\n{defines}{item.text}{undefines}\n" if found else item.text)
        names |= found
        if found and len(names) == len(kernel.functions):
            pieces.append(_include_kernel(kernel, names))
    return "".join((*pieces, parsed.tail)) if len(names) == len(kernel.functions) else None


def _find_defined(text: str, functions: Iterable[str]) -> dict[str, str]:
    """Return the functions that a definition, or what an #ifdef encloses, defines, with their names there."""
    found = {name: re.search(rf"\b_*{name}(?=\s*\([^;{{}}]*\)\s*\{{)", text) for name in functions}
    return {name: match.group() for name, match in found.items() if match}


def _include_kernel(kernel: OwnKernel, names: Mapping[str, str]) -> str:
    renamed = [(name, there) for name, there in names.items() if name != there]
    lines = [f"#define {name}{end} {there}{end}\n" for name, there in renamed for end in ("", SOURCE_SUFFIX)]
    return "".join((*lines, f'#include "{kernel.name}.h"\n'))


def _optimize(options: Sequence[str]) -> str:
    quoted = ", ".join(f'"{option}"' for option in options)
    return f"#pragma GCC optimize ({quoted})"


_FORMAT = "1"  # of the cache's entries
_ENTRY = "merge.json"
_FILES = "files"
_PARSER = ("tree-sitter", "tree-sitter-c")


@immutable
class MergeOrder:
    """All inputs of a merge, except the code that merges.

    Attributes:
        source: the sdist to merge onto, its hash verified.
        kernels: that of the fork.
        base: the sdist that the fork is based on.
        rules: the recipe's rules.
        without: parts of the fork to leave out.
    """

    source: Path
    kernels: Path
    base: Path
    rules: Kernels
    without: Sequence[str] = ()


@immutable
class _CachedMerge:
    """A merge in the cache: its report and, by path in the source, the digests of its files."""

    report: MergeReport
    files: dict[str, str]


def place_of(cache_root: Path, order: MergeOrder) -> Path:
    """Return the merge's directory in the cache."""
    return cache_root / "merges" / values.digest(_list_key_inputs(order))


def recall(place: Path, tree: Path, emit: Emit) -> MergeReport | None:
    """Apply a cached merge to an unpacked source.

    Args:
        place: from `place_of`.
        tree: the source's top directory, unchanged.
        emit: receives a warning about a damaged entry.

    Returns:
        The merge's report; None if it must be made. Then nothing is written.
    """
    if not place.is_dir():
        return None
    try:
        is_intact = sealed_trees.is_intact(place, cache=place.parent.parent)
        entry = _read(place)
        contents = {name: foreign.read_bytes(place / _FILES / name) for name in entry.files} if is_intact else None
    except (OSError, ValueError, DocumentError):
        contents = None
    if contents is None:
        emit(Noted(message=f"{place}: the cached merge is damaged; merging again", warning=True))
        return None
    for name, content in contents.items():
        files.write_bytes(tree / name, content, durable=False)
    return entry.report


def keep(place: Path, tree: Path, report: MergeReport) -> None:
    """Put a merge into the cache, replacing an existing entry.

    Args:
        place: from `place_of`.
        tree: top directory of the merged source.
        report: the merge's report.
    """
    contents = {name: foreign.read_bytes(tree / name) for name in (*report.files, *report.new_files)}
    digests = {name: _digest(content) for name, content in contents.items()}
    with files.temporary_directory("merge", within=place.parent.parent / "tmp") as space:
        for name, content in contents.items():
            files.write_bytes(space / "entry" / _FILES / name, content, durable=False)
        entry = values.dump(values.document("merged", _CachedMerge(report=report, files=digests)))
        files.write_text(space / "entry" / _ENTRY, entry, durable=False)
        sealed_trees.publish(space / "entry", place, space / "old", cache=place.parent.parent)


def _list_key_inputs(order: MergeOrder) -> dict[str, object]:
    """Return all inputs by name, including the code that merges, so that no version number needs raising."""
    return {
        "format": _FORMAT,
        "tool": __version__,
        "code": _digest_merge_code(),
        "parser": [importlib.metadata.version(name) for name in _PARSER],
        "source": files.sha256(order.source),
        "kernels": files.sha256(order.kernels),
        "base": files.sha256(order.base),
        "rules": order.rules,
        "without": list(order.without),
    }


@cache
def _digest_merge_code() -> str:
    modules = sorted(Path(path) for directory in merging.__path__ for path in Path(directory).glob("*.py"))
    return values.digest({path.name: files.sha256(path) for path in modules})


def _read(place: Path) -> _CachedMerge:
    path = place / _ENTRY
    return values.open_document(_CachedMerge, "merged", json_data(foreign.read_text(path)), file=path)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_NOT_COMPILED = ("Tests", "docs")  # they are 19/20 of Pillow's sdist
_CODE = ("src",)


def unpack_source(request: BuildRequest, space: Path) -> Path:
    """Return the top directory of the unpacked source, without files that are not compiled.

    Raises:
        FailedError: it cannot be unpacked.
    """
    return extract_source(request.source, space / "source", but=_NOT_COMPILED)


def prepare_source(request: BuildRequest, headers: Headers, tree: Path, space: Path) -> MergeReport | None:
    """Merge and tune an unpacked source.

    Args:
        request: the build.
        headers: as found; function options require GCC.
        tree: top directory of the source.
        space: a temporary directory.

    Returns:
        The merge's report, or None if nothing is merged.

    Raises:
        FailedError: an sdist cannot be unpacked, or the merged source fails its static checks.
    """
    report = None
    if request.recipe.kernels is not None and request.kernels is not None and request.base is not None:
        report = _merge_kernels(request, request.recipe.kernels, tree, space)
    if headers.gcc or headers.clang:
        own = request.recipe.kernels.own if request.recipe.kernels is not None else ()
        wanted = (kernel for kernel in own if kernel.name not in request.step.without)
        _add_own_kernels(request, (kernel for kernel in wanted if headers.clang or not kernel.clang_only), tree)
        rules = (rule for rule in request.recipe.tuning if headers.gcc or not rule.options)
        _tune(request, rules, tree)
    return report


def _merge_kernels(request: BuildRequest, kernels: Kernels, tree: Path, space: Path) -> MergeReport:
    order = MergeOrder(
        source=request.source,
        kernels=_require_sdist(request.kernels),
        base=_require_sdist(request.base),
        rules=kernels,
        without=request.step.without,
    )
    place = place_of(request.cache, order)
    report = recall(place, tree, request.emit)
    if report is None:
        report = _merge(request, order, tree, space)
        keep(place, tree, report)
    else:
        request.emit(Noted(message=f"{_describe_order(order)}: taken from the cache", detail=True))
    for each in report.not_accelerated:
        request.emit(Noted(message=f"{each.what} is not accelerated: {each.reason}", warning=True))
    return report


def _merge(request: BuildRequest, order: MergeOrder, tree: Path, space: Path) -> MergeReport:
    from fastinstall.cmerge.diagnostics import check_tree  # noqa: PLC0415 (the parser, only where something is merged)
    from fastinstall.cmerge.trees import Trees, merge_trees  # noqa: PLC0415 (likewise)

    started = time.monotonic()
    what = _describe_order(order)
    request.emit(Started(stage="merge", message=f"merging {what}"))
    fork = extract_source(order.kernels, space / "kernels", only=_CODE)
    base = extract_source(order.base, space / "base", only=_CODE)
    upstream = space / "upstream" / tree.name
    shutil.copytree(tree / "src", upstream / "src")
    report = merge_trees(Trees(base=base, kernels=fork, target=tree), order.rules, without=order.without)
    problems = check_tree(upstream, tree, report.files)
    if problems:
        raise FailedError(
            f"the merge of {what} failed its static checks: {problems[0]}",
            hint="please report this; to build without the kernels, pass --recipe pillow",
            details=problems,
        )
    request.emit(Finished(stage="merge", message=f"merged {what}", seconds=time.monotonic() - started))
    return report


def _add_own_kernels(request: BuildRequest, own: Iterable[OwnKernel], tree: Path) -> None:
    for kernel in own:
        path = tree / kernel.file
        if not _rewrite(path, partial(add_own_kernel, kernel=kernel)):
            message = f"the kernel {kernel.name} is not used: {kernel.file} lacks a function that it replaces"
            request.emit(Noted(message=message, warning=True))
            continue
        for source, name in ((f"{kernel.name}.c", f"{kernel.name}.h"), ("vectors.h", "vectors.h")):
            shutil.copyfile(kernels_directory() / source, path.with_name(name))


def _tune(request: BuildRequest, rules: Iterable[Tuning], tree: Path) -> None:
    for rule in rules:
        if not _rewrite(tree / rule.file, partial(apply_tuning_rule, rule=rule)):
            request.emit(Noted(message=f"a tuning rule is not used: {rule.file} lacks its function"))


def _rewrite(path: Path, change: Callable[[str], str | None]) -> bool:
    """Change the text of a C file; return False if it is missing or cannot be changed."""
    text = change(path.read_text(encoding="utf-8", errors="surrogateescape")) if path.is_file() else None
    if text is not None:
        files.write_bytes(path, text.encode("utf-8", "surrogateescape"))
    return text is not None


def _describe_order(order: MergeOrder) -> str:
    return f"the kernels of {_strip_sdist_suffix(order.kernels)} onto {_strip_sdist_suffix(order.source)}"


def _require_sdist(path: Path | None) -> Path:
    if path is None:
        raise FailedError("a merge needs the sdists of the fork and of its base")
    return path


def _strip_sdist_suffix(path: Path) -> str:
    return path.name.removesuffix(".tar.gz")

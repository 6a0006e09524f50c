"""The source as it is compiled: unpacked, the fork's changes merged in where the recipe says so, and tuned."""

import shutil
import time
from pathlib import Path

from fastinstall.build.headers import Headers
from fastinstall.build.merges import MergeOrder, keep, place_of, recall
from fastinstall.build.request import BuildRequest
from fastinstall.build.source import extract_source
from fastinstall.build.tuning import tuned
from fastinstall.errors import FailedError
from fastinstall.model.event import Finished, Noted, Started
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import Kernels, Tuning
from fastinstall.model.merge import MergeReport
from fastinstall.system import files

_NOT_COMPILED = ("Tests", "docs")  # of Pillow's sdist they are 19 parts of 20
_CODE = ("src",)


@immutable
class Prepared:
    """A source that can be compiled.

    Attributes:
        tree: its top directory.
        report: what the merge did, or None if nothing is merged.
    """

    tree: Path
    report: MergeReport | None


def prepare_source(request: BuildRequest, headers: Headers, space: Path) -> Prepared:
    """Unpack, merge and tune.

    Args:
        request: the build.
        headers: as found; tuning is GCC's.
        space: an empty directory.

    Raises:
        FailedError: an sdist cannot be unpacked, or the merged source fails its static checks.
    """
    tree = extract_source(request.source, space / "source", but=_NOT_COMPILED)
    report = None
    if request.recipe.kernels is not None and request.kernels is not None and request.base is not None:
        report = _merged(request, request.recipe.kernels, tree, space)
    if headers.gcc:
        _tune(request, request.recipe.tuning, tree)
    return Prepared(tree=tree, report=report)


def _merged(request: BuildRequest, kernels: Kernels, tree: Path, space: Path) -> MergeReport:
    order = MergeOrder(
        source=request.source,
        kernels=_given(request.kernels),
        base=_given(request.base),
        rules=kernels,
        without=request.step.without,
    )
    place = place_of(request.cache, order)
    report = recall(place, tree, request.emit)
    if report is None:
        report = _merge(request, order, tree, space)
        keep(place, tree, report)
    else:
        request.emit(Noted(message=f"{_what(order)}: merged before, and taken from the cache"))
    for each in report.not_accelerated:
        request.emit(Noted(message=f"{each.what} is not accelerated: {each.reason}", warning=True))
    return report


def _merge(request: BuildRequest, order: MergeOrder, tree: Path, space: Path) -> MergeReport:
    from fastinstall.merge.pairs import check_tree  # noqa: PLC0415 (the parser, only where something is merged)
    from fastinstall.merge.trees import Trees, merge_trees  # noqa: PLC0415 (likewise)

    started = time.monotonic()
    what = _what(order)
    request.emit(Started(stage="merge", message=f"merging {what}"))
    fork = extract_source(order.kernels, space / "kernels", only=_CODE)
    base = extract_source(order.base, space / "base", only=_CODE)
    upstream = space / "upstream" / tree.name
    shutil.copytree(tree / "src", upstream / "src")
    report = merge_trees(Trees(base=base, kernels=fork, target=tree), order.rules, without=order.without)
    problems = check_tree(upstream, tree, report.files)
    if problems:
        raise FailedError(
            f"the merge of {what} fails its static checks: {problems[0]}",
            hint="--recipe pillow builds today's Pillow without the kernels; please report this",
            details=problems,
        )
    request.emit(Finished(stage="merge", message=f"merged {what}", seconds=time.monotonic() - started))
    return report


def _tune(request: BuildRequest, rules: tuple[Tuning, ...], tree: Path) -> None:
    for rule in rules:
        path = tree / rule.file
        if not path.is_file():
            request.emit(Noted(message=f"{rule.file} is not in this source: the rule that tunes it is not used"))
            continue
        text = tuned(path.read_text(encoding="utf-8", errors="surrogateescape"), rule)
        if text is None:
            request.emit(Noted(message=f"{rule.file} lacks a function that a rule tunes: the rule is not used"))
            continue
        files.write_bytes(path, text.encode("utf-8", "surrogateescape"))


def _what(order: MergeOrder) -> str:
    return f"the kernels of {_stem(order.kernels)} onto {_stem(order.source)}"


def _given(path: Path | None) -> Path:
    if path is None:
        raise FailedError("a merge needs the sdist of the fork and that of what it follows")
    return path


def _stem(path: Path) -> str:
    return path.name.removesuffix(".tar.gz")

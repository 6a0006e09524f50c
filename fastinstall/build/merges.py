"""Our cache of merges: found by everything that decides them, stored whole or not at all.

`<cache>/merges/<key>/` holds what a merge changed below `files/`, and `merge.json` with its report and their digests.
One merge serves every Python and every CPU level, and a build that failed behind it. Only merges that passed their
static checks are put here.
"""

import hashlib
import importlib.metadata
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fastinstall import __version__
from fastinstall import merge as merging
from fastinstall.errors import DocumentError
from fastinstall.model import codec
from fastinstall.model.event import Emit, Noted
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import Kernels
from fastinstall.model.merge import MergeReport
from fastinstall.model.parsing import json_data
from fastinstall.system import files, foreign

_FORMAT = "1"  # of what lies in the cache
_ENTRY = "merge.json"
_FILES = "files"
_PARSER = ("tree-sitter", "tree-sitter-c")


@immutable
class MergeOrder:
    """Everything that decides a merge, besides the code that merges.

    Attributes:
        source: the sdist that is merged onto, its hash verified.
        kernels: that of the fork.
        base: that of what the fork follows.
        rules: of the recipe.
        without: names of parts of the fork that are left out.
    """

    source: Path
    kernels: Path
    base: Path
    rules: Kernels
    without: Sequence[str] = ()


@immutable
class _Entry:
    """A merge in the cache: its report and, by path in the source, the digests of the files that it wrote."""

    report: MergeReport
    files: dict[str, str]


def place_of(cache_root: Path, order: MergeOrder) -> Path:
    """Where the merge lies, if it is in the cache."""
    return cache_root / "merges" / codec.digest(_inputs(order))


def recall(place: Path, tree: Path, emit: Emit) -> MergeReport | None:
    """Do to an unpacked source what the merge did to it before.

    Args:
        place: as `place_of` says.
        tree: the source's top directory, as its sdist has it.
        emit: hears of an entry that is damaged, and not used.

    Returns:
        What the merge reported; None where it has to be made. Nothing is written then.
    """
    if not place.is_dir():
        return None
    try:
        entry = _read(place)
        contents = {name: foreign.read_bytes(place / _FILES / name) for name in entry.files}
    except (OSError, ValueError, DocumentError):
        contents = None
    if contents is None or {name: _digest(content) for name, content in contents.items()} != entry.files:
        emit(Noted(message=f"{place}: the cached merge is damaged; it is made again", warning=True))
        return None
    for name, content in contents.items():
        files.write_bytes(tree / name, content, durable=False)
    return entry.report


def keep(place: Path, tree: Path, report: MergeReport) -> None:
    """Put a merge into the cache, in place of what is there.

    Args:
        place: as `place_of` says.
        tree: top directory of the merged source.
        report: what the merge reported.
    """
    contents = {name: foreign.read_bytes(tree / name) for name in (*report.files, *report.new_files)}
    digests = {name: _digest(content) for name, content in contents.items()}
    with files.temporary_directory("merge", within=place.parent.parent / "tmp") as space:
        for name, content in contents.items():
            files.write_bytes(space / "entry" / _FILES / name, content, durable=False)
        entry = codec.dump(codec.document("merged", _Entry(report=report, files=digests)))
        files.write_text(space / "entry" / _ENTRY, entry, durable=False)
        files.publish(space / "entry", place, space / "old")


def _inputs(order: MergeOrder) -> dict[str, object]:
    """All of it by name; the code that merges is among it, so that no number has to be raised when it changes."""
    return {
        "format": _FORMAT,
        "tool": __version__,
        "code": _code(),
        "parser": [importlib.metadata.version(name) for name in _PARSER],
        "source": files.sha256(order.source),
        "kernels": files.sha256(order.kernels),
        "base": files.sha256(order.base),
        "rules": order.rules,
        "without": list(order.without),
    }


@cache
def _code() -> str:
    modules = sorted(Path(path) for directory in merging.__path__ for path in Path(directory).glob("*.py"))
    return codec.digest({path.name: files.sha256(path) for path in modules})


def _read(place: Path) -> _Entry:
    path = place / _ENTRY
    return codec.open_document(_Entry, "merged", json_data(foreign.read_text(path)), file=path)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

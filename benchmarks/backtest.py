"""The merge on history: would it have made the pillow-simd that was then made by hand?

    python benchmarks/backtest.py [--sdists DIR] [--pairs BASE:UPSTREAM,...] [--markdown] [--json]

For each pair of Pillow's releases, the kernels of the pillow-simd that follows the first are merged onto the second,
and the result is compared with the pillow-simd that was published for the second, token by token. Rules of the recipe
(what is kept, what is guarded) are left out: this tests the algorithm alone. Beside it, what a line merge (git
merge-file) leaves to be done by hand.

Without --sdists, the sources come from the package index, as pip is configured. Exit 1 where a merged tree has
conflicts, fails its static checks, or differs from the published one in an item that is no conflict.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fastinstall.cmerge.diagnostics import check_tree
from fastinstall.cmerge.documents import Kernels, MergeReport, TextOrigin
from fastinstall.cmerge.syntax import ItemKey, parse_items
from fastinstall.cmerge.trees import Trees, merge_trees
from fastinstall.core.events import ignore
from fastinstall.core.surroundings import recipes_directory
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import pip_settings
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import load_recipe
from fastinstall.observe.session import open_session
from fastinstall.wheelbuild.prepare import extract_source

PAIRS = (
    ("10.4.0", "11.0.0"),
    ("11.0.0", "11.1.0"),
    ("11.1.0", "11.2.1"),
    ("11.2.1", "11.3.0"),
    ("11.3.0", "12.0.0"),
    ("12.0.0", "12.1.1"),
    ("10.4.0", "11.3.0"),
    ("10.4.0", "12.1.1"),
    ("11.0.0", "12.1.1"),
    ("11.3.0", "12.1.1"),
)
UPSTREAM, FORK = "pillow", "pillow-simd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one pair.

    Attributes:
        base: version of Pillow that the fork's kernels were taken from.
        upstream: version onto which they were merged.
        line_conflicts: conflicts that a line merge leaves; None without git.
        line_files: files that have them.
        conflicts: definitions that stayed upstream's because both sides changed them.
        merged: definitions merged statement by statement.
        canonical: definitions merged in canonical form.
        compared: files that the fork changed or brought, on either side.
        differing: definitions that are not the published ones: "src/libImaging/Bands.c: ImagingSplit".
        problems: what the static checks found.
        seconds: of the merge.
    """

    base: str
    upstream: str
    line_conflicts: int | None
    line_files: int | None
    conflicts: int
    merged: int
    canonical: int
    compared: int
    differing: tuple[str, ...]
    problems: tuple[str, ...]
    seconds: float

    @property
    def identical(self) -> int:
        """Files that are token for token the published ones."""
        return self.compared - len({item.partition(": ")[0] for item in self.differing})

    @property
    def good(self) -> bool:
        """Whether nothing was left to do by hand."""
        return not (self.conflicts or self.problems or self.differing)


def main() -> int:
    """Merge every pair and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sdists", type=Path, help="a directory with the sdists of both, all versions")
    parser.add_argument("--pairs", type=pairs, default=PAIRS, help="BASE:UPSTREAM,...")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sdists = in_directory(arguments.sdists) if arguments.sdists else fetched(arguments.pairs)
    with tempfile.TemporaryDirectory(prefix="fastinstall-backtest-") as name:
        outcomes = [back_test(pair, sdists, Path(name)) for pair in arguments.pairs]
    if arguments.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    else:
        print("\n".join(table(outcomes, markdown=arguments.markdown)))
    return 0 if all(outcome.good for outcome in outcomes) else 1


def pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Read "10.4.0:11.0.0,11.0.0:11.1.0"."""
    split = [each.partition(":") for each in text.split(",")]
    return tuple((base, upstream) for base, _, upstream in split)


def in_directory(directory: Path) -> dict[str, Path]:
    """The files of a directory by name."""
    return {path.name: path for path in directory.iterdir()}


def fetched(wanted: Sequence[tuple[str, str]], cache: Path | None = None) -> dict[str, Path]:
    """The sdists of both distributions by name, from the package index; downloaded once.

    Args:
        wanted: pairs of versions.
        cache: our cache directory; None for the user's.
    """
    cache = cache or open_session(os.environ).directories.cache
    index = PackageIndex(settings=pip_settings(Path(sys.executable), os.environ))
    interpreter = observe_interpreter(Path(sys.executable))
    versions = {version for pair in wanted for version in pair}
    recipes = (load_recipe(name, (recipes_directory(),)) for name in (UPSTREAM, FORK))
    offered = (artefact for recipe in recipes for artefact in index.releases(recipe, interpreter).sources)
    needed = (artefact for artefact in offered if artefact.version.partition(".post")[0] in versions)
    return {artefact.filename: index.fetch(artefact, cache, ignore) for artefact in needed}


def back_test(pair: tuple[str, str], sdists: Mapping[str, Path], scratch: Path) -> Outcome:
    """Merge one pair below a scratch directory.

    Args:
        pair: versions of the base and of the one merged onto.
        sdists: the sources by file name.
        scratch: an empty directory, or that of another pair.
    """
    base, upstream = (unpacked(UPSTREAM, version, sdists, scratch) for version in pair)
    fork, published = (unpacked(FORK, version, sdists, scratch) for version in pair)
    target = scratch / "merged" / upstream.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(upstream, target)
    start = time.perf_counter()
    report = merge_trees(Trees(base=base, kernels=fork, target=target), Kernels(pypi=FORK, follows=UPSTREAM))
    seconds = time.perf_counter() - start
    changed = sorted({*changed_files(upstream, published), *changed_files(base, fork)})
    lines = [line_conflicts(base / file, upstream / file, fork / file) for file in changed_files(base, fork)]
    counted = [number for number in lines if number is not None]
    return Outcome(
        base=pair[0],
        upstream=pair[1],
        line_conflicts=sum(counted) if counted else None,
        line_files=sum(number > 0 for number in counted) if counted else None,
        conflicts=count(report, TextOrigin.CONFLICT),
        merged=count(report, TextOrigin.MERGED),
        canonical=count(report, TextOrigin.CANONICAL),
        compared=len(changed),
        differing=tuple(item for file in changed for item in differing(target, published, file)),
        problems=check_tree(upstream, target, report.files),
        seconds=seconds,
    )


def unpacked(name: str, version: str, sdists: Mapping[str, Path], scratch: Path) -> Path:
    """The code of one release, unpacked once."""
    stem = name.replace("-", "_") + f"-{version}" + (".post0" if name == FORK else "")
    if f"{stem}.tar.gz" not in sdists:
        sys.exit(f"{stem}.tar.gz is not there")
    if not (scratch / stem).exists():
        extract_source(sdists[f"{stem}.tar.gz"], scratch, only=("src",))
    return scratch / stem


def changed_files(before: Path, after: Path) -> list[str]:
    """C sources and headers that are new or other in a tree."""
    found = (path for path in (after / "src").rglob("*.[ch]"))
    names = [path.relative_to(after).as_posix() for path in found]
    return sorted(name for name in names if content(before / name) != content(after / name))


def differing(merged: Path, published: Path, file: str) -> list[str]:
    """Definitions of a file whose tokens are not the published ones."""
    ours, theirs = (items(tree / file) for tree in (merged, published))
    return sorted({f"{file}: {key.name}" for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)})


def items(path: Path) -> dict[ItemKey, tuple[str, ...]]:
    """Definitions by key, as tokens."""
    text = (content(path) or b"").decode("utf-8", "surrogateescape")
    return {key: item.signature for key, item in parse_items(text).by_key.items()}


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def line_conflicts(base: Path, upstream: Path, fork: Path) -> int | None:
    """How many conflicts a line merge of a file leaves; None where there is no git, or nothing to merge."""
    git = shutil.which("git")
    if git is None or not (base.is_file() and upstream.is_file()):
        return None
    command = (git, "merge-file", "-p", "-q", str(upstream), str(base), str(fork))
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode


def count(report: MergeReport, origin: TextOrigin) -> int:
    return sum(item.origin is origin for item in report.items)


def table(outcomes: Sequence[Outcome], *, markdown: bool) -> list[str]:
    """One line for each pair, and below them what differs."""
    head = ("merge", "line merge leaves", "conflicts", "merged", "canonical form", "files as published", "seconds")
    rows = [head, *(cells(outcome) for outcome in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, " | ".join("-" * width for width in widths))
    notes = [f"{outcome.upstream}: {note}" for outcome in outcomes for note in (*outcome.differing, *outcome.problems)]
    return [*(f"| {line} |" if markdown else line.rstrip() for line in lines), *notes]


def cells(outcome: Outcome) -> tuple[str, ...]:
    by_hand = "no git" if outcome.line_conflicts is None else f"{outcome.line_conflicts} in {outcome.line_files} files"
    return (
        f"{outcome.base} → {outcome.upstream}",
        by_hand,
        str(outcome.conflicts),
        str(outcome.merged),
        str(outcome.canonical),
        f"{outcome.identical} of {outcome.compared}",
        f"{outcome.seconds:.1f}",
    )


if __name__ == "__main__":
    sys.exit(main())

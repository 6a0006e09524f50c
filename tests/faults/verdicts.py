"""Verdicts on an environment: unchanged, completely changed, or lost."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from support.sandbox import run

from fastinstall.core.errors import FastinstallError
from fastinstall.journal.rollback import recover
from fastinstall.journal.store import JournalStore
from faults.film import Film, Frame
from faults.scenes import Scene
from faults.trees import Pool, Tree

_USE = "from PIL import Image; print(len(Image.new('RGB', (64, 64), 'red').resize((16, 16)).tobytes()))"
_AT_THE_EDGE = frozenset({".", "share", "share/fastinstall"})
"""Directories that contain a journal while our directories are created and removed.

The modification time of one of them may differ if the process is killed between the creation of the journal and its
first line, or between its removal and the call that restores the time.
"""


class Verdict(StrEnum):
    """The verdict on an environment."""

    BEFORE = "before"
    AFTER = "after"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A state that a kill left, and the result of the recovery.

    Attributes:
        frame: the state that the kill left.
        verdict: the verdict on the environment after recovery.
        recovered: whether the recovery found an interrupted transaction, and undid or completed it.
        unlike: paths that differ from the nearer of the states before and after the command, or the error of the
            recovery.
    """

    frame: Frame
    verdict: Verdict
    recovered: bool
    unlike: tuple[str, ...] = ()


def judged(scene: Scene, film: Film, pool: Pool) -> Iterator[Judged]:
    """Restore and recover each recorded disk state; compare the result with the states before and after the command."""
    before, after = environment(film.before), environment(film.after)
    for frame in film.frames:
        frame.lay(pool, scene.live)
        try:
            recovered = recover(JournalStore(scene.prefix)) is not None if scene.prefix.is_dir() else False
        except FastinstallError as error:
            yield Judged(frame=frame, verdict=Verdict.LOST, recovered=False, unlike=(error.message,))
            continue
        found = environment(pool.read(scene.live))
        unlike = {Verdict.AFTER: unlike_paths(found, after, pool), Verdict.BEFORE: unlike_paths(found, before, pool)}
        verdict = next((verdict for verdict, paths in unlike.items() if not paths), Verdict.LOST)
        least = min(unlike.values(), key=len)
        yield Judged(frame=frame, verdict=verdict, recovered=recovered, unlike=least)


def unlike_paths(found: Tree, meant: Tree, pool: Pool) -> tuple[str, ...]:
    """Return paths that differ between two environments; a journal's truncated last line counts as absent."""
    paths = (path for path in sorted({*found, *meant}) if found.get(path) != meant.get(path))
    odd = [path for path in paths if not _only_torn(path, found, meant, pool)]
    return () if len(odd) == 1 and _only_time(odd[0], found, meant) else tuple(odd)


def environment(tree: Tree) -> dict[str, tuple[int, int, str]]:
    """Return the environment's part of a tree, without log and cache, which are outside the environment."""
    own = {path.removeprefix("env/"): entry for path, entry in tree.items() if path.startswith("env/")}
    return {".": tree["env"], **own} if "env" in tree else own


def python_sees(tree: Tree) -> dict[str, tuple[int, int, str]]:
    """Return the part of a tree that Python sees: site-packages without fastinstall's working directories."""
    return {
        path: entry
        for path, entry in environment(tree).items()
        if "site-packages" in path and "/.fastinstall-" not in path
    }


def works(prefix: Path) -> bool:
    """Return True if PIL can be imported and used."""
    done = run((prefix / "bin/python", "-I", "-B", "-c", _USE), {})
    return done.exit_code == 0 and done.stdout == "768\n"


def _only_torn(path: str, found: Tree, meant: Tree, pool: Pool) -> bool:
    if not path.endswith(".jsonl") or path not in found or path not in meant:
        return False
    whole, other = (pool.content(tree[path]).rpartition(b"\n")[0] for tree in (found, meant))
    return whole == other


def _only_time(path: str, found: Tree, meant: Tree) -> bool:
    if path not in _AT_THE_EDGE or path not in found or path not in meant:
        return False
    mode, _, _ = found[path]
    return stat.S_ISDIR(mode) and mode == meant[path][0]

"""Moves, checked before the first of them and described for the journal: possible, and nothing foreign in the way."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from fastinstall.core import files
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.journal import remembered_directories
from fastinstall.journal.entries import Moving, TransactionBegun
from fastinstall.journal.fingerprints import fingerprint
from fastinstall.journal.path_rules import refuse_outside
from fastinstall.model.move import Move, MoveKind


def announce(planned: Sequence[Move], *, prefix: Path, work: Path, begun: TransactionBegun) -> Moving:
    """Check the moves, make what comes in durable, and describe all of it for the journal.

    Raises:
        RefusedError: something foreign stands where a move would put something, or a link leads out of the environment.
        FailedError: what a move would take is not there, or its paths are not of the agreed form.
    """
    _check(planned, prefix, work)
    refuse_outside(prefix, (PurePath(move.live).parent.as_posix() for move in planned))
    coming = [move for move in planned if move.kind is not MoveKind.OUT]
    with files.sync_during(work / move.kept for move in coming):
        manifest = {path: value for move in coming for path, value in fingerprint(work / move.kept, move.live).items()}
    for path in dict.fromkeys(parent for move in coming for parent in PurePath(move.kept).parents):
        files.sync_directory(work / path)
    remembered = {directory.path for directory in begun.directories}
    on_the_way = remembered_directories.ancestors(move.live for move in planned)
    created = tuple(path for path in on_the_way if not (prefix / path).is_dir())
    changing = (PurePath(path).parent.as_posix() for path in (*(move.live for move in planned), *created))
    return Moving(
        moves=tuple(planned),
        inodes=tuple(_read_inode(prefix / move.live) for move in planned),
        created=created,
        directories=remembered_directories.record(prefix, (path for path in changing if path not in remembered)),
        manifest=manifest,
    )


def _check(planned: Sequence[Move], prefix: Path, work: Path) -> None:
    """Follow the moves in thought, since one may make room for the next."""
    there: dict[Path, bool] = {}
    for move in planned:
        _check_form(move)
        live, kept = prefix / move.live, work / move.kept
        present = {path: there.get(path, os.path.lexists(path)) for path in (live, kept)}
        for path, expected in zip((live, kept), _REQUIRED[move.kind], strict=True):
            if present[path] and not expected:
                raise _make_obstacle_error(path, prefix)
            if expected and not present[path]:
                raise FailedError(
                    f"{path}: does not exist, so it cannot be moved ({move.kind})", hint=f"ls -ld {quote(path)}"
                )
        there[live], there[kept] = move.kind is not MoveKind.OUT, move.kind is not MoveKind.IN


_REQUIRED = {MoveKind.OUT: (True, False), MoveKind.IN: (False, True), MoveKind.EXCHANGE: (True, True)}
"""Whether something must stand at `live` and at `kept` before a move."""


def _check_form(move: Move) -> None:
    live, kept = PurePath(move.live), PurePath(move.kept)
    inside = live.parts and not live.is_absolute() and ".." not in (*live.parts, *kept.parts)
    if not inside or kept.parts[:1] not in (("stage",), ("aside",)) or len(kept.parts) == 1:
        raise FailedError(f"{move.live} <-> {move.kept}: not a move inside one environment")


def _make_obstacle_error(path: Path, prefix: Path) -> RefusedError:
    hint = f"find its owner, then move it away: ls -ld {quote(path)}; then: fastinstall setup --prefix {quote(prefix)}"
    return RefusedError(f"{path}: already exists, and fastinstall did not put it there", hint=hint)


def _read_inode(path: Path) -> int:
    return path.lstat().st_ino if os.path.lexists(path) else 0

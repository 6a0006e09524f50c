"""What a batch of moves will do, looked at before the first of them: possible, and nothing foreign in the way."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from fastinstall.errors import FailedError, RefusedError
from fastinstall.journal import directories
from fastinstall.journal.bounds import refuse_outside
from fastinstall.journal.entries import Begun, Moving
from fastinstall.journal.fingerprint import fingerprint
from fastinstall.model.receipt import Move, MoveKind
from fastinstall.rules.messages import quote
from fastinstall.system import files


def announce(planned: Sequence[Move], *, prefix: Path, work: Path, begun: Begun) -> Moving:
    """Check the moves, make what comes in durable, and describe all of it for the journal.

    Raises:
        RefusedError: something foreign stands where a move would put something, or a link leads out of the environment.
        FailedError: what a move would take is not there, or its paths are not of the agreed form.
    """
    _check(planned, prefix, work)
    refuse_outside(prefix, (PurePath(move.live).parent.as_posix() for move in planned))
    coming = [move for move in planned if move.kind is not MoveKind.OUT]
    with files.syncing(work / move.kept for move in coming):
        manifest = {path: value for move in coming for path, value in fingerprint(work / move.kept, move.live).items()}
    for path in dict.fromkeys(parent for move in coming for parent in PurePath(move.kept).parents):
        files.sync_directory(work / path)
    remembered = {directory.path for directory in begun.directories}
    on_the_way = directories.ancestors(move.live for move in planned)
    created = tuple(path for path in on_the_way if not (prefix / path).is_dir())
    changing = (PurePath(path).parent.as_posix() for path in (*(move.live for move in planned), *created))
    return Moving(
        moves=tuple(planned),
        inodes=tuple(_inode(prefix / move.live) for move in planned),
        created=created,
        directories=directories.remember(prefix, (path for path in changing if path not in remembered)),
        manifest=manifest,
    )


def _check(planned: Sequence[Move], prefix: Path, work: Path) -> None:
    """Follows the moves in thought, since one may make room for the next."""
    there: dict[Path, bool] = {}
    for move in planned:
        _check_form(move)
        live, kept = prefix / move.live, work / move.kept
        present = {path: there.get(path, os.path.lexists(path)) for path in (live, kept)}
        for path, expected in zip((live, kept), _before(move.kind), strict=True):
            if present[path] and not expected:
                raise _in_the_way(path, prefix)
            if expected and not present[path]:
                raise FailedError(
                    f"{path}: not there, so it cannot be moved ({move.kind})", hint=f"ls -ld {quote(path)}"
                )
        there[live], there[kept] = move.kind is not MoveKind.OUT, move.kind is not MoveKind.IN


def _before(kind: MoveKind) -> tuple[bool, bool]:
    """Whether something must stand at `live` and at `kept` before a move."""
    match kind:
        case MoveKind.OUT:
            return True, False
        case MoveKind.IN:
            return False, True
        case MoveKind.EXCHANGE:
            return True, True


def _check_form(move: Move) -> None:
    live, kept = PurePath(move.live), PurePath(move.kept)
    inside = live.parts and not live.is_absolute() and ".." not in (*live.parts, *kept.parts)
    if not inside or kept.parts[:1] not in (("stage",), ("aside",)) or len(kept.parts) == 1:
        raise FailedError(f"{move.live} <-> {move.kept}: not a move inside one environment")


def _in_the_way(path: Path, prefix: Path) -> RefusedError:
    hint = f"see whose it is, and move it away: ls -ld {quote(path)}; then: fastinstall setup --prefix {quote(prefix)}"
    return RefusedError(f"{path}: is there already, and is not ours to replace", hint=hint)


def _inode(path: Path) -> int:
    return path.lstat().st_ino if os.path.lexists(path) else 0

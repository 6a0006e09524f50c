"""The directories that a transaction stands on: made, and taken away without a trace.

One file carries both through a kill at any moment: the journal itself. Before the first directory
is made, and before the first one goes, it lies as `.fastinstall-<id>.jsonl` in a directory that
outlives them. While it lies there, the transaction does not exist, and `sweep` removes what its
first line names.
"""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from fastinstall import __version__
from fastinstall.errors import DamagedError, DocumentError, RefusedError
from fastinstall.journal import directories
from fastinstall.journal.bounds import refuse_ways_out
from fastinstall.journal.entries import Begun
from fastinstall.journal.journal import Journal
from fastinstall.journal.layout import EVENTS, EVENTS_BEFORE, ROOT, SHARE, TRANSACTIONS
from fastinstall.journal.log import Log, State
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import Store
from fastinstall.model import codec
from fastinstall.rules.messages import quote
from fastinstall.rules.secrets import redacted
from fastinstall.system import files, foreign, signals, trouble

_LOOSE = re.compile(r"\.fastinstall-[0-9]{8}T[0-9]{6}Z-[0-9a-f]+\.jsonl")


def lay(store: Store, stamp: Stamp, *, site_packages: PurePath, plan: Mapping[str, object]) -> Begun:
    """Make the directories of a transaction, its plan and its journal: all of it, or nothing.

    Raises:
        RefusedError: site-packages, or where we keep what is ours, lies outside of the environment.
        OSError: as the kernel says; what had been made is removed.
        DamagedError: it could not be.
    """
    for path in (SHARE, ROOT, TRANSACTIONS):
        _inside(store, store.prefix / path)
    if os.path.lexists(store.directory(stamp.id)):
        raise FileExistsError(errno.EEXIST, "is there already", str(store.directory(stamp.id)))
    begun = _foresee(store, stamp, _inside(store, site_packages))
    loose = Journal(_loose_file(store, begun))
    try:
        loose.append(begun)
        _build(store, begun, redacted(codec.dump(plan)))
        files.rename(loose.file, store.journal(begun.id).file)
        _settle(loose.file.parent, store.directory(begun.id))
    except BaseException:
        _abandon(store, loose, begun)
        raise
    return begun


def lift(store: Store, begun: Begun) -> None:
    """Take a transaction's directories away, once nothing in them is needed any more."""
    loose = _loose_file(store, begun)
    log = store.journal(begun.id).read()
    files.rename(store.journal(begun.id).file, loose)
    _settle(loose.parent)
    _dismantle(store, Journal(loose), log)


def sweep(store: Store) -> None:
    """Bring every interrupted `lay` and `lift` to its end: what they left behind goes away."""
    for file in tuple(_loose_files(store)):
        _dismantle(store, Journal(file), _readable(file))


def _inside(store: Store, directory: PurePath) -> str:
    prefix = os.path.realpath(store.prefix)
    relative = os.path.relpath(os.path.realpath(directory), prefix)
    if PurePath(relative).parts[:1] == ("..",):
        hint = f"fastinstall doctor environment --prefix {quote(store.prefix)}"
        raise RefusedError(f"{directory}: lies outside of the environment {store.prefix}", hint=hint)
    return relative


def _foresee(store: Store, stamp: Stamp, site_packages: str) -> Begun:
    own = f"{TRANSACTIONS}/{stamp.id}"
    chain = (SHARE, ROOT, TRANSACTIONS, own)
    created = tuple(path for path in chain if not (store.prefix / path).is_dir())
    ground = store.prefix / next((path for path in reversed(chain) if path not in created), ".")
    beside = f"{site_packages}/.fastinstall-{stamp.id}"
    return Begun(
        id=stamp.id,
        at=stamp.at,
        sequence=1 + max((info.sequence for info in store.transactions()), default=0),
        work=own if _one_mount(ground, store.prefix / site_packages) else beside,
        created=created,
        directories=directories.remember(store.prefix, (".", *chain, site_packages)),
        tool_version=__version__,
        home=os.fsencode(store.prefix).hex(),
    )


def _one_mount(one: Path, other: Path) -> bool:
    """Whether a rename can go from one directory to another: same filesystem, same mount of it."""
    return _mount(one) == _mount(other)


def _mount(directory: Path) -> tuple[int, str]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        text = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
        mount = next((line for line in text.splitlines() if line.startswith("mnt_id:")), "")
        return os.fstat(descriptor).st_dev, mount
    finally:
        os.close(descriptor)


def _build(store: Store, begun: Begun, plan: str) -> None:
    _settle(_loose_file(store, begun).parent)
    made = dict.fromkeys((*begun.created, begun.work, f"{begun.work}/stage", f"{begun.work}/aside"))
    for path in made:
        (store.prefix / path).mkdir()
    files.write_text(store.directory(begun.id) / "plan.json", plan)
    _settle(*((store.prefix / path).parent for path in made))


def _settle(*paths: Path) -> None:
    for directory in dict.fromkeys(paths):
        files.sync_directory(directory)


@signals.deferred()
def _abandon(store: Store, loose: Journal, begun: Begun) -> None:
    try:
        _dismantle(store, loose, Log(entries=(begun,)))
    except OSError as error:
        raise DamagedError(
            f"{trouble.reason(error, store.prefix)}: a transaction could not be begun, nor its traces be removed",
            hint=f"remove the cause, then: fastinstall rollback --prefix {quote(store.prefix)}",
        ) from error


def _readable(file: Path) -> Log:
    """The lines of a loose journal; none where the process died in the first one: nothing had been made yet then.

    Raises:
        DocumentError: it was damaged, or written by a later fastinstall: what it names is left alone.
    """
    try:
        return Journal(file).read()
    except DocumentError as error:
        if _has_line(file):
            away = f"mv {quote(file)} {quote(file.with_suffix('.damaged'))}"
            raise error.hinting(f"look what it names, and put it away: {away}") from None
        return Log(entries=())


def _has_line(file: Path) -> bool:
    """Whether a first line was written, or what is there is no journal of ours at all."""
    try:
        return b"\n" in foreign.read_bytes(file)
    except OSError:
        return True


def _dismantle(store: Store, loose: Journal, log: Log) -> None:
    begun = log.begun
    remembered = log.directories if log.state is not State.COMMITTED else ()
    if begun is not None:
        refuse_ways_out(store.prefix, log)
        _remove(store, begun)
        _settle(*directories.above(store.prefix, (begun.work, *begun.created, f"{TRANSACTIONS}/{begun.id}")))
    directories.restore(store.prefix, remembered)  # all but the one that holds the journal itself
    files.discard(loose.file)
    if _is_the_last(store):
        directories.remove_empty(store.prefix, (ROOT,))  # it held the journal itself
    directories.restore(store.prefix, remembered)
    _settle(*(path for path in (loose.file.parent, store.root.parent) if path.is_dir()))


def _remove(store: Store, begun: Begun) -> None:
    files.discard(store.prefix / begun.work)
    files.discard(store.directory(begun.id))
    directories.remove_empty(store.prefix, begun.created)
    if _is_the_last(store):
        for path in (EVENTS, EVENTS_BEFORE):
            files.discard(store.prefix / path)
        directories.remove_empty(store.prefix, (*begun.created, TRANSACTIONS))


def _is_the_last(store: Store) -> bool:
    """Whether nothing is set up any more, and nothing can be undone: what the guard has told goes with that."""
    there = store.transactions_directory
    return not store.receipt_file.exists() and not (there.is_dir() and any(there.iterdir()))


def _loose_file(store: Store, begun: Begun) -> Path:
    """Beside the outermost directory that is ours to remove, but never inside `tx`."""
    outermost = begun.created[0]
    return store.prefix / PurePath(min(outermost, TRANSACTIONS, key=len)).parent / f".fastinstall-{begun.id}.jsonl"


def _loose_files(store: Store) -> Iterator[Path]:
    for path in (".", SHARE, ROOT):
        directory = store.prefix / path
        if directory.is_dir():
            yield from (path for path in directory.iterdir() if _LOOSE.fullmatch(path.name))

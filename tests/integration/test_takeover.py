"""Another program installs over our swap before the commit: its files stay, and the files that we replaced are kept."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.conda.miniature import FakeEngine, change_in, make_conda_environment, open_in
from support.journal.environments import (
    FIRST,
    SITE,
    STOCK,
    dies_at,
    live,
    make_environment,
    open_transaction,
    picture,
    receipt_of,
    recover_all,
    steps_of,
    swap_moves,
    swift_directory,
    write_tree,
)

from fastinstall.core.errors import FailedError, FastinstallError, RefusedError
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import Move, MoveKind

THEIRS = {
    "PIL/__init__.py": "theirs",
    "PIL/_imaging.so": "their core",
    "pillow.libs/libjpeg.so": "their jpeg",
    "pillow-13.0.1.dist-info/RECORD": "their record",
}
OURS_METADATA = f"{SITE}/pillow-12.1.1+simd.v3.dist-info"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JournalStore]:
    with swift_directory(tmp_path) as directory:
        yield make_environment(directory / "env", share=True)


def reinstall(prefix: Path) -> None:
    """Reinstall as pip does: remove our files by RECORD, then install its own."""
    uninstall(prefix)
    write_tree(prefix / SITE, THEIRS)


def reinstall_what_was_there(prefix: Path) -> None:
    """Reinstall the version that our swap replaced, so that undo cannot move the old metadata back to its path."""
    uninstall(prefix)
    write_tree(prefix / SITE, {**THEIRS, "pillow-13.0.0.dist-info/RECORD": "the same version, by another"})


def uninstall(prefix: Path) -> None:
    for entry in ("PIL", "pillow.libs", Path(OURS_METADATA).name):
        shutil.rmtree(prefix / SITE / entry)


def install_beside(prefix: Path) -> None:
    """Install as conda does over a pip installation: overwrite our files, but do not remove our metadata."""
    write_tree(prefix / SITE, THEIRS)


def begin_to_uninstall(prefix: Path) -> None:
    """Rename our files as pip does before it installs others and deletes ours, as if pip had been stopped then."""
    (prefix / SITE / "PIL").rename(prefix / SITE / "~IL")
    (prefix / OURS_METADATA).rename(prefix / SITE / "~illow-12.1.1+simd.v3.dist-info")


def overrun(store: JournalStore, installer: Callable[[Path], None]) -> None:
    """Swap, let another installer install over the swap, and raise an error before the commit."""
    with open_transaction(store) as transaction:
        transaction.perform(swap_moves())
        installer(store.prefix)
        raise FailedError("not healthy")


def kept(store: JournalStore) -> dict[str, str]:
    """Return the contents of the files that were kept for the user, by path."""
    root = store.root / "kept" / FIRST.id
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(root).as_posix(): path.read_text() for path in files}


def before(*entries: str) -> dict[str, str]:
    """Return the files that these entries had before the swap, in the form of `kept`."""
    return {f"{SITE}/{path}": text for path, text in STOCK.items() if path.startswith(entries)}


@pytest.mark.parametrize(
    "installer", [reinstall, reinstall_what_was_there, install_beside, uninstall, begin_to_uninstall]
)
def test_another_installers_files_stay_and_the_earlier_are_kept(
    store: JournalStore, installer: Callable[[Path], None]
) -> None:
    with pytest.raises(RefusedError, match="its files stay") as caught:
        overrun(store, installer)
    theirs = live(store.prefix)
    recover_all(store)
    assert live(store.prefix) == theirs
    assert kept(store) == before("PIL/", "pillow-13.0.0", "pillow.libs")
    assert all(str(store.root / "kept" / FIRST.id) in line for line in caught.value.details[:-1])
    assert caught.value.details[-1] == "FailedError: not healthy"
    assert f"{SITE}/made/for/it.py" not in theirs, "what only we had brought is gone"
    assert OURS_METADATA not in theirs
    assert store.transactions() == ()


def test_theirs_is_left_to_the_byte(store: JournalStore) -> None:
    seen: list[dict[str, tuple[object, ...]]] = []

    def watched(prefix: Path) -> None:
        reinstall(prefix)
        seen.append(_theirs(prefix))

    with pytest.raises(RefusedError):
        overrun(store, watched)
    assert seen == [_theirs(store.prefix)]


def test_theirs_stays_where_nothing_had_been_before(store: JournalStore) -> None:
    """Without an earlier Pillow, the swap only adds files; its undo must not remove the other installer's files."""
    for entry in ("PIL", "pillow.libs", "pillow-13.0.0.dist-info"):
        shutil.rmtree(store.prefix / SITE / entry)
    names = ("PIL", "pillow.libs", Path(OURS_METADATA).name)

    def set_up() -> None:
        with open_transaction(store) as transaction:
            coming = (Move(kind=MoveKind.IN, live=f"{SITE}/{name}", kept=f"stage/{name}") for name in names)
            transaction.perform(tuple(coming))
            reinstall(store.prefix)
            raise FailedError("not healthy")

    with pytest.raises(RefusedError, match="its files stay"):
        set_up()
    assert {path: (store.prefix / SITE / path).read_text() for path in THEIRS} == THEIRS
    assert kept(store) == {}


@pytest.mark.parametrize("path", ["PIL/_imaging.so", "PIL/sub/added.py"])
def test_an_altered_file_is_kept_and_the_environment_is_restored(store: JournalStore, path: str) -> None:
    was = live(store.prefix)
    with pytest.raises(FailedError, match="as it was before") as caught:
        overrun(store, lambda prefix: write_tree(prefix / SITE, {path: "by hand"}))
    assert live(store.prefix) == was
    assert kept(store)[f"{SITE}/{path}"] == "by hand"
    assert str(store.root / "kept") in caught.value.details[0]
    recover_all(store)


def test_a_swap_does_not_yield_before_its_moves_are_done(store: JournalStore) -> None:
    """Files of another installer block one of our moves, so the swap is unfinished and must be undone."""
    was = live(store.prefix)

    def taken() -> None:
        with open_transaction(store) as transaction:
            write_tree(store.prefix / SITE, {"made/for/it.py": "theirs"})
            transaction.perform(swap_moves())

    with pytest.raises(RefusedError, match=r"made/for/it\.py"):
        taken()
    assert (store.prefix / SITE / "made/for/it.py").read_text() == "theirs"
    shutil.rmtree(store.prefix / SITE / "made")
    assert live(store.prefix) == was


def test_a_yield_killed_at_any_step_is_brought_to_the_same_end(tmp_path: Path) -> None:
    ends = []
    with swift_directory(tmp_path) as directory:

        def cut_off(step: int) -> bool:
            scene = make_environment(directory / "env", share=True)
            died = dies_at(step, lambda: _fails(scene))
            (directory / "env").rename(directory / f"env{step}")
            return died

        for step in steps_of(cut_off, stride=7):
            scene = JournalStore(directory / f"env{step}")
            reinstalled = (scene.prefix / SITE / "pillow-13.0.1.dist-info").is_dir()
            if reinstalled and _yields(scene):
                recover_all(scene)
                ends.append((live(scene.prefix), sorted(kept(scene))))
            shutil.rmtree(scene.prefix)
    assert len(ends) > 2
    assert all(end == ends[0] for end in ends)
    assert ends[0][1] == sorted(path for path in before("PIL/", "pillow-13.0.0", "pillow.libs"))


@pytest.mark.parametrize("change", ["overrun too", "left alone"])
def test_an_engines_changes_stay_only_if_they_were_overrun_too(tmp_path: Path, change: str) -> None:
    """If another installer has overwritten part of an engine's change, all of the change stays: half would not work."""
    store, overruns = make_conda_environment(tmp_path / "conda"), change == "overrun too"
    library, record = store.prefix / "lib/libjpeg.so", store.prefix / "conda-meta/turbo-3.0-0.json"

    def set_up() -> None:
        with open_in(store) as transaction:
            change_in(store, transaction, FakeEngine())
            write_tree(transaction.stage, {"PIL/x.py": "ours", "pillow-1.dist-info/RECORD": "ours"})
            names = ("PIL", "pillow-1.dist-info")
            coming = (Move(kind=MoveKind.IN, live=f"{SITE}/{name}", kept=f"stage/{name}") for name in names)
            transaction.perform(tuple(coming))
            (store.prefix / SITE / "pillow-1.dist-info").rename(store.prefix / SITE / "pillow-2.dist-info")
            if overruns:
                library.unlink()
                library.write_text("turbo 4")
            raise FailedError("not healthy")

    with pytest.raises(RefusedError, match="its files stay"):
        set_up()
    assert (library.read_text(), record.exists()) == (("turbo 4", True) if overruns else ("IJG", False))
    assert (store.root / "kept" / FIRST.id / "external-change-0").is_dir() is overruns
    recover_all(store)


def test_a_commit_that_was_not_overrun_keeps_nothing_aside(store: JournalStore) -> None:
    with open_transaction(store) as transaction:
        transaction.perform(swap_moves())
        transaction.commit(receipt_of(FIRST))
    assert kept(store) == {}


def _fails(store: JournalStore) -> None:
    with pytest.raises(FastinstallError):
        overrun(store, reinstall)


def _yields(store: JournalStore) -> bool:
    """Return True if the killed run's journal says that the run yields to the other installer."""
    unfinished = store.unfinished()
    return unfinished is not None and store.journal(unfinished.id).read().conceding is not None


def _theirs(prefix: Path) -> dict[str, tuple[object, ...]]:
    theirs = tuple(f"{SITE}/{path}" for path in THEIRS)
    return {path: look for path, look in picture(prefix).items() if path.startswith(theirs)}

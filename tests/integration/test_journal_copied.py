"""A copy of an environment, as made by backups, clones and archives, can be rolled back."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.journal.environments import (
    FIRST,
    SITE,
    dies_at,
    live,
    make_environment,
    open_transaction,
    receipt_of,
    recover_all,
    set_up,
    steps_of,
    swap_moves,
    swift_directory,
    write_tree,
)

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.journal.rollback import rollback
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import Move, MoveKind


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environments."""
    with swift_directory(tmp_path) as directory:
        yield directory


def add_to_what_is_there(store: JournalStore) -> None:
    """Perform a setup whose new trees contain all the old files unchanged, and additional ones."""
    with open_transaction(store) as transaction:
        for tree in ("PIL", "pillow.libs"):
            shutil.rmtree(transaction.stage / tree)
            shutil.copytree(store.prefix / SITE / tree, transaction.stage / tree, symlinks=True)
        write_tree(transaction.stage, {"PIL/more.py": "more", "pillow.libs/more.so": "more"})
        transaction.perform(swap_moves())
        transaction.commit(receipt_of(FIRST))


@pytest.mark.parametrize("work", [set_up, add_to_what_is_there])
def test_what_was_brought_in_goes_and_what_was_there_comes_back(scenery: Path, work: object) -> None:
    assert callable(work)
    before = live(make_environment(scenery / "untouched").prefix)
    outcomes = set()

    def cut(step: int) -> bool:
        store = make_environment(scenery / f"{step}")
        died = dies_at(step, lambda: work(store))
        copy = scenery / f"{step}-copied"
        shutil.copytree(store.prefix, copy, symlinks=True)
        shutil.rmtree(store.prefix)  # frees its inodes for reuse
        recover_all(JournalStore(copy))
        if JournalStore(copy).read_receipt() is None:
            assert live(copy) == before
            outcomes.add("before")
        else:
            assert (copy / SITE / "PIL/_simd.py" if work is set_up else copy / SITE / "PIL/more.py").exists()
            outcomes.add("after")
        return died

    assert len(list(steps_of(cut, stride=3))) > 20, "deaths before and after changes of the disk"
    assert outcomes == {"before", "after"}


HISTORY = "conda-meta/history"
REGISTRATION = "condarc.d/fastinstall.yml"


def set_up_as_in_conda(store: JournalStore) -> None:
    """Perform a setup that installs a text file with the prefix in it, and leaves no files in its staging directory."""
    write_tree(store.prefix, {HISTORY: "==> one <==\n+python\n"})
    with open_transaction(store) as transaction:
        staged = {
            "registration.yml": f"channels:\n  - file://{store.prefix}/channel\n",
            "history": "==> ours <==\n",
            "only/it.py": "guard",
        }
        write_tree(transaction.stage, staged)
        transaction.perform(
            (
                Move(kind=MoveKind.IN, live=REGISTRATION, kept="stage/registration.yml"),
                Move(kind=MoveKind.EXCHANGE, live=HISTORY, kept="stage/history"),
                Move(kind=MoveKind.OUT, live=f"{SITE}/imageio/__init__.py", kept="aside/deep/imageio.py"),
                Move(kind=MoveKind.IN, live=f"{SITE}/made/for/it.py", kept="stage/only/it.py"),
            )
        )
        transaction.commit(receipt_of(FIRST))


def copy_files(store: JournalStore, copy: Path) -> JournalStore:
    """Copy as `conda create --clone` does: no empty directories, a new prefix in text files, a new history."""
    for directory, _, names in os.walk(store.prefix):
        for path in (Path(directory) / name for name in names):
            place = copy / path.relative_to(store.prefix)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place, follow_symlinks=False)
            if not place.is_symlink():
                place.write_bytes(place.read_bytes().replace(os.fsencode(store.prefix), os.fsencode(copy)))
    (copy / HISTORY).write_text("==> cloned <==\n+all\n")
    return JournalStore(copy)


def test_a_copy_without_empty_directories_is_rolled_back(scenery: Path) -> None:
    store = make_environment(scenery / "original")
    set_up_as_in_conda(store)
    copy = copy_files(store, scenery / "copy of it")
    assert not (copy.prefix / SITE / "imageio").exists(), "its last file lies aside"
    assert str(copy.prefix) in (copy.prefix / REGISTRATION).read_text()
    assert rollback(copy).lost == ()
    assert (copy.prefix / SITE / "imageio/__init__.py").read_text() == "imageio"
    assert (copy.prefix / HISTORY).read_text() == "==> cloned <==\n+all\n", "that of the copy"
    assert not (copy.prefix / REGISTRATION).exists()
    assert not (copy.prefix / "share").exists()


def test_what_its_owner_has_changed_in_a_copy_is_foreign(scenery: Path) -> None:
    store = make_environment(scenery / "original")
    set_up_as_in_conda(store)
    copy = copy_files(store, scenery / "copy")
    with (copy.prefix / REGISTRATION).open("a") as registration:
        registration.write("  - mine\n")
    with pytest.raises(RefusedError, match=REGISTRATION):
        rollback(copy)


def test_a_rename_that_cannot_be_is_told_before_the_first(scenery: Path) -> None:
    store = make_environment(scenery / "env")
    set_up_as_in_conda(store)
    shutil.rmtree(store.prefix / SITE / "imageio")
    (store.prefix / SITE / "imageio").write_text("a file")
    before = live(store.prefix)
    with pytest.raises(FailedError, match="imageio: Not a directory"):
        rollback(store)
    assert live(store.prefix) == before
    (store.prefix / SITE / "imageio").unlink()
    rollback(store)
    assert (store.prefix / SITE / "imageio/__init__.py").read_text() == "imageio"

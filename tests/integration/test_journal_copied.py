"""An environment that was copied after a death, as container layers and backups are, is brought back in the copy."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from journaled import (
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

from fastinstall.journal.store import Store


@pytest.fixture
def scenery(tmp_path: Path) -> Iterator[Path]:
    """Where the environments of a test lie."""
    with swift_directory(tmp_path) as directory:
        yield directory


def add_to_what_is_there(store: Store) -> None:
    """A setup whose trees have all that stood there before, unaltered, and more."""
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
        shutil.rmtree(store.prefix)  # its inodes are free for others
        recover_all(Store(copy))
        if Store(copy).read_receipt() is None:
            assert live(copy) == before
            outcomes.add("before")
        else:
            assert (copy / SITE / "PIL/_simd.py" if work is set_up else copy / SITE / "PIL/more.py").exists()
            outcomes.add("after")
        return died

    assert len(list(steps_of(cut, stride=3))) > 20, "deaths before and after changes of the disk"
    assert outcomes == {"before", "after"}

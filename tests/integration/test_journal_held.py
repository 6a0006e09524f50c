"""Root changes another user's environment while that user replaces its directories with links."""

import os
from pathlib import Path

import pytest
from support.journal.environments import FIRST, make_environment, set_up, write_tree

from fastinstall.journal.entries import Undoing
from fastinstall.journal.held_directories import hold_parents, identify_home
from fastinstall.journal.moves import Mover
from fastinstall.journal.store import JournalStore

EVE = 12345
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change another user's files")


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    """Return an environment of another user, after a setup, beside a directory that belongs to root."""
    write_tree(tmp_path / "victim", {"one.txt": "dear"})
    set_up(make_environment(tmp_path / "env"))
    write_tree(tmp_path / "env", {"lib/a/one.txt": "mine", "lib/b/other.txt": "theirs"})
    os.chown(tmp_path / "env", EVE, EVE)
    return JournalStore(tmp_path / "env")


def swap(directory: Path, target: Path) -> None:
    directory.rename(directory.with_name("away"))
    directory.symlink_to(target)


@pytest.mark.parametrize("end", ["a", "b"])
@pytest.mark.parametrize("work", ["move", "exchange"])
def test_nothing_is_renamed_through_a_link_added_after_the_check(store: JournalStore, end: str, work: str) -> None:
    mover = Mover(store, store.journal(FIRST.id))
    victim = store.prefix.parent / "victim"
    swap(store.prefix / "lib" / end, victim)
    with pytest.raises(PermissionError, match="outside"):
        getattr(mover, work)(store.prefix / "lib/a/one.txt", store.prefix / "lib/b/other.txt")
    assert [path.name for path in victim.iterdir()] == ["one.txt"]
    assert (victim / "one.txt").read_text() == "dear"


def test_a_directory_that_is_held_stays_what_it_is(store: JournalStore) -> None:
    source, target = store.prefix / "lib/a/one.txt", store.prefix / "lib/b/two.txt"
    victim = store.prefix.parent / "victim"
    with hold_parents(store.home, source, target) as (held_source, held_target):
        swap(source.parent, victim)
        held_source.rename(held_target)
    assert target.read_text() == "mine"
    assert (victim / "one.txt").read_text() == "dear"


def test_the_environment_itself_may_not_become_another(store: JournalStore) -> None:
    mover = Mover(store, store.journal(FIRST.id))
    write_tree(store.prefix.parent / "system", {"lib/a/one.txt": "root's", "lib/b/x": ""})
    swap(store.prefix, store.prefix.parent / "system")
    with pytest.raises(PermissionError, match="outside"):
        mover.move(store.prefix / "lib/a/one.txt", store.prefix / "lib/b/two.txt")
    assert (store.prefix.parent / "system/lib/a/one.txt").read_text() == "root's"


def test_a_link_inside_is_followed_and_a_failure_names_the_paths(store: JournalStore) -> None:
    mover = Mover(store, store.journal(FIRST.id))
    (store.prefix / "lib64").symlink_to("lib")
    mover.move(store.prefix / "lib64/a/one.txt", store.prefix / "lib/b/one.txt")
    with pytest.raises(FileExistsError, match=str(store.prefix)):
        mover.move(store.prefix / "lib/b/one.txt", store.prefix / "lib/b/other.txt")


def test_where_root_alone_writes_nothing_is_held(tmp_path: Path) -> None:
    assert identify_home(tmp_path) is None
    tmp_path.chmod(0o777)
    assert identify_home(tmp_path) is not None


def test_a_journal_that_became_a_link_is_not_written_through(store: JournalStore) -> None:
    journal = store.journal(FIRST.id)
    victim = store.prefix.parent / "victim/one.txt"
    journal.file.unlink()
    journal.file.symlink_to(victim)
    with pytest.raises(OSError, match="symbolic"):
        journal.append(Undoing(reason="of the test"))
    assert victim.read_text() == "dear"

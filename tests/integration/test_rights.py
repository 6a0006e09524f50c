"""Installed files get owner, group and mode from their directory, whatever the umask; removal leaves no trace."""

import os
import shutil
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.journal.environments import FIRST, SECOND, SITE, make_environment, open_transaction, receipt_of, swap_moves
from support.machine.umask import umask

from fastinstall.core import rights
from fastinstall.journal.rollback import rollback
from fastinstall.journal.store import JournalStore
from fastinstall.model.history import Move, MoveKind

ALICE, TEAM, BOB = 4711, 4712, 4713
NOBODY = 0xFFFFFFFF
DEFAULT = "system.posix_acl_default"
ACCESS = "system.posix_acl_access"

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for several users")


def access_list(*entries: tuple[int, int, int]) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


FOR_BOB = access_list((1, 7, NOBODY), (2, 7, BOB), (4, 5, NOBODY), (16, 7, NOBODY), (32, 0, NOBODY))
"""Access list: user::rwx, user:BOB:rwx, group::r-x, mask::rwx, other::---"""


@pytest.fixture
def prefix(tmp_path: Path) -> Iterator[Path]:
    """Yield an environment in a directory that every user may enter."""
    space = Path(f"/var/tmp/fastinstall-rights-{os.getpid()}-{tmp_path.name[-8:]}")  # noqa: S108 (pytest's is private)
    space.mkdir(mode=0o755)
    make_environment(space / "env")
    yield space / "env"
    shutil.rmtree(space)


def give_to(prefix: Path, user: int, group: int) -> None:
    for path in (prefix, *prefix.rglob("*")):
        os.chown(path, user, group, follow_symlinks=False)


def looks(prefix: Path) -> dict[str, tuple[object, ...]]:
    """Return owner, group, mode and access lists of every entry."""
    return {path.relative_to(prefix).as_posix(): _look(path) for path in (prefix, *prefix.rglob("*"))}


def _look(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    names = [] if path.is_symlink() else sorted(name for name in os.listxattr(path) if "posix_acl" in name)
    lists = tuple((name, os.getxattr(path, name)) for name in names)
    return status.st_uid, status.st_gid, stat.filemode(status.st_mode), lists


def set_up(prefix: Path, mask: int = 0o077) -> JournalStore:
    store = JournalStore(prefix)
    with umask(mask), open_transaction(store) as transaction:
        transaction.perform(swap_moves())
        transaction.commit(receipt_of(FIRST))
    return JournalStore(prefix)


def attempt(user: int, work: object, *groups: int) -> bool:
    """Return True if `work` succeeds in a process of another user."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups(groups)
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            work()  # type: ignore[operator]
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def read_all(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        list(path.iterdir()) if path.is_dir() else path.read_bytes()


@pytest.mark.parametrize("mask", [0o077, 0o027, 0o022])
def test_the_umask_does_not_decide_who_may_read(prefix: Path, mask: int) -> None:
    before = looks(prefix)
    set_up(prefix, mask)
    new = {path: look for path, look in looks(prefix).items() if before.get(path) != look and "/aside" not in path}
    modes = {str(look[2]) for path, look in new.items() if "tx/" not in path or path.endswith("journal.jsonl")}
    assert modes == {"drwxr-xr-x", "-rw-r--r--"}, new
    rollback(JournalStore(prefix))
    assert looks(prefix) == before


@root
def test_other_users_read_what_root_has_set_up(prefix: Path) -> None:
    set_up(prefix)
    assert attempt(ALICE, lambda: read_all(prefix / SITE / "PIL"))
    assert attempt(ALICE, lambda: JournalStore(prefix).read_receipt())
    assert attempt(ALICE, lambda: JournalStore(prefix).transactions())


def test_a_private_environment_stays_private(prefix: Path) -> None:
    (prefix / SITE).chmod(0o700)
    prefix.chmod(0o700)
    set_up(prefix, 0o022)
    assert stat.S_IMODE((prefix / SITE / "PIL").stat().st_mode) == 0o700
    assert stat.S_IMODE((prefix / SITE / "PIL/_imaging.so").stat().st_mode) == 0o600
    assert stat.S_IMODE((prefix / "share/fastinstall").stat().st_mode) == 0o700


@root
def test_a_set_group_id_directory_passes_on_its_group(prefix: Path) -> None:
    for path in (prefix, prefix / SITE):
        os.chown(path, 0, TEAM)
        path.chmod(0o2775)
    set_up(prefix)
    for path, mode in ((prefix / SITE / "PIL", 0o2775), (prefix / SITE / "PIL/_simd.py", 0o664)):
        assert (path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (TEAM, mode)
    assert attempt(ALICE, lambda: (prefix / SITE / "PIL/_simd.py").open("r+").close(), TEAM)
    assert not attempt(BOB, lambda: (prefix / SITE / "PIL/_simd.py").open("r+").close())


@root
def test_a_default_access_list_is_passed_on(prefix: Path) -> None:
    try:
        os.setxattr(prefix / SITE, DEFAULT, FOR_BOB)
    except OSError as error:
        pytest.skip(f"no access lists on this filesystem: {error}")
    os.chown(prefix / SITE, 0, TEAM)
    before = looks(prefix)
    with umask(0o022):  # samples: the kernel gives new entries these rights
        (prefix / SITE / "made").mkdir()
        (prefix / SITE / "made/file").touch()
    made, file = _look(prefix / SITE / "made"), _look(prefix / SITE / "made/file")
    shutil.rmtree(prefix / SITE / "made")
    set_up(prefix)
    assert _look(prefix / SITE / "PIL")[2:] == made[2:]
    assert _look(prefix / SITE / "PIL/_simd.py")[2:] == file[2:]
    assert attempt(BOB, lambda: (prefix / SITE / "PIL/_simd.py").open("r+").close())
    assert not attempt(ALICE, lambda: read_all(prefix / SITE / "PIL"))
    rollback(JournalStore(prefix))
    assert looks(prefix) == before


def test_an_access_list_of_the_stage_is_not_brought_along(prefix: Path) -> None:
    (prefix / "share").mkdir()
    try:
        os.setxattr(prefix / "share", DEFAULT, FOR_BOB)
    except OSError as error:
        pytest.skip(f"no access lists on this filesystem: {error}")
    set_up(prefix, 0o022)
    assert _look(prefix / SITE / "PIL")[2:] == ("drwxr-xr-x", ())
    assert _look(prefix / SITE / "PIL/_simd.py")[2:] == ("-rw-r--r--", ())


@root
def test_the_owner_can_replace_and_undo_what_root_has_set_up(prefix: Path) -> None:
    give_to(prefix, ALICE, ALICE)
    before = looks(prefix)
    set_up(prefix)
    strangers = {path: look for path, look in looks(prefix).items() if look[:2] != (ALICE, ALICE)}
    assert strangers == {}
    assert attempt(ALICE, lambda: rollback(JournalStore(prefix)))
    assert looks(prefix) == before


@root
def test_the_owner_can_remove_it_as_pip_does(prefix: Path) -> None:
    give_to(prefix, ALICE, ALICE)
    set_up(prefix)

    def uninstall() -> None:
        (prefix / SITE / "PIL").rename(prefix / SITE / "~IL")
        shutil.rmtree(prefix / SITE / "~IL")

    assert attempt(ALICE, uninstall)


@root
def test_what_root_undoes_comes_back_to_its_owner(prefix: Path) -> None:
    give_to(prefix, ALICE, TEAM)
    (prefix / SITE / "PIL").chmod(0o2750)
    before = looks(prefix)
    set_up(prefix)
    with umask(0o077):
        rollback(JournalStore(prefix))
    assert looks(prefix) == before


@root
def test_a_file_that_is_rewritten_keeps_its_rights(prefix: Path) -> None:
    settings = prefix / "pip.conf"
    settings.write_text("[global]\nindex-url = https://alice:secret@example.org/simple\n")
    give_to(prefix, ALICE, TEAM)
    settings.chmod(0o640)
    before = looks(prefix)
    store = JournalStore(prefix)
    with umask(0o077), open_transaction(store) as transaction:
        transaction.perform(swap_moves())
        transaction.add("pip.conf", "[install]\nconstraint = ours\n")
        transaction.commit(receipt_of(FIRST))
    assert looks(prefix)["pip.conf"] == before["pip.conf"]
    rollback(JournalStore(prefix))
    assert looks(prefix) == before


def test_a_file_that_is_exchanged_keeps_its_rights(prefix: Path) -> None:
    (prefix / "pip.conf").write_text("secret")
    (prefix / "pip.conf").chmod(0o600)
    store = JournalStore(prefix)
    with open_transaction(store, SECOND) as transaction:
        (transaction.stage / "pip.conf").write_text("secret and ours")
        transaction.perform((Move(kind=MoveKind.EXCHANGE, live="pip.conf", kept="stage/pip.conf"),))
        assert stat.S_IMODE((prefix / "pip.conf").stat().st_mode) == 0o600


def test_the_other_links_of_a_file_keep_their_rights(tmp_path: Path) -> None:
    """Conda hard-links files from its package cache; fastinstall may not change the cache's files."""
    with umask(0o077):
        (tmp_path / "stage").mkdir()
        (tmp_path / "cache").write_text("shared")
        os.link(tmp_path / "cache", tmp_path / "stage/file")
    (tmp_path / "site").mkdir(mode=0o755)
    (tmp_path / "site").chmod(0o755)
    rights.give_tree(tmp_path / "stage/file", rights.read_rights(tmp_path / "site"))
    assert stat.S_IMODE((tmp_path / "stage/file").stat().st_mode) == 0o644
    assert (tmp_path / "stage/file").read_text() == "shared"
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o600


@root
def test_root_gives_away_nothing_out_of_a_directory_of_others(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/file").write_text("root's")
    (tmp_path / "theirs/file").chmod(0o600)
    os.chown(tmp_path / "theirs", ALICE, ALICE)
    rights.give_tree(tmp_path / "theirs/file", rights.read_rights(tmp_path / "theirs"))
    assert _look(tmp_path / "theirs/file")[:3] == (0, 0, "-rw-------")


@root
def test_a_link_is_given_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    os.chown(tmp_path / "site", ALICE, ALICE)
    (tmp_path / "secret").touch(mode=0o600)
    (tmp_path / "link").symlink_to("secret")
    rights.give_tree(tmp_path / "link", rights.read_rights(tmp_path / "site"))
    assert _look(tmp_path / "secret")[:3] == (0, 0, "-rw-------")
    assert _look(tmp_path / "link")[:2] == (ALICE, ALICE)

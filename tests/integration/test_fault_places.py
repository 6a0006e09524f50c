"""Environments in unusual places: read-only mounts, full disks, symbolic links, directories of another user."""

import array
import ctypes
import fcntl
import os
import stat
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.journal.environments import (
    FIRST,
    OURS,
    SITE,
    fill,
    in_own_mounts,
    live,
    make_environment,
    open_transaction,
    picture,
    receipt_of,
    set_up,
    swap_moves,
    write_tree,
)
from support.journal.interrupted_verbs import VERBS, timeless
from support.machine.own_mounts import mount

from fastinstall.core.errors import EnvironmentDamagedError, FailedError, FastinstallError, RefusedError
from fastinstall.journal.forget import forget
from fastinstall.journal.rollback import recover, rollback
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import Transaction

_MS_RDONLY, _MS_REMOUNT = 1, 32
_IMMUTABLE = 0x10
_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_NOBODY = 65534


def test_a_prefix_remounted_read_only_before_the_swap_recovers(tmp_path: Path) -> None:
    def scenario() -> None:
        store = make_environment(_mounted(tmp_path / "env"))
        before = picture(store.prefix)
        with pytest.raises(EnvironmentDamagedError, match="Read-only") as caught, open_transaction(store):
            _remount(store.prefix, _MS_RDONLY)
        assert "fastinstall rollback" in str(caught.value.hint)
        with pytest.raises(EnvironmentDamagedError, match="Read-only"):
            recover(store)
        _remount(store.prefix, 0)
        recover(store)
        assert picture(store.prefix) == before

    in_own_mounts(scenario)


def test_a_prefix_remounted_read_only_after_the_swap_recovers(tmp_path: Path) -> None:
    def scenario() -> None:
        store = make_environment(_mounted(tmp_path / "env"))
        before = picture(store.prefix)

        def swap(transaction: Transaction) -> None:
            transaction.perform(swap_moves())
            _remount(store.prefix, _MS_RDONLY)
            transaction.commit(receipt_of(FIRST))

        with pytest.raises(EnvironmentDamagedError, match="Read-only"), open_transaction(store) as transaction:
            swap(transaction)
        assert (store.prefix / SITE / "PIL/_simd.py").exists()
        _remount(store.prefix, 0)
        recover(store)
        assert picture(store.prefix) == before

    in_own_mounts(scenario)


def test_setup_and_rollback_fail_cleanly_on_a_read_only_prefix(tmp_path: Path) -> None:
    def scenario() -> None:
        store = make_environment(_mounted(tmp_path / "env"))
        before = picture(store.prefix)
        _remount(store.prefix, _MS_RDONLY)
        with pytest.raises(FailedError, match="Read-only") as caught:
            set_up(store)
        assert "findmnt" in str(caught.value.hint)
        assert picture(store.prefix) == before
        _remount(store.prefix, 0)
        set_up(store)
        after = picture(store.prefix)
        _remount(store.prefix, _MS_RDONLY)
        with pytest.raises(FailedError, match="Read-only"):
            rollback(store)
        assert picture(store.prefix) == after

    in_own_mounts(scenario)


@pytest.mark.parametrize("name", ["setup", "all kinds of acts", "retire"])
def test_a_disk_with_too_little_room_for_any_step_ends_as_before(tmp_path: Path, name: str) -> None:
    def suffices(room: int) -> bool:
        prefix = _mounted(tmp_path / str(room), "size=320k")
        store = VERBS[name].scene(prefix)
        before = picture(prefix)
        fill(prefix / "ballast", leave=room)
        failure = _failure(lambda: VERBS[name].act(store))
        assert not isinstance(failure, EnvironmentDamagedError), failure.message
        (prefix / "ballast").unlink()
        assert (picture(prefix) == before) == (failure is not None)
        return failure is None

    def scenario() -> None:
        assert next(room for room in range(0, 320_000, 4096) if suffices(room)) > 0

    in_own_mounts(scenario)


def test_a_rollback_needs_no_room(tmp_path: Path) -> None:
    def scenario() -> None:
        for extra in range(0, 4096, 256):
            prefix = _mounted(tmp_path / str(extra), "size=256k")
            store = make_environment(prefix)
            write_tree(prefix / SITE, {"PIL/long.py": "x" * extra})
            before = timeless(picture(prefix))
            with open_transaction(store) as transaction:
                write_tree(transaction.stage, {f"PIL/{'n' * (extra // 20 + 1)}.py": "x"})
                transaction.perform(swap_moves())
                transaction.commit(receipt_of(FIRST))
            fill(prefix / "ballast", leave=0)
            rollback(store)
            (prefix / "ballast").unlink()
            assert timeless(picture(prefix)) == before

    in_own_mounts(scenario)


@pytest.mark.parametrize("way", ["prefix", "site-packages", "lib"])
def test_an_environment_is_reached_through_a_link(tmp_path: Path, way: str) -> None:
    real = make_environment(tmp_path / "real").prefix
    prefix = real
    if way == "prefix":
        prefix = tmp_path / "env"
        prefix.symlink_to(real)
    else:
        linked = real / (SITE if way == "site-packages" else "lib")
        linked.rename(real / "elsewhere")
        linked.symlink_to(real / "elsewhere")
    before = picture(real)
    set_up(JournalStore(prefix))
    assert (prefix / SITE / "PIL/_imaging.so").read_text() == OURS["PIL/_imaging.so"]
    rollback(JournalStore(prefix))
    assert picture(real) == before


@pytest.mark.parametrize("inside", [True, False])
def test_a_linked_package_makes_room_and_its_target_is_untouched(tmp_path: Path, *, inside: bool) -> None:
    """PIL is a symbolic link to a directory elsewhere, as in Debian's packages and in editable installs."""
    store = make_environment(tmp_path / "env")
    package, checkout = store.prefix / SITE / "PIL", (store.prefix if inside else tmp_path) / "checkout"
    package.rename(checkout)
    package.symlink_to(checkout)
    before, source = picture(store.prefix), picture(checkout)
    set_up(store)
    assert not package.is_symlink()
    assert picture(checkout) == source
    rollback(store)
    assert (picture(store.prefix), picture(checkout)) == (before, source)
    set_up(store)
    forget(store, FIRST.id)
    assert picture(checkout) == source


@pytest.mark.parametrize("linked", [SITE, "lib", "share", "share/fastinstall"])
def test_a_link_out_of_the_prefix_is_refused_before_any_change(tmp_path: Path, linked: str) -> None:
    store = make_environment(tmp_path / "env", share=True)
    outside = tmp_path / "outside"
    if (store.prefix / linked).exists():
        (store.prefix / linked).rename(outside)
    else:
        outside.mkdir()
    (store.prefix / linked).symlink_to(outside)
    before, beyond = picture(store.prefix), picture(outside)
    with pytest.raises(RefusedError, match="outside"):
        set_up(store)
    assert (picture(store.prefix), picture(outside)) == (before, beyond)


@pytest.mark.parametrize("name", ["setup", "all kinds of acts", "rollback of all kinds", "retire", "forget"])
def test_files_linked_into_a_cache_are_never_written_through(tmp_path: Path, name: str) -> None:
    verb = VERBS[name]
    store = verb.scene(tmp_path / "env")
    cache = tmp_path / "cache"
    for path in (path for path in store.prefix.rglob("*") if path.is_file() and not path.is_symlink()):
        # conda's history is never linked into a cache, because conda appends to it in place
        if not path.is_relative_to(store.root) and path.name != "history":
            (cache / path.relative_to(store.prefix)).parent.mkdir(parents=True, exist_ok=True)
            os.link(path, cache / path.relative_to(store.prefix))
    before = picture(cache)
    verb.act(store)
    assert picture(cache) == before
    if store.transactions():
        rollback(store)
    assert picture(cache) == before


def test_an_immutable_package_is_left_alone(tmp_path: Path) -> None:
    store = make_environment(tmp_path / "env")
    package = store.prefix / SITE / "PIL"
    before = picture(store.prefix)
    _make_immutable(package, immutable=True)
    try:
        with pytest.raises(FailedError, match="not permitted") as caught:
            set_up(store)
    finally:
        _make_immutable(package, immutable=False)
    assert "ls -ld" in str(caught.value.hint)
    assert picture(store.prefix) == before


def test_what_belongs_to_somebody_else_is_as_before(tmp_path: Path) -> None:
    _open_to_all(tmp_path)
    store = make_environment(tmp_path / "env")
    before = picture(store.prefix)

    def scenario() -> None:
        with pytest.raises(FailedError, match="Permission denied") as caught:
            set_up(store)
        assert "ls -ld" in str(caught.value.hint)

    _as_nobody(scenario, tmp_path / "elsewhere")
    assert picture(store.prefix) == before


def test_a_directory_that_may_not_be_written_ends_as_before(tmp_path: Path) -> None:
    """The user owns the environment, but site-packages belongs to the administrator."""
    _open_to_all(tmp_path)
    store = make_environment(tmp_path / "env", share=True)
    os.chown(store.prefix, _NOBODY, _NOBODY)
    os.chown(store.prefix / "share", _NOBODY, _NOBODY)
    before = picture(store.prefix)

    def scenario() -> None:
        with pytest.raises(FastinstallError, match=r"Permission denied|not permitted"):
            set_up(store)

    _as_nobody(scenario, tmp_path / "elsewhere")
    recover(store)
    assert timeless(picture(store.prefix)) == timeless(before)


@pytest.mark.parametrize("name", [os.fsdecode(b"caf\xe9 \xff"), "two\nlines", "n" * 255, "' ; $(x)"])
def test_an_environment_may_have_any_name(tmp_path: Path, name: str) -> None:
    store = make_environment(tmp_path / name / "env")
    before = picture(store.prefix)
    set_up(store)
    after = live(store.prefix)
    assert store.read_receipt() == receipt_of(FIRST)
    rollback(store)
    assert picture(store.prefix) == before
    set_up(store)
    assert live(store.prefix) == after


def test_paths_that_become_too_long_end_as_before(tmp_path: Path) -> None:
    directory = tmp_path
    while len(str(directory)) < 3850:
        directory /= "d" * 100
    outcomes = set()
    for length in range(3960, 4070, 10):
        prefix = directory / ("e" * (length - len(str(directory)) - 1))[:250] / "env"
        if not _can_be_made(prefix):
            break
        before = picture(prefix)
        failure = _failure(partial(_there_and_back, JournalStore(prefix)))
        assert failure is None or "too long" in failure.message
        assert picture(prefix) == before
        outcomes.add(failure is None)
    assert outcomes == {True, False}


def _failure(work: Callable[[], object]) -> FastinstallError | None:
    try:
        work()
    except FastinstallError as error:
        return error
    return None


def _can_be_made(prefix: Path) -> bool:
    try:
        make_environment(prefix)
    except OSError:
        return False
    return True


def _there_and_back(store: JournalStore) -> None:
    set_up(store)
    rollback(store)


def _mounted(directory: Path, options: str = "") -> Path:
    directory.mkdir()
    mount("tmpfs", directory, options)
    return directory


def _remount(directory: Path, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"none", os.fsencode(directory), None, _MS_REMOUNT | flags, None) == 0, os.strerror(
        ctypes.get_errno()
    )


def _make_immutable(path: Path, *, immutable: bool) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        flags = array.array("l", [0])
        fcntl.ioctl(descriptor, _GET_FLAGS, flags)
        flags[0] = flags[0] | _IMMUTABLE if immutable else flags[0] & ~_IMMUTABLE
        fcntl.ioctl(descriptor, _SET_FLAGS, flags)
    except OSError as error:
        pytest.skip(f"no immutable files here, or not by this user: {error.strerror}")
    finally:
        os.close(descriptor)


def _open_to_all(directory: Path) -> None:
    """Let other users enter a directory, because pytest closes its directories to them."""
    for each in (directory, *directory.parents):
        if not each.stat().st_mode & stat.S_IXOTH:
            each.chmod(0o755)


def _as_nobody(work: Callable[[], None], elsewhere: Path) -> None:
    """Run `work` as a user who owns nothing; first, a setup in `elsewhere` imports modules the user cannot read."""
    if os.geteuid() != 0:
        pytest.skip("to become another user needs root")
    set_up(make_environment(elsewhere))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            work()
            code = 0
        except BaseException:  # noqa: BLE001 (the child process ends here; it can only leave a traceback)
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "failed as another user; its traceback stands above"

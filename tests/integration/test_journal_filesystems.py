"""Environments on unusual filesystems: on two at once, on overlay layers, on full disks."""

import os
from pathlib import Path

import pytest
from support.journal.environments import (
    FIRST,
    SECOND,
    SITE,
    dies_at,
    fill,
    in_own_mounts,
    live,
    make_environment,
    open_transaction,
    picture,
    receipt_of,
    recover_all,
    set_up,
    set_up_again,
    steps_of,
    swap_moves,
    write_tree,
)
from support.machine.own_mounts import mount

from fastinstall.core.errors import FastinstallError
from fastinstall.journal.rollback import rollback
from fastinstall.journal.store import JournalStore


def test_site_packages_on_its_own_filesystem_holds_the_stage(tmp_path: Path) -> None:
    def scenario() -> None:
        prefix = tmp_path / "env"
        (prefix / SITE).mkdir(parents=True)
        mount("tmpfs", prefix / SITE)
        store = make_environment(prefix)
        before = picture(prefix)
        with open_transaction(store) as transaction:
            assert transaction.stage == prefix / SITE / f".fastinstall-{FIRST.id}" / "stage"
            transaction.perform(swap_moves())
            transaction.commit(receipt_of(FIRST))
        write_tree(prefix / SITE, {"PIL/MyPlugin.py": "mine"})
        kept = rollback(store, force=True).kept
        assert [path.relative_to(prefix / SITE).parts[0] for path in kept] == [f".fastinstall-kept-{FIRST.id}"]
        Path(kept[0], "MyPlugin.py").unlink()
        before_again = live(prefix)
        assert {path: look for path, look in before_again.items() if "fastinstall-kept" not in path} == {
            path: (look[0], look[1], None) for path, look in before.items()
        }

    in_own_mounts(scenario)


def test_deaths_with_site_packages_on_a_filesystem_of_its_own(tmp_path: Path) -> None:
    def scenario() -> None:
        prefix = tmp_path / "env"
        (prefix / SITE).mkdir(parents=True)
        mount("tmpfs", prefix / SITE)
        store = make_environment(prefix)
        before = picture(prefix, times=False)

        def cut(step: int) -> bool:
            died = dies_at(step, lambda: set_up(store))
            recover_all(store)
            rollback(store)
            assert picture(prefix, times=False) == before
            return died

        assert len(list(steps_of(cut))) > 50

    in_own_mounts(scenario)


@pytest.mark.parametrize("layers", ["setup over a layer", "rollback over a layer"])
def test_directories_of_a_lower_layer_move_file_by_file(tmp_path: Path, layers: str) -> None:
    """In a container, files of an earlier layer can be renamed, but directories cannot."""

    def scenario() -> None:
        before = picture(make_environment(tmp_path / "lower").prefix)
        if layers == "rollback over a layer":
            set_up(JournalStore(tmp_path / "lower"))
        store = JournalStore(_overlay(tmp_path, "lower"))
        if layers == "setup over a layer":
            set_up(store)
        set_up_again(store)
        assert (store.prefix / SITE / "PIL/_imaging.so").read_text() == "simd core"
        assert rollback(store, to=FIRST.id).ids == (SECOND.id, FIRST.id)
        assert picture(store.prefix) == before

    in_own_mounts(scenario)


def test_deaths_over_a_lower_layer(tmp_path: Path) -> None:
    def scenario() -> None:
        mount("tmpfs", tmp_path)  # in memory: on a disk, overlayfs would wait for the disk at every copy
        before = picture(make_environment(tmp_path / "lower").prefix, times=False)

        def cut(step: int) -> bool:
            store = JournalStore(_overlay(tmp_path, "lower"))
            died = dies_at(step, lambda: set_up(store))
            recover_all(store)
            rollback(store)
            assert picture(store.prefix, times=False) == before
            return died

        assert len(list(steps_of(cut))) > 90

    in_own_mounts(scenario)


def test_a_full_disk_ends_in_the_environment_as_it_was(tmp_path: Path) -> None:
    def scenario() -> None:
        prefix = tmp_path / "env"
        prefix.mkdir()
        mount("tmpfs", prefix, "size=256k")
        store = make_environment(prefix)
        before = picture(prefix)
        for room in range(0, 120_000, 4096):
            ballast = prefix / "ballast"
            fill(ballast, leave=room)
            try:
                set_up(store)
            except (FastinstallError, OSError):
                ballast.unlink()
                os.utime(prefix, ns=(1, 1))
                assert picture(prefix) == before, f"with {room} bytes left"
            else:
                ballast.unlink()
                break
        else:
            pytest.fail("never enough room")
        assert room > 0, "never too little room"
        rollback(store)
        assert picture(prefix, times=False) == {path: (*look[:2], None) for path, look in before.items()}

    in_own_mounts(scenario)


_overlays = iter(range(10_000))


def _overlay(directory: Path, lower: str) -> Path:
    number = next(_overlays)
    upper, work, merged = (directory / f"{name}{number}" for name in ("upper", "work", "merged"))
    for path in (upper, work, merged):
        path.mkdir()
    mount("overlay", merged, f"lowerdir={directory / lower},upperdir={upper},workdir={work}")
    return merged

"""Who may read and replace PIL, compared with other packages."""

import os
from pathlib import Path

import pytest

from fastinstall.observe.obstacles import find_entries_of_others, find_hidden_entries

NAMES = ("PIL", "pillow.libs", "absent")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a site-packages with PIL, its libraries and another package, readable by every user."""
    for name in ("PIL/sub/deep.py", "pillow.libs/libjpeg.so", "numpy/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return tmp_path


def test_nothing_is_hidden_where_all_may_read(site: Path) -> None:
    assert find_hidden_entries(site, NAMES) == ()
    assert find_entries_of_others(site, NAMES) == ()


@pytest.mark.parametrize(("path", "mode"), [("PIL", 0o700), ("PIL/sub", 0o744), ("PIL/sub/deep.py", 0o600)])
def test_what_others_cannot_read_is_named_by_its_entry(site: Path, path: str, mode: int) -> None:
    (site / path).chmod(mode)
    assert find_hidden_entries(site, NAMES) == ("PIL",)


def test_a_private_environment_hides_nothing_more(site: Path) -> None:
    (site / "PIL").chmod(0o700)
    site.chmod(0o700)
    assert find_hidden_entries(site, NAMES) == ()


def test_packages_that_are_all_private_are_meant_so(site: Path) -> None:
    (site / "PIL").chmod(0o700)
    (site / "numpy").chmod(0o700)
    assert find_hidden_entries(site, NAMES) == ()


def test_the_group_counts_where_it_is_the_same(site: Path) -> None:
    for path in (site, site / "numpy"):
        path.chmod(0o750)
    (site / "PIL/sub").chmod(0o700)
    assert find_hidden_entries(site, NAMES) == ("PIL",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_another_user_are_named(site: Path) -> None:
    os.chown(site, 4711, 4711)
    os.chown(site / "PIL", 4711, 4711)
    assert find_entries_of_others(site, NAMES) == ("PIL", "pillow.libs")
    for path in (site / "PIL").rglob("*"):
        os.chown(path, 4711, 4711)
    assert find_entries_of_others(site, NAMES) == ("pillow.libs",)

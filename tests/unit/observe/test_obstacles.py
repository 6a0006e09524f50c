"""Obstacles to a setup's renames are found before anything is downloaded."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fastinstall.model.facts import ObstacleKind
from fastinstall.observe.obstacles import find_obstacles

NAMES = ("PIL", "pillow-13.0.0.dist-info", "absent")
SITE = "lib/python3.11/site-packages"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    for path in ("PIL", "pillow-13.0.0.dist-info"):
        (tmp_path / "env" / SITE / path).mkdir(parents=True)
    return tmp_path / "env"


def _find(prefix: Path) -> list[tuple[str, str]]:
    found = find_obstacles(prefix, prefix / SITE, NAMES)
    return [(each.kind.value, each.place.relative_to(prefix).as_posix()) for each in found]


def test_a_usual_environment_has_none(prefix: Path) -> None:
    assert _find(prefix) == []


@pytest.mark.parametrize("name", ["lib", "lib/python3.11", SITE, "share", "share/fastinstall"])
def test_a_link_out_of_the_environment_is_found(prefix: Path, tmp_path: Path, name: str) -> None:
    place, away = prefix / name, tmp_path / "away"
    place.mkdir(parents=True, exist_ok=True)
    place.rename(away)
    place.symlink_to(away)
    (obstacle,) = find_obstacles(prefix, prefix / SITE, NAMES)
    assert obstacle.kind is ObstacleKind.LEADS_OUT
    assert obstacle.leads_to.startswith(os.path.realpath(away))


def test_a_link_inside_the_environment_is_none(prefix: Path) -> None:
    (prefix / "lib").rename(prefix / "lib64")
    (prefix / "lib").symlink_to("lib64")
    assert _find(prefix) == []


def _file(path: Path) -> None:
    path.write_text("")


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("make", [_file, _dangling])
@pytest.mark.parametrize("name", [f"{SITE}/PIL", "share"])
def test_what_is_no_directory_is_in_the_way(prefix: Path, name: str, make: Callable[[Path], None]) -> None:
    if name != "share":
        (prefix / name).rmdir()
    make(prefix / name)
    assert ("in-the-way", name) in _find(prefix)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize(("name", "place"), [(f"{SITE}/PIL", f"{SITE}/PIL"), (".", "."), ("share", "share")])
def test_a_directory_without_right_to_write_is_found(prefix: Path, name: str, place: str) -> None:
    (prefix / name).mkdir(exist_ok=True)
    (prefix / name).chmod(0o555)
    try:
        assert _find(prefix) == [("not-writable", place)]
    finally:
        (prefix / name).chmod(0o755)


def test_rights_are_asked_of_the_kernel(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {prefix, prefix / SITE / "PIL"}
    monkeypatch.setattr(os, "access", lambda path, _mode: path not in refused)
    assert _find(prefix) == [("not-writable", "."), ("not-writable", f"{SITE}/PIL")]


@pytest.mark.skipif(shutil.which("chattr") is None, reason="needs chattr (e2fsprogs)")
def test_an_immutable_directory_is_found(prefix: Path) -> None:
    place = prefix / SITE / "PIL"
    if subprocess.run(("chattr", "+i", place), capture_output=True, check=False).returncode != 0:
        pytest.skip("chattr +i is not allowed here")
    try:
        assert ("immutable", f"{SITE}/PIL") in _find(prefix)
    finally:
        subprocess.run(("chattr", "-i", place), check=True)


def test_a_mount_on_what_is_replaced_is_found(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: path == prefix / SITE / "PIL")  # a real mount would need root
    assert _find(prefix) == [("mounted", f"{SITE}/PIL")]

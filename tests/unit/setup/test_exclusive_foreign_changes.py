"""Changes by other programs to files that a setup will replace are noticed; other changes are not."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fastinstall.core.package_managers import ConcurrentInstaller
from fastinstall.observe.pil_snapshot import installers, observe_pil_snapshot
from fastinstall.setup.exclusive import describe_responsible_programs, find_changed_paths

SITE = "lib/python3.11/site-packages"
THERE = (
    *("PIL/Image.py", "PIL/sub/x.py", "pillow.libs/libjpeg.so", "pillow-13.0.0.dist-info/RECORD"),
    *("numpy/core.py", "pillow_heif/x.py", "_fastinstall_guard/state"),
)
RECORD = "conda-meta/pillow-13.0.0-py311_0.json"
Act = Callable[[Path], object]


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    for name in (*(f"{SITE}/{path}" for path in THERE), RECORD, "conda-meta/numpy-2.0-0.json"):
        write(tmp_path / name)
    return tmp_path


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("content")


def rewrite(path: Path) -> None:
    """Replace a file by one with the same content and time, as pip does when it reinstalls a version."""
    times = path.stat().st_mtime_ns
    write(path.with_name("fresh"))
    os.utime(path.with_name("fresh"), ns=(times, times))
    path.with_name("fresh").replace(path)


@pytest.mark.parametrize(
    ("act", "path"),
    [
        (lambda site: rewrite(site / "PIL/Image.py"), "PIL/Image.py"),
        (lambda site: (site / "PIL/sub/x.py").unlink(), "PIL/sub/x.py"),
        (lambda site: write(site / "PIL/added.py"), "PIL/added.py"),
        (lambda site: write(site / "~IL/Image.py"), "~IL/Image.py"),
        (lambda site: write(site / "Pillow-12.0.0.dist-info/RECORD"), "Pillow-12.0.0.dist-info/RECORD"),
        (lambda site: write(site / "pillow_simd.libs/x.so"), "pillow_simd.libs/x.so"),
        (lambda site: os.utime(site / "_fastinstall_guard/state", (1, 1)), "_fastinstall_guard/state"),
        (lambda site: rewrite(site.parents[2] / RECORD), f"../../../{RECORD}"),
    ],
    ids=["replaced", "gone", "came", "pip's debris", "a Pillow", "its libraries", "a name that was given", "a record"],
)
def test_a_change_is_noticed_by_its_path(prefix: Path, act: Act, path: str) -> None:
    site = prefix / SITE
    before = observe_pil_snapshot(prefix, site, ("_fastinstall_guard",))
    act(site)
    now = observe_pil_snapshot(prefix, site, ("_fastinstall_guard",))
    assert find_changed_paths(before, now) == (os.path.normpath(f"{SITE}/{path}"),)


@pytest.mark.parametrize("path", ["PIL/__pycache__/Image.cpython-311.pyc", "numpy/core.py", "pillow_heif/x.py"])
def test_what_others_own_is_nobodys_business(prefix: Path, path: str) -> None:
    before = observe_pil_snapshot(prefix, prefix / SITE)
    write(prefix / SITE / path)
    assert find_changed_paths(before, observe_pil_snapshot(prefix, prefix / SITE)) == ()


def test_an_environment_without_anything_has_nothing_standing(tmp_path: Path) -> None:
    assert observe_pil_snapshot(tmp_path, tmp_path / SITE) == {}


def test_the_other_program_is_named_by_process_else_by_installer(prefix: Path) -> None:
    metadata = f"{SITE}/pillow-13.0.0.dist-info"
    (prefix / metadata / "INSTALLER").write_text("uv\n")
    assert installers(prefix, (f"{metadata}/RECORD", f"{SITE}/PIL/Image.py")) == ("uv",)
    assert describe_responsible_programs((), ("fastinstall", "uv")) == "uv"
    assert describe_responsible_programs((), ("fastinstall",)) == "another program"
    assert (
        describe_responsible_programs((ConcurrentInstaller(process=7, tool="pip", action="pip install x"),), ("uv",))
        == "process 7 (pip install x)"
    )

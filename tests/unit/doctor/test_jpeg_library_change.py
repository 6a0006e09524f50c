"""Differences between the current libjpeg and the one that a setup installed."""

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from support.suite.golden import Golden
from support.values.builders import SITE_PACKAGES

from fastinstall.doctor.checks.jpeg_library import describe_change_since_setup
from fastinstall.elf.description import LoadedLibrary

BUNDLED = SITE_PACKAGES / "pillow.libs/libjpeg-0d45d2bd.so.62.4.0"
SYSTEM = PurePosixPath("/usr/lib/x86_64-linux-gnu/libjpeg.so.62")
RECORDED = LoadedLibrary(
    soname="libjpeg.so.62",
    path=BUNDLED,
    implementation="libjpeg-turbo",
    version="3.1.3",
    sha256="1bea" * 16,
    size=700_000,
    inode=12,
    build_id="ab" * 20,
)
OTHER: dict[str, Any] = {"sha256": "0dd5" * 16, "build_id": "cd" * 20}


@pytest.mark.parametrize(
    "now",
    [
        {},
        {"inode": 4711},
        {"path": SYSTEM, "inode": 4711},
        {"sha256": ""},
        {"sha256": "", "build_id": "", "inode": 4711},
        {"sha256": "", "build_id": "", "size": 0},
    ],
)
def test_the_same_contents_are_the_same_library_in_any_place(now: dict[str, Any]) -> None:
    assert describe_change_since_setup(RECORDED, replace(RECORDED, **now)) == ()


@pytest.mark.parametrize("now", [OTHER, {"sha256": "", "build_id": "cd" * 20}, {"sha256": "", "size": 1}])
def test_other_contents_are_another_library(now: dict[str, Any]) -> None:
    assert describe_change_since_setup(RECORDED, replace(RECORDED, **now))


def test_what_changed_is_told_field_by_field(golden: Golden) -> None:
    now = replace(RECORDED, **OTHER, path=SYSTEM, version="2.1.5", size=600_000)
    fields = describe_change_since_setup(RECORDED, now)
    assert [line.split()[0] for line in fields] == ["path", "library", "size", "sha256", "build-id"]
    golden("\n".join(fields))

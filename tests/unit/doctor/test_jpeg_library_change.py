"""How a libjpeg differs from the one that was set up, and who is suspected of it."""

from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath
from typing import Any

import pytest
from support.values.builders import SITE_PACKAGES, changed, healthy_facts, receipt, recipe

from fastinstall.doctor.check_context import CheckContext
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


def context(**facts: Any) -> CheckContext:
    return CheckContext(
        facts=changed(healthy_facts(), facts),
        receipt=receipt(),
        recipe=recipe(),
        today=date(2026, 11, 22),
        tool_version="0.1.0",
    )


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
def test_the_same_contents_are_the_same_library_wherever_they_lie(now: dict[str, Any]) -> None:
    assert describe_change_since_setup(context(), RECORDED, replace(RECORDED, **now)) == ()


@pytest.mark.parametrize("now", [OTHER, {"sha256": "", "build_id": "cd" * 20}, {"sha256": "", "size": 1}])
def test_other_contents_are_another_library(now: dict[str, Any]) -> None:
    assert describe_change_since_setup(context(), RECORDED, replace(RECORDED, **now))


def test_what_changed_is_told_field_by_field() -> None:
    now = replace(RECORDED, **OTHER, path=SYSTEM, version="2.1.5", size=600_000)
    assert describe_change_since_setup(context(), RECORDED, now) == (
        f"path was {BUNDLED}, is {SYSTEM}",
        "library was libjpeg-turbo 3.1.3, is libjpeg-turbo 2.1.5",
        "size was 700000, is 600000",
        f"sha256 was {'1bea' * 4}, is {'0dd5' * 4}",
        f"build-id was {'ab' * 8}, is {'cd' * 8}",
        "the loader now finds another file first",
    )


@pytest.mark.parametrize(
    ("path", "facts", "author"),
    [
        (BUNDLED, {}, "now it belongs to pillow 12.1.1+simd.v3, installed by fastinstall"),
        (
            BUNDLED,
            {"stack": {"owners": {"0": {"mismatched": ["pillow.libs/libjpeg-0d45d2bd.so.62.4.0"]}}}},
            "clobbered in place: RECORD lists other contents",
        ),
        (SYSTEM, {}, "replaced in place, as an upgrade of the operating system's packages does"),
        (PurePosixPath("/opt/libs/libjpeg.so.62"), {}, "overwritten in place, by an unknown tool"),
        (
            PurePosixPath("/srv/images/env/lib/libjpeg.so.62"),
            {"environment": {"kind": "conda"}},
            "clobbered in place, as conda's package libjpeg-turbo does; to find out which: grep -rlF lib/libjpeg.so.62",
        ),
    ],
)
def test_who_may_have_done_it_is_guessed_from_where_it_lies(
    path: PurePosixPath, facts: dict[str, Any], author: str
) -> None:
    was = replace(RECORDED, path=path)
    assert describe_change_since_setup(context(**facts), was, replace(was, **OTHER))[-1].startswith(author)

"""Which PIL a process runs."""

from pathlib import PurePosixPath

from support.values.builders import SITE_PACKAGES, SUFFIX, copy

from fastinstall.model.facts import packages_of, running_core

STUB = SITE_PACKAGES / f"PIL/_imaging{SUFFIX}"
LIBC = PurePosixPath("/lib/x86_64-linux-gnu/libc.so.6")


def test_a_core_is_told_by_its_name_and_place() -> None:
    assert running_core((LIBC, SITE_PACKAGES / f"PIL/_webp{SUFFIX}", STUB)) == STUB


def test_the_code_behind_a_stub_counts() -> None:
    code = copy("x86-64-v3").path
    assert running_core((STUB, code)) == running_core((code, STUB)) == code


def test_a_file_of_another_package_is_no_core() -> None:
    assert running_core((SITE_PACKAGES / "other/_imaging.so", LIBC)) is None


def test_the_directory_of_packages_is_found_from_every_file() -> None:
    assert {packages_of(path) for path in (STUB, copy("x86-64-v2").path, copy("x86-64-v3").path)} == {SITE_PACKAGES}
    assert packages_of(LIBC) is None

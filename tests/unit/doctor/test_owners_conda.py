"""The conda package that owns a file, found by the file's path."""

from datetime import date
from pathlib import PurePosixPath
from typing import Any

import pytest
from support.conda.checked_environments import conda_facts
from support.values.builders import PREFIX, changed, recipe

from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.codec_libraries import describe_file_owner
from fastinstall.doctor.owners import find_owning_package, is_unclaimed, relative_to_prefix

TURBO = "libjpeg-turbo-3.1.3-hb9d3cd8_0"


def context(**facts: Any) -> CheckContext:
    return CheckContext(
        facts=changed(conda_facts(), facts), receipt=None, recipe=recipe(), today=date(2026, 11, 22), tool_version="1"
    )


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        (PREFIX / "lib/libjpeg.so.8", "lib/libjpeg.so.8"),
        (PurePosixPath("/data/images/env/lib/libjpeg.so.8"), "lib/libjpeg.so.8"),
        (PurePosixPath("/usr/lib/libjpeg.so.8"), ""),
    ],
)
def test_a_path_is_told_as_records_have_it_through_a_link_too(path: PurePosixPath, relative: str) -> None:
    assert relative_to_prefix(context().facts, path) == relative


def test_a_library_is_of_the_package_that_claims_it() -> None:
    assert find_owning_package(context(), PREFIX / "lib/libjpeg.so.8") == TURBO
    assert describe_file_owner(context(), PREFIX / "lib/libjpeg.so.8") == f"this conda environment's {TURBO}"


def test_of_several_claimants_it_is_the_one_that_has_it() -> None:
    clash = {"path": "lib/libjpeg.so.8", "claimants": [TURBO, "jpeg-8d-0"], "holder": "jpeg-8d-0"}
    assert find_owning_package(context(conda={"clashes": [clash]}), PREFIX / "lib/libjpeg.so.8") == "jpeg-8d-0"


def test_of_what_pip_has_it_is_no_package() -> None:
    clash = {"path": "lib/libjpeg.so.8", "claimants": [TURBO, "pip: pillow 9"], "holder": "pip: pillow 9"}
    contested = context(conda={"clashes": [clash]})
    assert find_owning_package(contested, PREFIX / "lib/libjpeg.so.8") == ""
    assert not is_unclaimed(contested, PREFIX / "lib/libjpeg.so.8")


@pytest.mark.parametrize(
    ("name", "facts", "unclaimed"),
    [
        ("libjpeg.so.62", {}, True),
        ("libtiff.so.5", {}, True),
        ("libjpeg.so.8", {}, False),
        ("libz.so.1", {}, False),
        ("libjpeg.so.62", {"conda": {"unreadable": {"jpeg-9e-0.json": "empty"}}}, False),
        ("libjpeg.so.62", {"conda": None}, False),
    ],
)
def test_only_a_library_whose_claims_are_known_can_be_nobodys(
    name: str, facts: dict[str, Any], *, unclaimed: bool
) -> None:
    assert is_unclaimed(context(**facts), PREFIX / f"lib/{name}") is unclaimed

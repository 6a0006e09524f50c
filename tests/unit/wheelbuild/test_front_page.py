"""The page of an index for people: which wheels, for what, and how they are installed."""

import html
import re
from dataclasses import replace

import pytest

from fastinstall.wheelbuild.package_index.front_page import MARK, IndexedFile, front_page

FILE = IndexedFile(
    name="pillow",
    version="13.0.0+simd.v2.v3",
    filename="pillow-13.0.0+simd.v2.v3-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    sha256="a" * 64,
    size=6_949_356,
    uploaded="2026-01-31T12:00:00Z",
)


def _rows(*files: IndexedFile) -> list[list[str]]:
    """The cells of each wheel, as text."""
    rows = re.findall(r"<tr>(.*)</tr>", front_page(files))
    return [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<td>(.*?)</td>", row)] for row in rows]


def test_a_row_says_what_a_wheel_is_for_and_what_its_hash_is() -> None:
    assert _rows(FILE)[1] == [
        "pillow 13.0.0+simd.v2.v3",
        "3.11",
        "x86-64-v2, x86-64-v3",
        "2.27",
        "6.9",
        "a" * 64,
    ]


@pytest.mark.parametrize(
    ("tag", "python"),
    [("cp314-cp314t-linux_x86_64", "3.14t"), ("py3-none-any", "py3"), ("cp39-abi3-linux_x86_64", "abi3")],
)
def test_the_python_is_named_as_people_name_it(tag: str, python: str) -> None:
    assert _rows(replace(FILE, filename=f"pillow-13.0.0-{tag}.whl"))[1][1] == python


def test_the_oldest_python_stands_first() -> None:
    files = [
        replace(FILE, filename=f"pillow-13.0.0-{abi}-{abi}-linux_x86_64.whl") for abi in ("cp311", "cp39", "cp310")
    ]
    assert [row[1] for row in _rows(*files)[1:]] == ["3.9", "3.10", "3.11"]


def test_a_wheel_of_somebody_else_has_no_level() -> None:
    assert _rows(replace(FILE, name="viewer", version="1.0"))[1][2] == ""


def test_an_address_is_relative_and_has_no_bare_plus() -> None:
    page = front_page([replace(FILE, has_provenance=True)])
    found = re.findall(r'href="(pillow[^"]*)"', page)
    assert found == [FILE.filename.replace("+", "%2B"), f"{FILE.filename.replace('+', '%2B')}.provenance"]


def test_its_commands_are_for_pillow_whatever_else_is_there() -> None:
    page = front_page([replace(FILE, name="viewer"), FILE])
    assert "pip install --index-url ADDRESS pillow" in page
    assert "pip install --index-url ADDRESS viewer" in front_page([replace(FILE, name="viewer")])


def test_no_name_can_break_out_of_the_page() -> None:
    assert front_page([replace(FILE, name="<script>x", version="<script>y")]).count("<script>") == 1


def test_it_can_be_told_from_a_page_of_somebody_else() -> None:
    assert MARK in front_page([FILE])

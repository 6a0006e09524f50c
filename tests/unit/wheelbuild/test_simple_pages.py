import html
import json
import re
from dataclasses import replace

import pytest

from fastinstall.wheelbuild.package_index.simple_pages import IndexedFile, index_pages

FILE = IndexedFile(
    name="pillow",
    version="13.0.0+simd.v3",
    filename="pillow-13.0.0+simd.v3-cp311-cp311-linux_x86_64.whl",
    sha256="a" * 64,
    size=7,
    uploaded="2026-01-31T12:00:00Z",
)


def _attributes(file: IndexedFile) -> dict[str, str]:
    """Of the one link on its page."""
    (anchor,) = re.findall(r"<a ([^>]*)>", index_pages([file])["pillow/index.html"])
    return {key: html.unescape(value) for key, value in re.findall(r'([\w-]+)="([^"]*)"', anchor)}


def _entry(file: IndexedFile) -> dict[str, object]:
    (entry,) = json.loads(index_pages([file])["pillow/index.json"])["files"]
    assert isinstance(entry, dict)
    return entry


def test_the_root_leads_to_each_project_once() -> None:
    pages = index_pages([replace(FILE, name="pillow-simd"), FILE, replace(FILE, filename="pillow-2.whl")])

    assert re.findall(r'href="([^"]*)"', pages["index.html"]) == ["pillow/", "pillow-simd/"]
    assert json.loads(pages["index.json"])["projects"] == [{"name": "pillow"}, {"name": "pillow-simd"}]
    assert set(pages) == {
        f"{place}index.{kind}" for place in ("", "pillow/", "pillow-simd/") for kind in ("html", "json")
    }


def test_an_address_is_relative_and_has_no_bare_plus() -> None:
    plain = "../../pillow-13.0.0%2Bsimd.v3-cp311-cp311-linux_x86_64.whl"

    assert _attributes(FILE)["href"] == f"{plain}#sha256={'a' * 64}"
    assert _entry(FILE)["url"] == plain


def test_nothing_is_said_that_is_not_known() -> None:
    assert set(_attributes(FILE)) == {"href"}
    assert set(_entry(FILE)) == {"filename", "url", "hashes", "size", "upload-time"}


@pytest.mark.parametrize(
    ("known", "attribute", "shown", "key", "value"),
    [
        ({"requires_python": ">=3.11"}, "data-requires-python", ">=3.11", "requires-python", ">=3.11"),
        ({"metadata_sha256": "b"}, "data-core-metadata", "sha256=b", "core-metadata", {"sha256": "b"}),
        (
            {"has_provenance": True},
            "data-provenance",
            f"../../{FILE.filename.replace('+', '%2B')}.provenance",
            "provenance",
            f"../../{FILE.filename.replace('+', '%2B')}.provenance",
        ),
    ],
)
def test_what_is_known_stands_in_both_forms(
    known: dict[str, object], attribute: str, shown: str, key: str, value: object
) -> None:
    file = replace(FILE, **known)  # type: ignore[arg-type]  # each of them as its field has it

    assert _attributes(file)[attribute] == shown
    assert _entry(file)[key] == value


def test_no_name_can_break_out_of_the_page() -> None:
    page = index_pages([replace(FILE, filename='a"><script>.whl')])["pillow/index.html"]

    assert "<script>" not in page

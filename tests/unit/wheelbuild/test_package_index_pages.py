import hashlib
import html
import json
import re
from dataclasses import replace

from fastinstall.wheelbuild.package_index import IndexedFile, index_pages

FILE = IndexedFile(
    name="pillow",
    version="13.0.0+simd.v3",
    filename="pillow-13.0.0+simd.v3-cp311-cp311-linux_x86_64.whl",
    sha256="a" * 64,
    size=7,
    uploaded="2026-01-31T12:00:00Z",
    requires_python="",
    metadata="Metadata-Version: 2.4\n",
)


def _attributes(file: IndexedFile) -> dict[str, str]:
    """Return the attributes of the only link on the file's page."""
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
    assert set(_attributes(FILE)) == {"href", "data-core-metadata"}
    assert set(_entry(FILE)) == {"filename", "url", "hashes", "size", "upload-time", "core-metadata"}


def test_what_is_known_stands_in_both_forms() -> None:
    file = replace(FILE, requires_python=">=3.11")
    sha256 = hashlib.sha256(file.metadata.encode()).hexdigest()

    attributes, entry = _attributes(file), _entry(file)

    assert (attributes["data-requires-python"], entry["requires-python"]) == (">=3.11", ">=3.11")
    assert (attributes["data-core-metadata"], entry["core-metadata"]) == (f"sha256={sha256}", {"sha256": sha256})


def test_no_name_can_break_out_of_the_page() -> None:
    page = index_pages([replace(FILE, filename='a"><script>.whl')])["pillow/index.html"]

    assert "<script>" not in page

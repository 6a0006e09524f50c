import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from unearth.collector import IndexPage
from unearth.link import Link

from fastinstall.core.errors import FailedError
from fastinstall.index.pages import JSON, OfferedFile, read_page

URL = "https://index.example/simple/pillow/"
ENTRY: dict[str, Any] = {
    "filename": "pillow-13.0.0.tar.gz",
    "url": "../../files/pillow-13.0.0.tar.gz",
    "hashes": {"sha256": "ab" * 32},
    "requires-python": ">=3.10",
    "yanked": False,
    "size": 47_000_000,
    "upload-time": "2026-10-15T12:00:00Z",
    "core-metadata": {"sha256": "cd" * 32},
    "dist-info-metadata": {"sha256": "cd" * 32},
    "data-dist-info-metadata": True,
    "gpg-sig": False,
    "provenance": "https://index.example/integrity/pillow",
}
DOCUMENT: dict[str, Any] = {
    "meta": {"api-version": "1.4", "_last-serial": 1},
    "name": "pillow",
    "versions": ["13.0.0"],
    "alternate-locations": [],
    "files": [ENTRY],
}
SHAPES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    7,
    1.5,
    "",
    "text",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"": None},
    {"a": {}},
)
READ = {"files", "url", "hashes", "requires-python", "yanked", "size"}
"""Keys whose values are used."""


def page(content: str, content_type: str = "text/html") -> tuple[OfferedFile, ...]:
    return read_page(IndexPage(Link(URL), content.encode(), "utf-8", content_type))


def malformed_documents() -> Iterator[tuple[str, Any]]:
    """Yield a key's name and a document, in which that key is missing or has a value of another type."""
    yield from (("the page", shape) for shape in SHAPES)
    for key in DOCUMENT:
        yield from ((key, DOCUMENT | {key: shape}) for shape in SHAPES)
        yield key, {name: value for name, value in DOCUMENT.items() if name != key}
    yield from (("files[0]", DOCUMENT | {"files": [shape]}) for shape in SHAPES)
    for key in ENTRY:
        yield from ((f"files[0].{key}", DOCUMENT | {"files": [ENTRY | {key: shape}]}) for shape in SHAPES)
    for shape in SHAPES:
        yield "files[0].hashes", DOCUMENT | {"files": [ENTRY | {"hashes": {"sha256": shape}}]}
    for url in ("http://[", "//[::1", "https://index.example:port/pillow-13.0.0.tar.gz"):
        yield "files[0].url", DOCUMENT | {"files": [ENTRY | {"url": url}]}


def failure_of(document: object) -> FailedError | None:
    try:
        page(json.dumps(document), JSON)
    except FailedError as error:
        return error
    return None


def test_a_malformed_value_is_named_with_its_key_and_page() -> None:
    failures = [(key, error) for key, document in malformed_documents() if (error := failure_of(document))]
    for key, error in failures:
        assert f"{URL}: " in error.message
        named = "files" if key == "the page" else key
        assert re.search(rf"{re.escape(named)}(\[0\])?: (expected|.* is not a URL)", error.message)
        assert error.hint
    assert {key.rpartition(".")[2] for key, _error in failures} == {"the page", "files[0]", *READ}


def test_values_that_decide_nothing_are_ignored() -> None:
    (sound,) = page(json.dumps(DOCUMENT), JSON)
    for key, document in malformed_documents():
        if key.rpartition(".")[2] not in {"the page", "files[0]", *READ}:
            assert page(json.dumps(document), JSON) == (sound,)


def test_a_value_that_is_read_has_its_type() -> None:
    for _key, document in malformed_documents():
        for offer in page(json.dumps(document), JSON) if failure_of(document) is None else ():
            assert type(offer.size) is int
            assert type(offer.link.requires_python) in (str, type(None))
            assert all(type(each) is str for (each,) in (offer.link.hash_option or {}).values())


@pytest.mark.parametrize("content", ["", "{", '"\\ud800"', "[" * 200_000, '{"files": [1e999]}', '{"files": NaN}'])
def test_what_is_not_json_is_named_with_its_url(content: str) -> None:
    with pytest.raises(FailedError, match="cannot be parsed as an index page") as caught:
        page(content, JSON)
    assert URL in caught.value.message


def test_an_unknown_encoding_is_named_with_the_url() -> None:
    with pytest.raises(FailedError, match="unknown encoding") as caught:
        read_page(IndexPage(Link(URL), b"<a href=b>", "klingon", "text/html"))
    assert URL in caught.value.message


@pytest.mark.parametrize("href", ["http://[", "//[::1", "https://index.example:port/a-1.tar.gz"])
@pytest.mark.parametrize("template", ['<a href="{}">a</a>', '<base href="{}"><a href="a-1.tar.gz">a</a>'])
def test_an_address_in_html_that_is_none_is_named(href: str, template: str) -> None:
    with pytest.raises(FailedError, match="is not a URL") as caught:
        page(template.format(href))
    assert URL in caught.value.message
    assert href in caught.value.message


@pytest.mark.parametrize(
    "content",
    ["", "<a>", "<a href>", "<a href=''>", "<a href='#sha256'>", "<a href='a-1.tar.gz#sha256=&=&'>", "\0<!DOCTYPE"],
)
def test_html_without_files_is_no_failure(content: str) -> None:
    assert all(offer.size == 0 for offer in page(content))


def test_a_page_of_html_lists_files_with_their_hashes() -> None:
    offers = page('<a href="a-1.tar.gz#sha256=00">a</a><a href="b-1.tar.gz">b</a><a name="top">no file</a>')
    assert [offer.link.filename for offer in offers] == ["a-1.tar.gz", "b-1.tar.gz"]
    assert offers[0].link.hash_option == {"sha256": ["00"]}


@pytest.mark.parametrize("attribute", ["data-yanked", 'data-yanked=""', 'data-yanked="broken"'])
def test_a_file_is_withdrawn_by_the_attribute_alone(attribute: str) -> None:
    first, second = page(f'<a href="a-1.tar.gz" {attribute}>a</a><a href="b-1.tar.gz">b</a>')
    assert first.link.is_yanked
    assert not second.link.is_yanked


def test_a_page_of_json_may_say_how_large_a_file_is() -> None:
    sizes = (7028392, 0, None)
    files: list[dict[str, object]] = [
        {"url": f"a-{number}.tar.gz", "hashes": {}, "size": size} for number, size in enumerate(sizes)
    ]
    offers = page(json.dumps({"files": [{"no": "URL"}, *files, {"url": "b-1.tar.gz", "hashes": {}}]}), JSON)
    assert [offer.size for offer in offers] == [7028392, 0, 0, 0]


def test_addresses_are_relative_to_the_page_or_to_its_base() -> None:
    link = '<a href="a-1.tar.gz">a</a>'
    assert [offer.link.url for offer in page(link)] == [f"{URL}a-1.tar.gz"]
    for base, address in {
        "https://files.example/": "https://files.example/a-1.tar.gz",
        "/files/": "https://index.example/files/a-1.tar.gz",
    }.items():
        assert [offer.link.url for offer in page(f'<base href="{base}">{link}')] == [address]

import json

from unearth.collector import IndexPage
from unearth.link import Link

from fastinstall.index.pages import JSON, OfferedFile, read_page

URL = "https://index.example/simple/pillow/"


def page(content: str, content_type: str = "text/html") -> tuple[OfferedFile, ...]:
    return read_page(IndexPage(Link(URL), content.encode(), "utf-8", content_type))


def found(offers: tuple[OfferedFile, ...]) -> list[tuple[str, str]]:
    return [(offer.link.filename, offer.provenance) for offer in offers]


def test_a_page_of_html_says_where_the_attestations_of_a_file_are() -> None:
    offers = page(
        '<a href="a-1.tar.gz#sha256=00" data-provenance="https://index.example/a.provenance">a</a>'
        '<a href="b-1.tar.gz">b</a>'
        '<a data-provenance="https://index.example/nothing">no file</a>'
    )
    assert found(offers) == [("a-1.tar.gz", "https://index.example/a.provenance"), ("b-1.tar.gz", "")]
    assert offers[0].link.hash_option == {"sha256": ["00"]}


def test_a_page_of_json_says_so_by_a_key() -> None:
    files = [
        {"url": "../../files/a-1.tar.gz", "hashes": {"sha256": "00"}, "provenance": "https://index.example/a"},
        {"url": "../../files/b-1.tar.gz", "hashes": {}, "provenance": None},
        {"url": "../../files/c-1.tar.gz", "hashes": {}},
        {"url": "../../files/d-1.tar.gz", "hashes": {}, "provenance": {"not": "a URL"}},
    ]
    offers = page(json.dumps({"files": files}), JSON)
    assert found(offers) == [
        ("a-1.tar.gz", "https://index.example/a"),
        ("b-1.tar.gz", ""),
        ("c-1.tar.gz", ""),
        ("d-1.tar.gz", ""),
    ]


def test_a_page_of_json_may_say_how_large_a_file_is() -> None:
    sizes = (7028392, 0, -1, "7", None)
    files: list[dict[str, object]] = [
        {"url": f"a-{number}.tar.gz", "hashes": {}, "size": size} for number, size in enumerate(sizes)
    ]
    offers = page(json.dumps({"files": [{"no": "URL"}, *files, {"url": "b-1.tar.gz", "hashes": {}}]}), JSON)
    assert [offer.size for offer in offers] == [7028392, 0, 0, 0, 0, 0]


def test_addresses_are_relative_to_the_page_or_to_its_base() -> None:
    link = '<a href="a-1.tar.gz" data-provenance="a.provenance">a</a>'
    assert found(page(link)) == [("a-1.tar.gz", f"{URL}a.provenance")]
    based = page(f'<base href="https://files.example/">{link}')
    assert found(based) == [("a-1.tar.gz", "https://files.example/a.provenance")]

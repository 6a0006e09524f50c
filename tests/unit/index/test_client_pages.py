import json

from unearth.collector import IndexPage
from unearth.link import Link

from fastinstall.index.client import JSON, OfferedFile, read_page

URL = "https://index.example/simple/pillow/"


def page(content: str, content_type: str = "text/html") -> tuple[OfferedFile, ...]:
    return read_page(IndexPage(Link(URL), content.encode(), "utf-8", content_type))


def test_a_page_of_html_lists_files_with_their_hashes() -> None:
    offers = page('<a href="a-1.tar.gz#sha256=00">a</a><a href="b-1.tar.gz">b</a><a name="top">no file</a>')
    assert [offer.link.filename for offer in offers] == ["a-1.tar.gz", "b-1.tar.gz"]
    assert offers[0].link.hash_option == {"sha256": ["00"]}


def test_a_page_of_json_may_say_how_large_a_file_is() -> None:
    sizes = (7028392, 0, -1, "7", None)
    files: list[dict[str, object]] = [
        {"url": f"a-{number}.tar.gz", "hashes": {}, "size": size} for number, size in enumerate(sizes)
    ]
    offers = page(json.dumps({"files": [{"no": "URL"}, *files, {"url": "b-1.tar.gz", "hashes": {}}]}), JSON)
    assert [offer.size for offer in offers] == [7028392, 0, 0, 0, 0, 0]


def test_addresses_are_relative_to_the_page_or_to_its_base() -> None:
    link = '<a href="a-1.tar.gz">a</a>'
    assert [offer.link.url for offer in page(link)] == [f"{URL}a-1.tar.gz"]
    based = page(f'<base href="https://files.example/">{link}')
    assert [offer.link.url for offer in based] == ["https://files.example/a-1.tar.gz"]

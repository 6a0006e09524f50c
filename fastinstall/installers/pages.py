"""Pages of a simple package index to what they offer: links, and where the attestations of each file are (PEP 740)."""

from collections.abc import Iterator
from urllib.parse import urljoin

from unearth.collector import IndexHTMLParser, IndexPage, parse_html_page, parse_json_response
from unearth.link import Link

from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data

JSON = "application/vnd.pypi.simple.v1+json"  # PEP 691
_ATTRIBUTE = "data-provenance"
_KEY = "provenance"


@immutable
class Offer:
    """A file that a page offers.

    Attributes:
        link: to the file, with its hashes.
        provenance: URL of its attestations; empty where none are published.
    """

    link: Link
    provenance: str = ""


def read_page(page: IndexPage) -> tuple[Offer, ...]:
    """What a page offers, in its order.

    Raises:
        ValueError: it is malformed.
        LookupError: its encoding is unknown.
    """
    is_json = page.content_type.lower().startswith(JSON)
    links = tuple((parse_json_response if is_json else parse_html_page)(page))
    published = dict(_in_json(page) if is_json else _in_html(page))
    return tuple(Offer(link=link, provenance=published.get(link.url, "")) for link in links)


def _in_json(page: IndexPage) -> Iterator[tuple[str, str]]:
    if f'"{_KEY}"'.encode() not in page.content:
        return
    base = page.link.url_without_fragment
    for file in json_data(page.content).get("files", []):
        if file.get("url") and isinstance(file.get(_KEY), str):
            yield urljoin(base, file["url"]), urljoin(base, file[_KEY])


def _in_html(page: IndexPage) -> Iterator[tuple[str, str]]:
    if _ATTRIBUTE.encode() not in page.content:
        return
    parser = IndexHTMLParser()
    parser.feed(page.content.decode(page.encoding or "utf-8"))
    base = parser.base_url or page.link.url_without_fragment
    for anchor in parser.anchors:
        href, provenance = anchor.get("href"), anchor.get(_ATTRIBUTE)
        if href and provenance:
            yield urljoin(base, href), urljoin(base, provenance)

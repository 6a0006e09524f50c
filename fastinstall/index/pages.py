"""Pages of a package index: the files that one links to, and where the attestations of each are (PEP 740)."""

from collections.abc import Iterator
from urllib.parse import urljoin

from unearth.collector import IndexHTMLParser, IndexPage, parse_html_page, parse_json_response
from unearth.link import Link

from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable

JSON = "application/vnd.pypi.simple.v1+json"  # PEP 691


@immutable
class OfferedFile:
    """A file that a page offers.

    Attributes:
        link: to the file, with its hashes.
        provenance: URL of its attestations; empty if none are published.
    """

    link: Link
    provenance: str = ""


def read_page(page: IndexPage) -> tuple[OfferedFile, ...]:
    """Return what a page offers, in its order.

    Raises:
        ValueError: it is malformed.
        LookupError: its encoding is unknown.
    """
    is_json = page.content_type.lower().startswith(JSON)
    links = tuple((parse_json_response if is_json else parse_html_page)(page))
    published = dict(_list_json_provenance(page) if is_json else _list_html_provenance(page))
    return tuple(OfferedFile(link=link, provenance=published.get(link.url, "")) for link in links)


def _list_json_provenance(page: IndexPage) -> Iterator[tuple[str, str]]:
    base = page.link.url_without_fragment
    for file in json_data(page.content).get("files", []) if b'"provenance"' in page.content else ():
        if file.get("url") and isinstance(file.get("provenance"), str):
            yield urljoin(base, file["url"]), urljoin(base, file["provenance"])


def _list_html_provenance(page: IndexPage) -> Iterator[tuple[str, str]]:
    if b"data-provenance" not in page.content:
        return
    parser = IndexHTMLParser()
    parser.feed(page.content.decode(page.encoding or "utf-8"))
    base = parser.base_url or page.link.url_without_fragment
    for anchor in parser.anchors:
        href, provenance = anchor.get("href"), anchor.get("data-provenance")
        if href and provenance:
            yield urljoin(base, href), urljoin(base, provenance)

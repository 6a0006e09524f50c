"""Pages of a package index: the files that one links to, with their sizes (PEP 700) and attestations (PEP 740)."""

from collections.abc import Iterator, Mapping
from typing import Any
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
        size: in bytes; 0 where the index does not say, as none does in HTML.
    """

    link: Link
    provenance: str = ""
    size: int = 0


def read_page(page: IndexPage) -> tuple[OfferedFile, ...]:
    """Return what a page offers, in its order.

    Raises:
        ValueError: it is malformed.
        LookupError: its encoding is unknown.
    """
    if not page.content_type.lower().startswith(JSON):
        published = dict(_list_html_provenance(page))
        return tuple(OfferedFile(link=link, provenance=published.get(link.url, "")) for link in parse_html_page(page))
    entries = (entry for entry in json_data(page.content).get("files", []) if entry.get("url"))
    # unearth makes a link of each entry with a URL, in their order, and leaves out what it does not need itself.
    return tuple(_read_entry(*pair, page) for pair in zip(parse_json_response(page), entries, strict=True))


def _read_entry(link: Link, entry: Mapping[str, Any], page: IndexPage) -> OfferedFile:
    provenance, size = entry.get("provenance"), entry.get("size")
    return OfferedFile(
        link=link,
        provenance=urljoin(page.link.url_without_fragment, provenance) if isinstance(provenance, str) else "",
        size=size if isinstance(size, int) and size > 0 else 0,
    )


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

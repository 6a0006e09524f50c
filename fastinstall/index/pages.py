"""Read a page of the simple repository API, in HTML (PEP 503) or JSON (PEP 691, 700).

Only keys that affect the choice of a file are read. If the value of such a key does not have the type that the API
defines, the page is malformed. This module does not fetch pages.
"""

from collections.abc import Iterator
from types import UnionType
from urllib.parse import urljoin

from unearth.collector import IndexHTMLParser, IndexPage
from unearth.link import Link

from fastinstall.core.codec import format_value
from fastinstall.core.errors import FailedError
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import redact_text, remove_credentials
from fastinstall.core.values import immutable

JSON = "application/vnd.pypi.simple.v1+json"
HTML = ("text/html", "application/vnd.pypi.simple.v1+html")
_HINT = "report it to the index's administrator; or use another index: PIP_INDEX_URL=https://..."


@immutable
class OfferedFile:
    """A file that a page lists.

    Attributes:
        link: link to the file, with its hashes.
        size: size in bytes; 0 if unknown, as always in HTML.
    """

    link: Link
    size: int = 0


def read_page(page: IndexPage) -> tuple[OfferedFile, ...]:
    """Return the files that a page lists, in the page's order.

    Raises:
        FailedError: the page is malformed; the message names its URL and the key.
    """
    is_json = page.content_type.lower().startswith(JSON)
    try:
        return tuple(_read_json(page) if is_json else _read_html(page))
    except (TypeError, ValueError, LookupError) as error:  # LookupError: the page's encoding is unknown
        raise FailedError(
            f"{remove_credentials(page.link.url_without_fragment)}: cannot be parsed as an index page: "
            f"{redact_text(str(error))}",
            hint=_HINT,
        ) from None


def _read_html(page: IndexPage) -> Iterator[OfferedFile]:
    parser = IndexHTMLParser()
    parser.feed(page.content.decode(page.encoding or "utf-8"))
    base = _make_link(page.link.url_without_fragment, parser.base_url or "", "base href").url
    for anchor in parser.anchors:
        href = anchor.get("href")
        if href is not None:
            # `data-yanked` withdraws a file even without a value (PEP 592)
            yanked = (anchor["data-yanked"] or "") if "data-yanked" in anchor else None
            yield OfferedFile(link=_make_link(base, href, "href", yanked, anchor.get("data-requires-python")))


_TYPES: dict[str, tuple[type | UnionType, str]] = {
    "url": (str, "a text"),
    "hashes": (dict, "an object of texts"),
    "requires-python": (str, "a text"),
    "yanked": (bool | str, "a boolean or a text"),
    "size": (int, "a number of bytes"),
}
"""The keys of a file that are read, with their types. Servers may leave out an unknown value, or send null."""


def _read_json(page: IndexPage) -> Iterator[OfferedFile]:
    base, document = page.link.url_without_fragment, json_data(page.content)
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, list):
        raise TypeError(f"files: expected a list, found {format_value(files)}")
    for number, entry in enumerate(files):
        key = f"files[{number}]"
        _require_types(entry, key)
        yanked = str(entry["yanked"]) if entry.get("yanked") else None
        if entry.get("url"):
            hashes, requires_python = entry.get("hashes"), entry.get("requires-python")
            link = _make_link(base, entry["url"], f"{key}.url", yanked, requires_python, hashes)
            yield OfferedFile(link=link, size=max(int(entry.get("size") or 0), 0))


def _require_types(entry: object, place: str) -> None:
    if not isinstance(entry, dict):
        raise TypeError(f"{place}: expected an object, found {format_value(entry)}")
    for key, (kind, expected) in _TYPES.items():
        value = entry.get(key)
        parts = value.values() if key == "hashes" and isinstance(value, dict) else ()
        if not (value is None or isinstance(value, kind)) or not all(isinstance(part, str) for part in parts):
            raise TypeError(f"{place}.{key}: expected {expected}, found {format_value(value)}")


def _make_link(
    base: str,
    url: str,
    key: str,
    yanked: str | None = None,
    requires_python: str | None = None,
    hashes: dict[str, str] | None = None,
) -> Link:
    """Return a link after checking that its URL can be parsed; `Link` itself parses it only on demand."""
    try:
        link = Link(urljoin(base, url), base, yanked, requires_python, hashes=hashes)
        _ = link.parsed.port, link.filename, link.hash_option
    except ValueError as error:
        raise ValueError(f"{key}: {format_value(url)} is not a URL: {error}") from None
    return link

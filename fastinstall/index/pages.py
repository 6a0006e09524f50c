"""Read a page of the simple repository API, in HTML (PEP 503) or JSON (PEP 691, 700).

Only keys that decide which file is taken are read; of these, a value of another type than the API defines makes the
page malformed. Does not fetch pages.
"""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin

from unearth.collector import IndexHTMLParser, IndexPage
from unearth.link import Link

from fastinstall.core.errors import FailedError
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import redact_text, remove_credentials
from fastinstall.core.values import immutable

JSON = "application/vnd.pypi.simple.v1+json"
HTML = ("text/html", "application/vnd.pypi.simple.v1+html")
_HINT = "report it to the index's administrator; or use another index: PIP_INDEX_URL=https://..."
_SHOWN = 60  # characters of a value that is refused


@immutable
class OfferedFile:
    """A file that a page offers.

    Attributes:
        link: to the file, with its hashes.
        size: in bytes; 0 if the index does not say, as none does in HTML.
    """

    link: Link
    size: int = 0


def read_page(page: IndexPage) -> tuple[OfferedFile, ...]:
    """Return what a page offers, in its order.

    Raises:
        FailedError: it is malformed; names its URL and the key.
    """
    is_json = page.content_type.lower().startswith(JSON)
    try:
        return tuple(_read_json(page) if is_json else _read_html(page))
    except (ValueError, LookupError) as error:  # LookupError: its encoding is unknown
        raise FailedError(
            f"{remove_credentials(page.link.url_without_fragment)}: cannot be parsed as an index page: "
            f"{redact_text(str(error))}",
            hint=_HINT,
        ) from None


def _read_html(page: IndexPage) -> Iterator[OfferedFile]:
    parser = IndexHTMLParser()
    parser.feed(page.content.decode(page.encoding or "utf-8"))
    base = _join(page.link.url_without_fragment, parser.base_url or "", "base href")
    for anchor in parser.anchors:
        href = anchor.get("href")
        if href is not None:
            # the attribute alone, without a value, withdraws a file as well (PEP 592)
            yanked = (anchor["data-yanked"] or "") if "data-yanked" in anchor else None
            link = Link(_join(base, href, "href"), base, yanked, anchor.get("data-requires-python"))
            yield OfferedFile(link=_require_address(link, "href"))


def _read_json(page: IndexPage) -> Iterator[OfferedFile]:
    base = page.link.url_without_fragment
    document = _require(json_data(page.content), "the page", _is_object, "an object")
    files = _require(document.get("files"), "files", _is_list, "a list")
    for number, entry in enumerate(files):
        key = f"files[{number}]"
        _require(entry, key, _is_object, "an object")
        url = _read(entry, key, "url", _is_text, "a text")
        if not url:
            continue
        hashes = _read(entry, key, "hashes", _is_hashes, "an object of texts")
        requires_python = _read(entry, key, "requires-python", _is_text, "a text")
        yanked = _read(entry, key, "yanked", _is_text_or_boolean, "a boolean or a text")
        size = _read(entry, key, "size", _is_size, "a number of bytes")
        link = Link(
            _join(base, url, f"{key}.url"), base, str(yanked) if yanked else None, requires_python, hashes=hashes
        )
        yield OfferedFile(link=_require_address(link, f"{key}.url"), size=size or 0)


def _read(entry: dict[str, Any], place: str, key: str, is_valid: Callable[[Any], bool], expected: str) -> Any:  # noqa: ANN401 (JSON)
    """Return an entry's value; None if it is null or absent, which some servers write for what they do not know."""
    value = entry.get(key)
    return None if value is None else _require(value, f"{place}.{key}", is_valid, expected)


def _require(value: Any, key: str, is_valid: Callable[[Any], bool], expected: str) -> Any:  # noqa: ANN401 (JSON)
    if not is_valid(value):
        raise ValueError(f"{key}: expected {expected}, found {_describe(value)}")
    return value


def _describe(value: object) -> str:
    if value is None:
        return "null or nothing"
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _join(base: str, url: str, key: str) -> str:
    try:
        return urljoin(base, url)
    except ValueError as error:
        raise ValueError(f"{key}: {_describe(url)} is not a URL: {error}") from None


def _require_address(link: Link, key: str) -> Link:
    """Return the link if its URL can be split, which `Link` does only on demand."""
    try:
        _ = link.parsed.port, link.filename, link.hash_option
    except ValueError as error:
        raise ValueError(f"{key}: {_describe(link.url)} is not a URL: {error}") from None
    return link


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_boolean(value: object) -> bool:
    return isinstance(value, str | bool)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_hashes(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())

"""What a built page of the documentation refers to, and what it would fetch by itself."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("embed", "src"),
    ("object", "data"),
}
_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "manifest", "modulepreload"}
_IN_CSS = re.compile(r"(?:url\(|@import )[\s\"']*(?:https?:)?//[^)\"'\s]+")


@dataclass(kw_only=True)
class BuiltPage(HTMLParser):
    """A page as a browser reads it.

    Attributes:
        file: where it lies.
        anchors: names that a link may lead to.
        links: what its text refers to.
        fetched: what a browser fetches to show it.
        headings: the levels, in order.
        language: of the page.
        unnamed: pictures without a word for those who cannot see them.
    """

    file: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    language: str = ""
    unnamed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        text = self.file.read_text(encoding="utf-8")
        self.feed(text)
        self.fetched += _IN_CSS.findall(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element says."""
        said = {name: value or "" for name, value in attrs}
        self.anchors |= {said[name] for name in ("id", "name") if said.get(name)}
        self.fetched += [value for name, value in said.items() if (tag, name) in _FETCHED]
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        elif tag == "link" and _RELATIONS & set(said.get("rel", "").split()):
            self.fetched.append(said.get("href", ""))
        elif tag == "html":
            self.language = said.get("lang", "")
        elif tag == "img" and not said.get("alt"):
            self.unnamed.append(said.get("src", ""))
        elif re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))

    @property
    def from_elsewhere(self) -> list[str]:
        """What it would fetch from another host."""
        return [each for each in self.fetched if urlsplit(each).netloc or "//" in each]


def built_pages(site: Path) -> dict[str, BuiltPage]:
    """Every page of a built site, by its path."""
    return {file.relative_to(site).as_posix(): BuiltPage(file=file) for file in sorted(site.rglob("*.html"))}


def broken_links(site: Path, pages: dict[str, BuiltPage]) -> Iterator[str]:
    """Links within the site that lead nowhere: to no file, or to no anchor of a page."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path))) if parts.path else path
            )
            target = f"{target}/index.html" if (site / target).is_dir() else target
            target = target.removeprefix("./")
            if not (site / target).is_file():
                yield f"{path}: {link}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path}: {link} (no such anchor)"

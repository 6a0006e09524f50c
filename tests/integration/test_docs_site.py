"""The documentation site: it builds without warnings, its links work, and it loads nothing from other hosts."""

import json
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support.docs.pages import ROOT, page_files

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
        file: the page's file.
        anchors: names that links may point to, after a "#".
        links: the targets of the links in the page's text.
        fetched: addresses of the scripts, styles and pictures that a browser fetches to show the page.
        headings: heading levels, in order.
        language: the language that the page declares.
        unnamed: pictures without alternative text.
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
        """Record an element's anchors, links, headings and pictures."""
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
        """List the addresses on other hosts that the page loads."""
        return [each for each in self.fetched if urlsplit(each).netloc or "//" in each]


def built_pages(site: Path) -> dict[str, BuiltPage]:
    """Return every page of a built site, by its path."""
    return {file.relative_to(site).as_posix(): BuiltPage(file=file) for file in sorted(site.rglob("*.html"))}


def broken_links(site: Path, pages: dict[str, BuiltPage]) -> Iterator[str]:
    """Yield the links within the site whose target file, or anchor in a page, does not exist."""
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


OF_THE_ROOT = ("CONTRIBUTING.html", "SECURITY.html", "CHANGELOG.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built strictly: a warning makes the build fail."""
    directory = tmp_path_factory.mktemp("site") / "site"
    argv = (sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", directory)
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(argv, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return directory


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, BuiltPage]:
    return built_pages(site)


def test_every_page_is_there(site: Path) -> None:
    sources = (page.relative_to(ROOT / "docs") for page in page_files()[1:])
    built = {
        source.with_name("index.html" if source.name == "README.md" else f"{source.stem}.html") for source in sources
    }
    assert [path.as_posix() for path in built if not (site / path).is_file()] == []
    assert [name for name in OF_THE_ROOT if not (site / name).is_file()] == []


def test_every_page_can_be_reached_from_the_start(pages: dict[str, BuiltPage]) -> None:
    linked = {link.partition("#")[0] for link in pages["index.html"].links}
    assert [path for path in pages if path not in {"index.html", "404.html"} and path not in linked] == []


def test_links_lead_somewhere(site: Path, pages: dict[str, BuiltPage]) -> None:
    # the links of 404.html start at the site's root
    without_home = {path: page for path, page in pages.items() if path != "404.html"}
    assert list(broken_links(site, without_home)) == []


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[str, BuiltPage]) -> None:
    assert {path: page.from_elsewhere for path, page in pages.items() if page.from_elsewhere} == {}
    styles = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.css"))
    assert "url(http" not in styles
    assert "@import" not in styles


def test_pages_speak_to_a_screen_reader(pages: dict[str, BuiltPage]) -> None:
    assert [path for path, page in pages.items() if page.language != "en"] == []
    assert {path: page.unnamed for path, page in pages.items() if page.unnamed} == {}
    assert [path for path, page in pages.items() if path != "404.html" and page.headings.count(1) != 1] == []


def test_the_search_knows_what_people_look_for(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = " ".join(entry["title"] for entry in found["docs"])
    assert [
        words for words in ("Illegal instruction", "Wrong JPEG library version", "Exit code 7") if words not in titles
    ] == []


def test_the_search_works_in_pages_that_are_opened_from_a_disk(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    page = (site / "how-to" / "undo.html").read_text(encoding="utf-8")
    assert re.findall(r'<script src="([^"]*iframe-worker[^"]*)"', page) == ["../_site/iframe-worker.js"]


def test_no_two_pages_have_one_name_in_the_menu(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    menu = page[page.index('class="md-nav md-nav--primary') : page.index('class="md-content"')]
    entries = dict(
        re.findall(r'<a href="([^"#]+)" class="md-nav__link">\s*<span class="md-ellipsis">\s*([^<]+?)\s*<', menu)
    )
    assert len(entries) > 30
    assert len(set(entries.values())) == len(entries)


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#x">b</a><a href="c.html">c</a><img src="http://e.example/x.png">')
    (tmp_path / "b.html").write_text('<h1 id="y">b</h1>')
    pages = built_pages(tmp_path)
    assert list(broken_links(tmp_path, pages)) == ["a.html: b.html#x (no such anchor)", "a.html: c.html"]
    assert pages["a.html"].from_elsewhere == ["http://e.example/x.png"]

"""The documentation as a site: built without a warning, its links lead somewhere, nothing comes from elsewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.docs.pages import ROOT, page_files
from support.docs.site import BuiltPage, broken_links, built_pages

OF_THE_ROOT = ("CONTRIBUTING.html", "SECURITY.html", "CHANGELOG.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A strict build: a warning ends it."""
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
    without_home = {path: page for path, page in pages.items() if path != "404.html"}  # its links are the host's root
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

"""The page on files names the subdirectories and documents of the cache and state directories."""

import re

from support.docs.pages import ROOT

PAGE = (ROOT / "docs/explanation/files.md").read_text("utf-8")
CODE = "\n".join(path.read_text("utf-8") for path in (ROOT / "fastinstall").rglob("*.py"))
PLACES = sorted(set(re.findall(r'\bcache / "([a-z]+)"', CODE)))


def test_places_of_the_cache_are_on_the_page() -> None:
    assert {"downloads", "wheels", "tmp"} <= set(PLACES)
    assert [place for place in PLACES if f"`.../{place}/" not in PAGE] == []


def test_documents_of_cache_and_state_are_on_the_page() -> None:
    assert "`.../manifests/`" in PAGE

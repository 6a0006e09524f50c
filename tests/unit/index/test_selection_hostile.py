"""File names on an index page that could lead out of the store."""

from pathlib import Path

import pytest
from unearth.link import Link

from fastinstall.core.errors import RefusedError
from fastinstall.index.downloads import store_download
from fastinstall.index.selection import Choice
from fastinstall.model.artefact import Artefact

CHOICE = Choice(sources=frozenset({"pillow"}), wheels=frozenset({"pillow"}), tags={}, platforms=frozenset())


@pytest.mark.parametrize(
    "path",
    [
        "../pillow-1.tar.gz",
        "%2e%2e/pillow-1.tar.gz",
        "a/%2e%2e%2fpillow-1.tar.gz",
        "..%2F..%2Fpillow-1.tar.gz",
        "..",
        "%2e%2e",
    ],
)
def test_an_index_link_yields_a_bare_file_name_or_is_not_wanted(path: str) -> None:
    name = Link(f"https://index.example/files/{path}").filename
    assert not CHOICE.is_wanted(name) or "/" not in name


@pytest.mark.parametrize("name", ["../pillow-1.tar.gz", "/etc/pillow-1.tar.gz", "a/b", "..", ".", ""])
def test_nothing_is_stored_under_a_name_that_leads_elsewhere(tmp_path: Path, name: str) -> None:
    artefact = Artefact(name="pillow", version="1", filename=name, url="https://index.example/a", sha256="")
    with pytest.raises(RefusedError, match="not the name"):
        store_download(tmp_path / "cache", artefact, lambda path: path.touch())
    assert not list(tmp_path.iterdir())

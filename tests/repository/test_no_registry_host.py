"""No file names the host of the public package index: `unearth` knows it, and users may configure another index."""

from urllib.parse import urlsplit

from support.docs.pages import ROOT
from unearth import PackageFinder

FOLDERS = ("benchmarks", "docs", "examples", "fastinstall", "findings", "hooks", "integrations", "recipes", "tests")
SUFFIXES = {".cfg", ".json", ".md", ".py", ".sh", ".toml", ".yaml", ".yml"}


def test_no_file_names_the_host_of_the_public_index() -> None:
    host = urlsplit(PackageFinder().sources[0]["url"]).hostname or ""
    assert "." in host
    files = [file for name in FOLDERS for file in (ROOT / name).rglob("*") if file.suffix in SUFFIXES]
    assert [file for file in files if host in file.read_text("utf-8")] == []

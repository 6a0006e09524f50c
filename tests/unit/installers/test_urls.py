from pathlib import Path

import pytest

from fastinstall.installers.urls import local_path, without_credentials


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pass@index.example:8080/simple/x/#sha256=00", "https://index.example:8080/simple/x/"),
        ("https://token@index.example/", "https://index.example/"),
        ("https://user:p%40ss@index.example/a@b", "https://index.example/a@b"),
        ("file:///srv/wheels/a%20b.whl", "file:///srv/wheels/a%20b.whl"),
        ("https://user:pass@[not-an-address/simple", "https://[not-an-address/simple"),
        ("", ""),
    ],
)
def test_credentials_and_fragment_are_dropped_and_nothing_else(url: str, shown: str) -> None:
    assert without_credentials(url) == shown


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("file:///srv/wheels/a%20b.whl", Path("/srv/wheels/a b.whl")),
        ("/srv/wheels", Path("/srv/wheels")),
        ("https://index.example/simple", None),
    ],
)
def test_only_local_places_have_a_path(location: str, path: Path | None) -> None:
    assert local_path(location) == path

from pathlib import Path

import pytest

from fastinstall.index.pip import local_path


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

"""The table of changed pixels agrees with the official wheels of the versions in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from fastinstall.core.directories import recipes_directory
from fastinstall.model.advisories import PixelChange
from fastinstall.observe.recipes import load_recipe

RELEASES = ("12.1.1", "12.2.0", "12.3.0", "13.0.0")
CHANGES = load_recipe("pillow", (recipes_directory(),)).pixel_changes
_IMPORTS = "from io import BytesIO; from zlib import crc32; from PIL import Image, ImageFilter; "


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Install the official wheels; return their directories by version."""
    places = {version: tmp_path_factory.mktemp("pillow") / version for version in RELEASES}
    for version, place in places.items():
        words = ("--quiet", "--no-deps", "--only-binary", ":all:", "--target", place, f"pillow=={version}")
        subprocess.run((sys.executable, "-m", "pip", "install", *words), check=True)
    return places


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.since}: {change.summary[:30]}")
def test_the_result_changes_with_the_version_that_is_named(wheels: dict[str, Path], change: PixelChange) -> None:
    printed = [_run(wheels[version], change.demonstration) for version in RELEASES]
    first = RELEASES.index(change.since)
    assert printed[first - 1] != printed[first]


def _run(place: Path, line: str) -> str:
    program = f"import sys; sys.path.insert(0, {str(place)!r}); {_IMPORTS}{line}"
    done = subprocess.run((sys.executable, "-I", "-c", program), check=True, capture_output=True, text=True)
    return done.stdout

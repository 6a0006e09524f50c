"""Photos that are generated for a measurement."""

import sys
from pathlib import Path

import pytest
from PIL import Image

from fastinstall.bench.loading import NotLoadedError
from fastinstall.bench.photos import _MOST as WORKLOADS_BOUND
from fastinstall.bench.photos import WORKLOADS, generate_photos
from fastinstall.bench.report import CandidateOutcome

PYTHON = Path(sys.executable)


@pytest.mark.parametrize(
    ("name", "form", "size", "bits"),
    [
        ("500px", "JPEG", (375, 500), (1.0, 2.2)),
        ("12mp", "JPEG", (4000, 3000), (1.0, 2.2)),
        ("png", "PNG", (800, 600), (10.0, 14.0)),
    ],
)
def test_they_weigh_what_photos_do(
    tmp_path: Path, name: str, form: str, size: tuple[int, int], bits: tuple[float, float]
) -> None:
    (path,) = generate_photos(name, tmp_path, PYTHON, {}, count=1)
    with Image.open(path) as image:
        assert (image.format, image.size) == (form, size)
        assert bits[0] < 8 * path.stat().st_size / (image.width * image.height) < bits[1]


def test_they_are_different_pictures_and_the_same_on_every_run(tmp_path: Path) -> None:
    first, second = (
        [path.read_bytes() for path in generate_photos("500px", tmp_path, PYTHON, {}, 4)] for _ in range(2)
    )
    assert first == second
    assert len(set(first)) == len(first) == 4


def test_their_number_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORKLOADS_BOUND, "500px", 3)
    assert len(generate_photos("500px", tmp_path, PYTHON, {}, count=10**9)) == 3
    assert set(WORKLOADS) == set(WORKLOADS_BOUND)


def test_without_a_pillow_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "PIL.py").write_text('raise ModuleNotFoundError("no PIL", name="PIL")')
    with pytest.raises(NotLoadedError) as caught:
        generate_photos("500px", tmp_path, PYTHON, {}, site=(tmp_path,))
    assert (caught.value.outcome, caught.value.reason) == (CandidateOutcome.MISSING, "PIL")

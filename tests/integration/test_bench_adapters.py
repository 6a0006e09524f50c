"""Ways to decode and resize, where their packages are: the picture that comes out, and the code that is printed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from support.bench.adapters import adapter_named

from fastinstall.bench.catalogue import all_adapters
from fastinstall.bench.comparison import compare_pictures
from fastinstall.bench.loading import Job, LoadingProcess, NotLoadedError, start_loading
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import CandidateOutcome, ImagePipeline

LIBRARIES = os.environ.get("FASTINSTALL_TEST_LIBRARIES", "")
BOUNDS = {
    "simplejpeg": 0.0,
    "simplejpeg-scaled": 1.0,
    "opencv-area": 0.4,
    "opencv-reduced": 1.0,
    "pyvips": 0.6,
    "torchvision-io": 0.05,
    "dali": 0.7,
    "opencv-linear": 0.7,
}
FAR = 1.0
"""Mean differences from Pillow on these pictures, in levels of 0 to 255; the last of what is not named.

On 2026-11-22 they were, at most: 0.67 for scaled decoding; 0.63 for OpenCV's reduced decoding and 0.23 without it; 0.38
for libvips; 0.006 for torchvision; and with aliasing, which smooth pictures like these show little, 0.23 and 0.46.
"""

COMPARED = [each.name for each in all_adapters() if not each.name.startswith("pillow") and each.name != "dali-gpu"]
"""All that are not Pillow itself, and that a test can have: no GPU is needed."""

PIPELINES = (
    ImagePipeline(),
    ImagePipeline(shorter=200, crop=0, filter="bicubic"),
    ImagePipeline(shorter=160, crop=160, filter="lanczos"),
)
ENDINGS = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp"}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Grey, turned by Exif, large, with a palette and with an alpha channel, none of a round size."""
    directory = tmp_path_factory.mktemp("images")
    coarse = Image.frombytes("RGB", (21, 16), bytes(each * 89 % 256 for each in range(21 * 16 * 3)))
    photo = coarse.resize((1403, 1051), Image.Resampling.BICUBIC)
    turned = Image.Exif()
    turned[0x0112] = 6
    photo.save(directory / "large.jpg", quality=90)
    photo.resize((501, 374)).save(directory / "turned.jpg", quality=90, exif=turned)
    photo.resize((333, 500)).convert("L").save(directory / "grey.jpg")
    photo.resize((401, 300)).quantize(200).save(directory / "palette.png")
    photo.resize((401, 300)).convert("RGBA").save(directory / "alpha.png")
    photo.resize((300, 401)).convert("L").save(directory / "grey.png")
    photo.resize((300, 401)).save(directory / "photo.webp", quality=90)
    return tuple(sorted(directory.iterdir()))


@contextmanager
def loaded(
    images: tuple[Path, ...], pipeline: ImagePipeline, adapter: str, loader: str = ""
) -> Iterator[LoadingProcess]:
    """An adapter or a loader in the environment that has the packages."""
    variables = dict(os.environ)
    python = Path(LIBRARIES)
    job = Job(python=python, images=images, adapter=adapter, loader=loader, pipeline=pipeline, variables=variables)
    with start_loading(replace(job, tensor=False)) as talk:
        yield talk


@pytest.mark.skipif(not LIBRARIES, reason="FASTINSTALL_TEST_LIBRARIES names no interpreter with these packages")
@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda pipeline: pipeline.filter)
@pytest.mark.parametrize("name", COMPARED)
def test_the_picture_is_near_pillows_and_the_code_gives_the_very_same(
    name: str, pipeline: ImagePipeline, images: tuple[Path, ...], tmp_path: Path
) -> None:
    adapter = adapter_named(name)
    suffixes = [ENDINGS[each] for each in adapter.formats if each in ENDINGS]
    own = tuple(each for each in images if each.suffix in suffixes)
    indexes = range(len(own))
    code = tmp_path / "loader.py"
    code.write_text(render_code(name, pipeline), encoding="utf-8")
    try:
        with loaded(own, pipeline, name) as theirs:
            found = theirs.pictures(indexes)
            assert set(theirs.versions) > {"numpy"} or name.startswith("torchvision")
    except NotLoadedError as error:
        if error.outcome in (CandidateOutcome.MISSING, CandidateOutcome.UNSUITED):
            pytest.skip(f"{name}: {error.reason}")
        raise
    with loaded(own, pipeline, "pillow") as pillow, loaded(own, pipeline, name, f"{code}:load") as printed:
        apart = compare_pictures(pillow.pictures(indexes), found)
        assert apart.same_shape
        assert apart.mean <= BOUNDS.get(name, FAR)
        assert printed.pictures(indexes) == found


def test_all_adapters_can_be_imported_where_there_is_no_package_at_all() -> None:
    package = adapter_named("pillow").file.parent
    program = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import adapters
for each in pkgutil.iter_modules(adapters.__path__):
    importlib.import_module("adapters." + each.name)
"""
    subprocess.run((sys.executable, "-I", "-S", "-B", "-c", program, package.parent), check=True)


@pytest.mark.parametrize("name", ["opencv-area", "dali"])
def test_a_package_that_is_not_there_is_named(name: str) -> None:
    job = Job(python=Path(sys.executable), images=(), adapter=name, variables=dict(os.environ))
    with pytest.raises(NotLoadedError) as caught, start_loading(job):
        pass
    assert (caught.value.outcome, caught.value.reason) == (CandidateOutcome.MISSING, adapter_named(name).modules[-1])

"""Image decoders from real packages: whether their pictures match Pillow's, and the code printed for each."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from support.bench.adapters import ADAPTERS
from support.index.wheels import stub_wheel
from support.sandbox import Sandbox

from fastinstall.bench.catalogue import Way, all_ways, plan_candidates
from fastinstall.bench.libraries import fetch_packages, find_libraries, find_missing, require_fetchable
from fastinstall.bench.loading import Job, NotLoadedError, Picture, start_loading
from fastinstall.bench.pictures import compare_pictures
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.model.facts import Interpreter
from fastinstall.model.machine import LoaderLimits
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.session import open_session

PYTHON = Path(sys.executable)
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
"""Largest mean difference from Pillow on these pictures, in levels (0 to 255), for adapters not in `BOUNDS`.

Measured maxima on 2026-11-22: 0.67 for scaled decoding; 0.63 for OpenCV's reduced decoding and 0.23 without it; 0.38
for libvips; 0.006 for torchvision; 0.23 and 0.46 with aliasing, which smooth pictures like these show little.
"""
NEAR = 2.0
"""Largest mean difference, in levels, that another libjpeg-turbo may cause."""
COMPARED = [each.name for each in ADAPTERS if not each.name.startswith("pillow") and each.name != "dali-gpu"]
PIPELINES = (
    ImagePipeline(),
    ImagePipeline(shorter=200, crop=0, filter="bicubic"),
    ImagePipeline(shorter=160, crop=160, filter="lanczos"),
)
ENDINGS = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp"}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Return images that differ in kind (grey, rotated by Exif, large, palette, alpha) and have uneven sizes."""
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
    photo.resize((300, 401)).save(directory / "photo.webp", quality=90)
    return tuple(sorted(directory.iterdir()))


@pytest.mark.skipif(not LIBRARIES, reason="FASTINSTALL_TEST_LIBRARIES names no interpreter with these packages")
@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda pipeline: pipeline.filter)
@pytest.mark.parametrize("name", COMPARED)
def test_pictures_are_near_pillows_and_the_codes_own(
    name: str, pipeline: ImagePipeline, images: tuple[Path, ...], tmp_path: Path
) -> None:
    suffixes = [ENDINGS[each] for each in all_ways()[name].formats if each in ENDINGS]
    own = tuple(each for each in images if each.suffix in suffixes)
    indexes, code = range(len(own)), tmp_path / "loader.py"
    code.write_text(render_code(name, pipeline), encoding="utf-8")
    usual = Job(python=Path(LIBRARIES), images=own, pipeline=pipeline, tensor=False, variables=dict(os.environ))
    try:
        with start_loading(replace(usual, adapter=name)) as theirs:
            found = theirs.pictures(indexes)
            assert set(theirs.versions) > {"numpy"} or name.startswith("torchvision")
    except NotLoadedError as error:
        if error.outcome in (CandidateOutcome.MISSING, CandidateOutcome.UNSUITED):
            pytest.skip(f"{name}: {error.reason}")
        raise
    with start_loading(usual) as pillow, start_loading(replace(usual, loader=f"{code}:load")) as printed:
        apart = compare_pictures(pillow.pictures(indexes), found)
        assert apart.same_shape
        assert apart.mean <= BOUNDS.get(name, FAR)
        assert printed.pictures(indexes) == found


@pytest.mark.parametrize("name", ["opencv-area", "dali"])
def test_a_missing_package_is_named(name: str) -> None:
    job = Job(python=PYTHON, images=(), adapter=name, variables=dict(os.environ))
    with pytest.raises(NotLoadedError) as caught, start_loading(job):
        pass
    assert (caught.value.outcome, caught.value.reason) == (CandidateOutcome.MISSING, all_ways()[name].modules[-1])


@pytest.fixture(scope="module")
def interpreter() -> Interpreter:
    return observe_interpreter(PYTHON)


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    """Return a directory with wheels of two packages, of which one requires the other."""
    directory = tmp_path / "wheelhouse"
    directory.mkdir()
    for name, *requires in (("outerpart", "innerpart"), ("innerpart",)):
        file, content = stub_wheel(name, "1.0", *requires)
        (directory / file).write_bytes(content)
    return directory


def needing(*requirements: str) -> Way:
    return replace(all_ways()["simplejpeg"], brings=requirements)


def test_packages_are_fetched_once_with_their_needs(
    interpreter: Interpreter, sandbox: Sandbox, wheelhouse: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    own = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheelhouse), "FASTINSTALL_CACHE_DIR": str(cache)}
    session = open_session(sandbox.variables(own))
    with pytest.raises(RefusedError, match=r"No matching distribution .* nosuchpart"):
        fetch_packages(session, needing("outerpart", "nosuchpart"), interpreter)
    place = fetch_packages(session, needing("outerpart"), interpreter)
    assert {each.name for each in place.glob("*.dist-info")} == {"outerpart-1.0.dist-info", "innerpart-1.0.dist-info"}
    assert [each for name in ("libraries", "tmp") for each in (cache / name).glob("*")] == [place]
    for wheel in wheelhouse.iterdir():
        wheel.unlink()
    assert fetch_packages(session, needing("outerpart"), interpreter) == place


def test_a_library_is_installed_fetched_or_absent(interpreter: Interpreter, sandbox: Sandbox, tmp_path: Path) -> None:
    session = open_session(sandbox.variables({"FASTINSTALL_CACHE_DIR": str(tmp_path)}))
    planned = plan_candidates(LoaderLimits(cpu="a CPU", cores=2), session.variables)
    fetched = require_fetchable(("simplejpeg", "dali"))
    candidates = find_libraries(session, interpreter, planned, fetched, offline=True)
    found = {each.name: each.reason for each in candidates if each.outcome is CandidateOutcome.MISSING}
    assert "pillow-draft" not in found
    assert "--quick fetches nothing; to measure it anyway: fastinstall bench --with simplejpeg" in found["simplejpeg"]
    assert found["dali"] == all_ways()["dali"].by_hand
    assert found["lmdb"].startswith("lmdb is not installed; to measure it anyway: fastinstall bench --with lmdb")
    with pytest.raises(UsageError, match="--with pillow-draft: no candidate"):
        require_fetchable(("pillow-draft",))


def test_modules_are_looked_for_and_not_imported(tmp_path: Path) -> None:
    wanted, variables = ("PIL", "json", "no_such_module", "no_such_package.module"), {"PATH": os.environ["PATH"]}
    assert find_missing(wanted, PYTHON, variables) == ["no_such_module", "no_such_package.module"]
    assert find_missing(wanted, tmp_path / "no-python", variables) == list(wanted)


def test_fetched_simplejpeg_loads_as_its_printed_code(
    interpreter: Interpreter, sandbox: Sandbox, tmp_path: Path
) -> None:
    way, pipeline = all_ways()["simplejpeg"], ImagePipeline(shorter=48, crop=48, filter="lanczos")
    place = fetch_packages(open_session(sandbox.variables()), way, interpreter)
    photo, code = tmp_path / "photo.jpg", tmp_path / "loader.py"
    Image.frombytes("RGB", (120, 120), bytes(each * 7 % 256 for each in range(120 * 120 * 3))).save(photo)
    code.write_text(render_code(way.name, pipeline), encoding="utf-8")
    job = Job(python=PYTHON, images=(photo,), site=(place,), pipeline=pipeline, tensor=False)
    with (
        start_loading(replace(job, adapter=way.name)) as theirs,
        start_loading(replace(job, loader=f"{code}:load")) as printed,
    ):
        found = theirs.pictures((0,))
        assert printed.pictures((0,)) == found
    with Image.open(photo) as opened:
        expected = opened.resize((48, 48), Image.Resampling.LANCZOS).tobytes()
    assert compare_pictures((Picture(shape=(48, 48, 3), data=expected),), found).mean < NEAR


def test_pyvips_refuses_a_compression_that_it_lacks(interpreter: Interpreter, sandbox: Sandbox, tmp_path: Path) -> None:
    way = all_ways()["pyvips"]
    place = fetch_packages(open_session(sandbox.variables()), way, interpreter)
    images = tuple(tmp_path / f"{compression}.tif" for compression in ("zstd", "tiff_lzw"))
    for image in images:
        Image.linear_gradient("L").convert("RGB").save(image, compression=image.stem)
    job = Job(python=PYTHON, images=images, site=(place,), tensor=False, adapter=way.name)
    with start_loading(job) as loading:
        assert list(loading.measure(0.0).failed) == ["0"], "if it reads zstd, try another compression here"

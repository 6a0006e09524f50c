"""Stores of images, which real Pillow builds and reads in other processes: contents, sizes and leftover files."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageOps
from support.bench.adapters import STORES
from support.environments import interpreters

from fastinstall.bench import loading
from fastinstall.bench.loading import Job, NotLoadedError, start_loading, temporary_store
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.rates import measure_rates
from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.core.events import Emit, Event, Noted, ignore

LIBRARIES = os.environ.get("FASTINSTALL_TEST_LIBRARIES")
PYTHON = Path(sys.executable)
PIPELINE = ImagePipeline(shorter=64, crop=56)
NAMES = ("cats/a.b.jpg", "cats/grey.JPEG", "cats/small.jpg", "dogs.x/a.png", "dogs.x/palette.png", "dogs.x/tall.webp")


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with two subdirectories of images in several formats."""
    place = tmp_path_factory.mktemp("photos")
    noise = Image.frombytes("RGB", (24, 16), bytes(range(256)) * 4 + bytes(128)).resize((320, 200))
    turned = Image.Exif()
    turned[0x0112] = 6
    for directory in ("cats", "dogs.x"):
        (place / directory).mkdir()
    noise.save(place / "cats/a.b.jpg", quality=95, exif=turned, icc_profile=b"a profile")
    noise.convert("L").save(place / "cats/grey.JPEG")
    noise.resize((40, 30)).save(place / "cats/small.jpg")
    noise.resize((33, 21)).convert("RGBA").save(place / "dogs.x/a.png")
    noise.convert("P").save(place / "dogs.x/palette.png")
    noise.resize((50, 400)).save(place / "dogs.x/tall.webp")
    (place / "notes.txt").write_text("no image")
    return place


@pytest.fixture(scope="module")
def images(photos: Path) -> tuple[Path, ...]:
    return tuple(photos / name for name in NAMES)


def making(
    kind: str, images: Sequence[Path], space: Path, python: Path = PYTHON, emit: Emit = ignore
) -> AbstractContextManager[tuple[Job, list[int], int]]:
    """Return a context manager that builds a store as a comparison does, and removes it at the end."""
    variables = {"PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"}
    job = Job(python=python, images=tuple(images), pipeline=PIPELINE, tensor=False, variables=variables)
    return temporary_store(kind, kind, job, space, emit)


def contents(job: Job, indexes: Sequence[int]) -> list[bytes]:
    """Return the content of the files at these indexes of the job's store."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import _loading\n"
        "store = _loading.import_beside('_storage').Store(*sys.argv[2:4])\n"
        "print(*[store.read(int(each)).hex() for each in sys.argv[4:]])"
    )
    assert job.store is not None
    programs = str(Path(loading.__file__).parent)
    words = (str(job.python), "-I", "-B", "-c", code, programs, *map(str, job.store), *map(str, indexes))
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [bytes.fromhex(each) for each in done.stdout.split()]


def prepare(place: Path, kind: str, photos: Path, out: Path, python: Path = PYTHON) -> subprocess.CompletedProcess[str]:
    """Save and run the script that fastinstall prints for building a store, as a person would."""
    script = place / f"prepare_{kind}.py"
    script.write_text(render_code(kind, PIPELINE))
    return subprocess.run((python, script, photos, out), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def prepared(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the script for each kind of store; return the directory of scripts and stores, which are named by kind."""
    place = tmp_path_factory.mktemp("prepared")
    for kind in (each.name for each in STORES if each.name != "lmdb"):
        done = prepare(place, kind, photos, place / kind)
        assert done.stdout == f"6 images in {place / kind}, 0 left out\n", done.stderr
    return place


def files_below(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_a_store_of_originals_has_every_byte(images: tuple[Path, ...], tmp_path: Path) -> None:
    python, heard = (interpreters.of_version("3.8") or interpreters.running()).executable, list[Event]()
    with making("webdataset", images, tmp_path, python, heard.append) as (job, held, size):
        assert held == list(range(len(images)))
        assert contents(job, held) == [each.read_bytes() for each in images]
        assert job.store is not None
        assert size == sum(map(len, files_below(job.store[1]).values()))
    assert list(tmp_path.iterdir()) == []
    (told,) = heard
    assert isinstance(told, Noted)
    assert told.message.startswith("webdataset: at most ")


@pytest.mark.skipif(not LIBRARIES, reason="FASTINSTALL_TEST_LIBRARIES names no interpreter with lmdb")
def test_an_lmdb_has_every_byte_and_loads_in_workers(photos: Path, images: tuple[Path, ...], tmp_path: Path) -> None:
    python, out, remarks = Path(LIBRARIES or ""), tmp_path / "out", list[str]()
    with making("lmdb", images, tmp_path, python) as (job, held, _):
        assert contents(job, held) == [each.read_bytes() for each in images]
        with start_loading(job) as process:
            assert process.measure(0.0, cold=True).failed == {}
        with start_loading(job) as process:
            (rate,) = measure_rates(process, (1,), remarks.append, threads=False, seconds=0.02, batch=32, images=held)
    assert (remarks, rate.images_per_second > 0) == ([], True)
    for _ in ("made", "and continued"):
        assert prepare(tmp_path, "lmdb", photos, out, python).returncode == 0
    code = "import prepare_lmdb, sys; images = prepare_lmdb.Reader(sys.argv[1]); print(len(images), images.name(0))"
    done = subprocess.run((python, "-c", code, out), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(images)} {NAMES[0]}\n"


@pytest.mark.skipif(bool(LIBRARIES), reason="FASTINSTALL_TEST_LIBRARIES has the package")
def test_a_missing_package_is_named_and_nothing_left(images: tuple[Path, ...], tmp_path: Path) -> None:
    with pytest.raises(NotLoadedError) as caught, making("lmdb", images, tmp_path):
        pass
    assert (caught.value.outcome, caught.value.reason) == (CandidateOutcome.MISSING, "lmdb")
    assert list(tmp_path.iterdir()) == []


def test_copies_keep_format_and_orientation(photos: Path, prepared: Path) -> None:
    files = {name: prepared / "resized" / name.replace(".webp", ".webp.png") for name in NAMES}
    copies = {name: Image.open(io.BytesIO(file.read_bytes())) for name, file in files.items()}
    assert {name: (each.format, each.mode, each.size) for name, each in copies.items()} == {
        "cats/a.b.jpg": ("JPEG", "RGB", (102, 64)),
        "cats/grey.JPEG": ("JPEG", "L", (102, 64)),
        "cats/small.jpg": ("JPEG", "RGB", (40, 30)),
        "dogs.x/a.png": ("PNG", "RGBA", (33, 21)),
        "dogs.x/palette.png": ("PNG", "RGB", (102, 64)),
        "dogs.x/tall.webp": ("PNG", "RGB", (50, 400)),
    }
    assert copies["cats/a.b.jpg"].getexif()[0x0112] == 6
    small = "cats/small.jpg"
    assert (prepared / "resized" / small).read_bytes() == (photos / small).read_bytes()


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_copies_are_turned_like_their_originals(tmp_path: Path, orientation: int) -> None:
    """TIFF is included because Pillow already rotates a TIFF image on opening: the copy must not be rotated twice."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = Image.linear_gradient("L").resize((160, 256)).convert("RGB")
    originals = tuple(tmp_path / name for name in ("a.jpg", "b.png", "c.webp", "d.tif"))
    for path in originals:
        photo.save(path, exif=exif)
    (tmp_path / "space").mkdir()
    with making("resized", originals, tmp_path / "space") as (job, held, _):
        copies = contents(job, held)
    for path, content in zip(originals, copies, strict=True):
        with Image.open(path) as original, Image.open(io.BytesIO(content)) as copy:
            upright, upright_copy = ImageOps.exif_transpose(original), ImageOps.exif_transpose(copy)
        expected = upright.convert("RGB").resize(upright_copy.size)
        assert upright_copy.size == tuple(round(side * 64 / 160) for side in upright.size), path.name
        assert max(edge for _, edge in ImageChops.difference(expected, upright_copy).getextrema()) < 40, path.name


@pytest.mark.parametrize("kind", ["bmp", "webdataset"])
def test_a_store_without_room_holds_the_first_ones(
    kind: str, images: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = images * 10
    monkeypatch.setattr(loading, "_STORE_BYTES", 10_000)
    with making(kind, many, tmp_path) as (job, held, _):
        assert held == list(range(len(held)))
        assert 0 < len(held) < len(many)
        (first,) = contents(job, held[:1])
        with Image.open(io.BytesIO(first)) as stored, Image.open(images[0]) as original:
            assert stored.tobytes() == original.convert("RGB").tobytes()
        with pytest.raises(subprocess.CalledProcessError):
            contents(job, [len(many)])


def test_images_that_cannot_be_stored_keep_no_place(images: tuple[Path, ...], tmp_path: Path) -> None:
    corrupt, gone = tmp_path / "corrupt.jpg", tmp_path / "gone.jpg"
    corrupt.write_bytes(b"\xff\xd8 no image")
    with making("bmp", (images[0], corrupt, images[2], gone), tmp_path) as (_, held, size):
        assert held == [0, 2]
        assert size == sum(54 + (3 * width + 3) // 4 * 4 * height for width, height in ((320, 200), (40, 30)))
    with (
        pytest.raises(NotLoadedError, match="any image: FileNotFoundError"),
        making("resized", (gone,), tmp_path),
    ):
        pass


def test_a_store_that_cannot_be_written_is_an_outcome(images: tuple[Path, ...], tmp_path: Path) -> None:
    with (
        pytest.raises(NotLoadedError, match=r"^cannot write the store: ") as caught,
        making("bmp", images, tmp_path / "gone"),
    ):
        pass
    assert caught.value.outcome is CandidateOutcome.FAILED
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ("mount", "-t", "tmpfs", "-o", "size=256k", "none", disk)
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        with pytest.raises(NotLoadedError, match="free disk space"), making("bmp", images, disk):
            pass
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(("umount", disk), check=True)


def test_a_script_makes_the_files_that_were_measured(images: tuple[Path, ...], prepared: Path, tmp_path: Path) -> None:
    with making("resized", images, tmp_path) as (job, held, _):
        measured = contents(job, held)
    found = files_below(prepared / "resized")
    assert json.loads(found.pop("prepared.json"))["kind"] == "resized"
    assert found == dict(zip([name.replace(".webp", ".webp.png") for name in NAMES], measured, strict=True))


@pytest.mark.parametrize("kind", ["resized", "webdataset"])
def test_a_script_continues_where_it_was_killed(photos: Path, prepared: Path, tmp_path: Path, kind: str) -> None:
    whole, out = files_below(prepared / kind), tmp_path / "out"
    shutil.copytree(prepared / kind, out)
    for path in out.rglob("*.*"):
        if path.name == "images-00000.tar":
            os.truncate(path, path.stat().st_size * 2 // 3)
        elif path.name in ("images-00000.tar.json", "palette.png"):
            path.rename(f"{path}.partial")
    assert files_below(out) != whole
    assert prepare(tmp_path, kind, photos, out).returncode == 0
    assert files_below(out) == whole


def test_a_script_leaves_other_files_alone(photos: Path, prepared: Path, tmp_path: Path) -> None:
    (tmp_path / "foreign/cats").mkdir(parents=True)
    (tmp_path / "foreign/cats/a.b.jpg").write_bytes(b"mine")
    done = prepare(tmp_path, "resized", photos, tmp_path / "foreign")
    assert (done.returncode, files_below(tmp_path / "foreign")) == (1, {"cats/a.b.jpg": b"mine"})
    assert done.stderr.startswith(f"{tmp_path / 'foreign'} is not empty")
    assert "choose a directory outside it" in prepare(tmp_path, "bmp", photos, photos / "cats").stderr
    nothing = prepare(tmp_path, "bmp", tmp_path / "no images", tmp_path / "other")
    assert nothing.stderr == f"{tmp_path / 'no images'}: it contains no images\n"
    assert not (tmp_path / "other").exists()
    before, script = files_below(prepared / "resized"), tmp_path / "smaller.py"
    script.write_text(render_code("resized", replace(PIPELINE, shorter=32, crop=32)))
    done = subprocess.run((PYTHON, script, photos, prepared / "resized"), capture_output=True, text=True, check=False)
    assert (done.returncode, "was made with" in done.stderr) == (1, True)
    assert files_below(prepared / "resized") == before


def test_a_script_names_the_package_that_it_lacks(photos: Path, tmp_path: Path) -> None:
    script = tmp_path / "prepare.py"
    script.write_text(render_code("bmp", PIPELINE))
    words = (PYTHON, "-S", script, photos, tmp_path / "out")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"No module named 'PIL': {PYTHON} -m pip install pillow\n")


def test_prepared_images_are_read_by_others(images: tuple[Path, ...], prepared: Path) -> None:
    with tarfile.open(prepared / "webdataset/images-00000.tar") as archive:
        streams = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        found = {name: stream.read() for name, stream in streams.items() if stream is not None}
    names = ("cats/a_b.jpg", "cats/grey.jpeg", *NAMES[2:])
    assert found == {name: each.read_bytes() for name, each in zip(names, images, strict=True)}
    code = (
        "import importlib, os, pickle, sys; sys.path.insert(0, os.getcwd())\n"
        "for kind in sys.argv[1:]:\n"
        "    images = pickle.loads(pickle.dumps(importlib.import_module('prepare_' + kind).Reader(kind)))\n"
        "    print(*[images.name(each) for each in range(len(images)) if len(images.read(each))])"
    )
    words = (PYTHON, "-c", code, "webdataset", "bmp")
    done = subprocess.run(words, cwd=prepared, capture_output=True, text=True, check=True)
    assert [line.split() for line in done.stdout.splitlines()] == [[*NAMES], [f"{name}.bmp" for name in NAMES]]

"""Stores of images, made and read by a real Pillow in other processes: what comes out, what it takes, what is left."""

import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from support.environments import interpreters

from fastinstall.bench import _storage, temporary_store
from fastinstall.bench.catalogue import StoreKind, all_kinds, kind_named
from fastinstall.bench.loading import (
    ImageStore,
    Job,
    LoadingProcess,
    NotLoadedError,
    PoolWorkload,
    measure_rates,
    start_loading,
)
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.bench.temporary_store import MadeStore

LIBRARIES = os.environ.get("FASTINSTALL_TEST_LIBRARIES")
PYTHON = Path(sys.executable)
PIPELINE = ImagePipeline(shorter=64, crop=56)
VARIABLES: Mapping[str, str] = {"PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two directories of images of several forms."""
    place = tmp_path_factory.mktemp("photos")
    noise = Image.frombytes("RGB", (24, 16), bytes(range(256)) * 4 + bytes(128)).resize((320, 200))
    turned = Image.Exif()
    turned[0x0112] = 6
    for directory in ("cats", "dogs.x"):
        (place / directory).mkdir()
    noise.save(place / "cats/a.b.jpg", quality=95, exif=turned, icc_profile=b"a profile")
    noise.convert("L").save(place / "cats/grey.JPEG")
    noise.resize((40, 30)).save(place / "cats/small.jpg")
    noise.convert("P").save(place / "dogs.x/palette.png")
    noise.resize((50, 400)).save(place / "dogs.x/tall.webp")
    noise.resize((33, 21)).convert("RGBA").save(place / "dogs.x/a.png")
    (place / "notes.txt").write_text("no image")
    return place


@pytest.fixture(scope="module")
def images(photos: Path) -> tuple[Path, ...]:
    return tuple(path for path in sorted(photos.rglob("*.*")) if path.is_file() and path.suffix != ".txt")


@pytest.fixture(scope="module")
def measured_copies(images: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The files of a temporary store, in the order of the images."""
    with temporary_store.temporary_store(
        kind_named("resized"), _job(images), tmp_path_factory.mktemp("copies")
    ) as made:
        return _contents(made)


@pytest.fixture(scope="module")
def prepared(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What printed scripts have made, each in a directory of its kind's name, and the scripts beside them."""
    place = tmp_path_factory.mktemp("prepared")
    for kind in (each.name for each in all_kinds() if each.name != "lmdb"):
        done = _prepared(place, kind, photos, place / kind)
        assert done.stdout == f"6 images in {place / kind}, 0 left out\n", done.stderr
    return place


def _job(images: Sequence[Path], python: Path = PYTHON) -> Job:
    return Job(python=python, images=tuple(images), pipeline=PIPELINE, tensor=False, variables=VARIABLES)


def _make_store(kind: StoreKind, job: Job, directory: Path) -> None:
    with temporary_store.temporary_store(kind, job, directory):
        pass


@contextmanager
def _loading(
    images: Sequence[Path], store: ImageStore, python: Path, *, with_workers: bool = False
) -> Iterator[LoadingProcess]:
    with start_loading(replace(_job(images, python), store=store), with_workers=with_workers) as found:
        yield found


def _contents(made: MadeStore) -> list[bytes]:
    """What a store gives for its images."""
    store = pickle.loads(pickle.dumps(_storage.Store(made.store.kind, str(made.store.path))))  # noqa: S301 (ours)
    return [bytes(store.read(each)) for each in made.indexes]


def _read(python: Path, store: ImageStore, indexes: Sequence[int]) -> list[bytes]:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import _storage\n"
        "store = _storage.Store(*sys.argv[2:4])\n"
        "print([store.read(int(each)).hex() for each in sys.argv[4:]])"
    )
    arguments = (str(Path(temporary_store.__file__).parent), store.kind, str(store.path), *map(str, indexes))
    words = (str(python), "-I", "-B", "-c", code, *arguments)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [bytes.fromhex(each) for each in json.loads(done.stdout.replace("'", '"'))]


def _prepared(
    place: Path, kind: str, photos: Path, out: Path, python: Path = PYTHON
) -> subprocess.CompletedProcess[str]:
    """Run a printed script as a person does."""
    script = place / f"prepare_{kind}.py"
    script.write_text(render_code(kind, PIPELINE))
    return subprocess.run((python, script, photos, out), capture_output=True, text=True, check=False)


def _files(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_a_store_of_originals_gives_the_bytes_of_every_file(images: tuple[Path, ...], tmp_path: Path) -> None:
    python = (interpreters.of_version("3.8") or interpreters.running()).executable
    with temporary_store.temporary_store(kind_named("webdataset"), _job(images, python), tmp_path) as made:
        assert made.indexes == tuple(range(len(images)))
        assert _read(python, made.store, made.indexes) == [each.read_bytes() for each in images]
        assert made.ratio == made.bytes / sum(each.stat().st_size for each in images)
        assert made.bytes == sum(map(len, _files(made.store.path).values()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not LIBRARIES, reason="FASTINSTALL_TEST_LIBRARIES names no interpreter with lmdb")
def test_a_store_of_a_package_gives_the_bytes_of_every_file(
    photos: Path, images: tuple[Path, ...], tmp_path: Path
) -> None:
    python, out = Path(LIBRARIES or ""), tmp_path / "out"
    with temporary_store.temporary_store(kind_named("lmdb"), _job(images, python), tmp_path) as made:
        assert _read(python, made.store, made.indexes) == [each.read_bytes() for each in images]
        _workers_load(images, made.store, python)
    for _ in ("made", "and gone on with"):
        assert _prepared(tmp_path, "lmdb", photos, out, python).returncode == 0
    code = "import prepare_lmdb, sys; images = prepare_lmdb.Reader(sys.argv[1]); print(len(images), images.name(0))"
    done = subprocess.run((python, "-c", code, out), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(images)} {images[0].relative_to(photos)}\n"


@pytest.mark.skipif(bool(LIBRARIES), reason="FASTINSTALL_TEST_LIBRARIES has the package")
def test_a_store_whose_package_is_missing_names_it_and_leaves_nothing(images: tuple[Path, ...], tmp_path: Path) -> None:
    with pytest.raises(NotLoadedError) as caught:
        _make_store(kind_named("lmdb"), _job(images), tmp_path)
    assert (caught.value.outcome, caught.value.reason) == (CandidateOutcome.MISSING, "lmdb")
    assert list(tmp_path.iterdir()) == []


def _workers_load(images: Sequence[Path], store: ImageStore, python: Path) -> None:
    """In a worker too."""
    remarks: list[str] = []
    with _loading(images, store, python) as found:
        assert found.measure(0.0, cold=True).failed == {}
    with _loading(images, store, python, with_workers=True) as found:
        load = PoolWorkload(seconds=0.02, images=tuple(range(len(images))), patience=20.0)
        measured = measure_rates(found, (1,), load, remarks.append)
    assert remarks == []
    assert all(each.images_per_second > 0 for each in measured)


def test_copies_are_smaller_pictures_of_the_same_form_with_their_orientation(
    images: tuple[Path, ...], measured_copies: list[bytes]
) -> None:
    copies = dict(zip([each.name for each in images], measured_copies, strict=True))
    shown = {name: Image.open(io.BytesIO(content)) for name, content in copies.items()}
    found = {name: (each.format, each.mode, each.size) for name, each in shown.items()}
    assert found == {
        "a.b.jpg": ("JPEG", "RGB", (102, 64)),
        "grey.JPEG": ("JPEG", "L", (102, 64)),
        "small.jpg": ("JPEG", "RGB", (40, 30)),
        "palette.png": ("PNG", "RGB", (102, 64)),
        "tall.webp": ("PNG", "RGB", (50, 400)),
        "a.png": ("PNG", "RGBA", (33, 21)),
    }
    assert shown["a.b.jpg"].getexif()[0x0112] == 6
    assert copies["small.jpg"] == next(each for each in images if each.name == "small.jpg").read_bytes()


def test_uncompressed_files_take_what_they_hold(images: tuple[Path, ...], tmp_path: Path) -> None:
    sizes = [(320, 200), (320, 200), (40, 30), (33, 21), (320, 200), (50, 400)]
    with temporary_store.temporary_store(kind_named("bmp"), _job(images), tmp_path) as made:
        assert made.bytes == sum(54 + (3 * width + 3) // 4 * 4 * height for width, height in sizes)


@pytest.mark.parametrize("kind", ["bmp", "webdataset"])
def test_a_store_without_room_for_all_holds_the_first_ones(
    kind: str, images: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = images * 10
    monkeypatch.setattr(temporary_store, "MOST_BYTES", 10_000)
    with temporary_store.temporary_store(kind_named(kind), _job(many), tmp_path) as made:
        assert made.indexes == tuple(range(len(made.indexes)))
        assert 0 < len(made.indexes) < len(many)
        store = _storage.Store(kind, str(made.store.path))
        assert len(store) == len(made.indexes)
        with Image.open(io.BytesIO(store.read(0))) as stored, Image.open(images[0]) as original:
            assert stored.tobytes() == original.convert("RGB").tobytes()
        with pytest.raises(KeyError):
            store.read(len(many))


def test_images_that_cannot_be_stored_keep_no_place(images: tuple[Path, ...], tmp_path: Path) -> None:
    corrupt = tmp_path / "corrupt.jpg"
    corrupt.write_bytes(b"\xff\xd8 no image")
    gone = tmp_path / "gone.jpg"
    mixed = (images[0], corrupt, images[2], gone)
    with temporary_store.temporary_store(kind_named("resized"), _job(mixed), tmp_path) as made:
        assert made.indexes == (0, 2)
        assert made.ratio == made.bytes / (images[0].stat().st_size + images[2].stat().st_size)
    with pytest.raises(NotLoadedError, match="any image: FileNotFoundError"):
        _make_store(kind_named("resized"), _job((gone,)), tmp_path)


def test_a_place_where_nothing_can_be_written_is_an_outcome(images: tuple[Path, ...], tmp_path: Path) -> None:
    with pytest.raises(NotLoadedError) as caught:
        _make_store(kind_named("bmp"), _job(images), tmp_path / "gone")
    assert caught.value.outcome is CandidateOutcome.FAILED
    assert caught.value.reason.startswith("cannot write the store: ")


def test_a_full_disk_ends_a_store_and_gets_its_room_back(images: tuple[Path, ...], tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ("mount", "-t", "tmpfs", "-o", "size=256k", "none", disk)
    mounted = subprocess.run(words, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        with pytest.raises(NotLoadedError) as caught:
            _make_store(kind_named("bmp"), _job(images), disk)
        assert caught.value.outcome is CandidateOutcome.FAILED
        assert "free disk space" in caught.value.reason
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(("umount", disk), check=True)


def test_a_printed_script_makes_the_files_that_were_measured(
    photos: Path, images: tuple[Path, ...], prepared: Path, measured_copies: list[bytes]
) -> None:
    found = _files(prepared / "resized")
    assert json.loads(found.pop("prepared.json"))["kind"] == "resized"
    names = [str(each.relative_to(photos)) for each in images]
    named = [name.replace(".webp", ".webp.png") for name in names]
    assert found == dict(zip(named, measured_copies, strict=True))


@pytest.mark.parametrize("kind", ["resized", "webdataset"])
def test_a_printed_script_goes_on_where_it_was_killed(photos: Path, prepared: Path, tmp_path: Path, kind: str) -> None:
    whole, out = _files(prepared / kind), tmp_path / "out"
    shutil.copytree(prepared / kind, out)
    for path in out.rglob("*.*"):
        _damage(path)
    assert _files(out) != whole
    assert _prepared(tmp_path, kind, photos, out).returncode == 0
    assert _files(out) == whole


def _damage(path: Path) -> None:
    """What a kill leaves: some files are missing, others end anywhere."""
    if path.name == "images-00000.tar":
        os.truncate(path, path.stat().st_size * 2 // 3)
    elif path.name in ("images-00000.tar.json", "palette.png"):
        path.rename(f"{path}.partial")


def test_a_printed_script_leaves_alone_what_it_has_not_made(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "foreign/cats").mkdir(parents=True)
    (tmp_path / "foreign/cats/a.b.jpg").write_bytes(b"mine")
    before = _files(tmp_path / "foreign")
    done = _prepared(tmp_path, "resized", photos, tmp_path / "foreign")
    assert (done.returncode, _files(tmp_path / "foreign")) == (1, before)
    assert done.stderr.startswith(f"{tmp_path / 'foreign'} is not empty")
    inside = _prepared(tmp_path, "bmp", photos, photos / "cats")
    assert "choose a directory outside it" in inside.stderr
    nothing = _prepared(tmp_path, "bmp", tmp_path / "no images", tmp_path / "other")
    assert nothing.stderr == f"{tmp_path / 'no images'}: it contains no images\n"
    assert not (tmp_path / "other").exists()


def test_a_printed_script_names_the_package_that_it_lacks(photos: Path, tmp_path: Path) -> None:
    script = tmp_path / "prepare.py"
    script.write_text(render_code("bmp", PIPELINE))
    words = (PYTHON, "-S", script, photos, tmp_path / "out")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"No module named 'PIL': {PYTHON} -m pip install pillow\n")


def test_a_printed_script_refuses_to_mix_sizes(photos: Path, prepared: Path, tmp_path: Path) -> None:
    before = _files(prepared / "resized")
    script = tmp_path / "prepare_resized.py"
    script.write_text(render_code("resized", replace(PIPELINE, shorter=32, crop=32)))
    done = subprocess.run((PYTHON, script, photos, prepared / "resized"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "was made with" in done.stderr
    assert _files(prepared / "resized") == before


def test_what_printed_scripts_make_is_read_by_others(images: tuple[Path, ...], prepared: Path) -> None:
    with tarfile.open(prepared / "webdataset/images-00000.tar") as archive:
        members = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        contents = {name: stream.read() for name, stream in members.items() if stream is not None}
    cats = ("cats/a_b.jpg", "cats/grey.jpeg", "cats/small.jpg")
    names = (*cats, "dogs.x/a.png", "dogs.x/palette.png", "dogs.x/tall.webp")
    assert contents == {name: each.read_bytes() for name, each in zip(names, images, strict=True)}


def test_a_printed_script_is_a_module_that_reads_what_it_has_made(
    photos: Path, images: tuple[Path, ...], prepared: Path
) -> None:
    code = (
        "import importlib, os, pickle, sys; sys.path.insert(0, os.getcwd())\n"
        "for kind in sys.argv[1:]:\n"
        "    images = pickle.loads(pickle.dumps(importlib.import_module('prepare_' + kind).Reader(kind)))\n"
        "    print(*[images.name(each) for each in range(len(images)) if len(images.read(each))])"
    )
    kinds = ("webdataset", "bmp")
    done = subprocess.run((PYTHON, "-c", code, *kinds), cwd=prepared, capture_output=True, text=True, check=True)
    names = [str(each.relative_to(photos)) for each in images]
    assert [line.split() for line in done.stdout.splitlines()] == [names, [f"{name}.bmp" for name in names]]

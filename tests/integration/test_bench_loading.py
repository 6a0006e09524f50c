"""A process that loads images with the target's Python: its measurements and pictures, and reports of its death."""

import base64
import mmap
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fastinstall.bench import _loading, _timing, _values, loading
from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.loading import Job, LoadingProcess, NotLoadedError, start_loading
from fastinstall.bench.rates import measure_rates
from fastinstall.bench.report import CandidateOutcome, ImagePipeline, LoadingEngine
from fastinstall.bench.workloads import WORKLOADS, filesystem_of, generate_photos

PYTHON = Path(sys.executable)
PILLOWS = ("pillow", "pillow-draft", "pillow-no-copy", "pillow-reducing-gap")
LIBRARIES = os.environ.get("FASTINSTALL_TEST_LIBRARIES", "")
DAMAGED = 2
NEVER_COLD = ("9p", "virtiofs", "zfs")
"""Filesystems with a file cache of their own or on another machine, so that reads are never cold."""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Return a JPEG, a PNG with a palette, a truncated JPEG, and a JPEG smaller than the crop of the pipeline."""
    directory = tmp_path_factory.mktemp("images")
    coarse = Image.frombytes("RGB", (32, 24), bytes(range(256)) * 9)
    photo = coarse.resize((1200, 900), Image.Resampling.BICUBIC)
    paths = tuple(directory / name for name in ("photo.jpg", "palette.png", "damaged.jpg", "small.jpg"))
    photo.save(paths[0], quality=90)
    photo.resize((400, 300)).quantize(32).save(paths[1])
    paths[DAMAGED].write_bytes(paths[0].read_bytes()[:3000])
    photo.resize((90, 60)).save(paths[3])
    return paths


@pytest.fixture(scope="module")
def running(images: tuple[Path, ...]) -> Iterator[LoadingProcess]:
    """Yield a process that loads the images with unmodified Pillow."""
    with start_loading(Job(python=PYTHON, images=images)) as process:
        yield process


def test_stages_add_up_in_order(running: LoadingProcess) -> None:
    found = running.measure(0.05)
    assert list(found.stages)[:6] == ["read", "decode", "convert", "resize", "crop", "array"]
    assert found.ms == pytest.approx(sum(found.stages.values()))
    assert min(found.stages.values()) > 0
    assert found.peak_bytes > 10_000_000


def test_failing_images_are_named_and_not_counted(running: LoadingProcess) -> None:
    found = running.measure(0.0)
    assert (list(found.failed), found.images, found.passes) == ([str(DAMAGED)], 3, 1)
    assert "truncated" in found.failed[str(DAMAGED)]
    assert running.measure(0.0, indexes=(0,)).images == 1
    with pytest.raises(NotLoadedError, match="truncated"):
        running.measure(5.0, indexes=(DAMAGED,), timeout=3.0)
    with pytest.raises(NotLoadedError, match="IndexError"):
        running.pictures((99,))
    assert running.measure(0.0, indexes=(0,)).images == 1, "it lives on"


def test_pictures_are_what_pillow_computes(running: LoadingProcess, images: tuple[Path, ...]) -> None:
    picture, _ = running.pictures((0, 3))
    expected = Image.open(images[0]).convert("RGB").resize((341, 256), Image.Resampling.BILINEAR)
    assert picture.shape == (224, 224, 3)
    assert picture.data == expected.crop((58, 16, 282, 240)).tobytes()


@pytest.mark.parametrize("name", PILLOWS)
@pytest.mark.parametrize("pipeline", [ImagePipeline(shorter=50, crop=80), ImagePipeline(shorter=100, crop=0)])
def test_stages_do_the_same_as_printed_load(images: tuple[Path, ...], name: str, pipeline: ImagePipeline) -> None:
    good = tuple(each for index, each in enumerate(images) if index != DAMAGED)
    code: dict[str, Any] = {"SHORTER": pipeline.shorter, "CROP": pipeline.crop, "FILTER": pipeline.filter}
    exec(all_ways()[name].loader, code)  # noqa: S102 (this repository's own code)
    with start_loading(Job(python=PYTHON, images=good, adapter=name, pipeline=pipeline)) as process:
        assert ("crop" in process.measure(0.0).stages) is bool(pipeline.crop)
        for path, picture in zip(good, process.pictures(range(len(good))), strict=True):
            expected = code["load"](path)
            assert (picture.data, picture.shape[:2]) == (expected.tobytes(), expected.size[::-1])
            assert not pipeline.crop or expected.size == (80, 80)


def own_job(directory: Path, text: str, images: tuple[Path, ...], function: str = "load") -> Job:
    """Return a job whose loader is a file with the given source text."""
    file = directory / "mine.py"
    file.write_text(textwrap.dedent(text))
    return Job(python=PYTHON, images=images, loader=f"{file}:{function}")


def test_an_own_loader_may_print_read_and_import(tmp_path: Path, images: tuple[Path, ...]) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/helper.py").write_text("SIDE = 8")
    (tmp_path / "pytest.py").write_text("from PIL import Image\nfrom helper import SIDE")
    text = """
        import os, sys
        from pytest import SIDE, Image  # its neighbour, and not the one that is installed

        print("imported")

        def loaded(path):
            print("loading", path, flush=True)
            os.write(1, b"from below\\n")
            assert sys.stdin.read() == ""
            return Image.open(path).resize((SIDE, SIDE)), "a label"
    """
    job = own_job(tmp_path, text, images, "loaded")
    with start_loading(replace(job, variables={"PYTHONPATH": str(tmp_path / "elsewhere")})) as process:
        assert "pillow" in process.versions
        assert process.measure(0.0).images == 3
        assert [each.shape for each in process.pictures((0, 1))] == [(8, 8, 3), (8, 8, 3)]


def test_what_happens_once_is_not_timed(tmp_path: Path, images: tuple[Path, ...]) -> None:
    text = """
        kinds = set()

        def load(path):
            kind = path.rpartition(".")[2]
            if kind not in kinds:
                kinds.add(kind)
                raise ValueError("the first of its kind")
            return [[0, 0, 0]]
    """
    with start_loading(own_job(tmp_path, text, images)) as process:
        assert process.measure(0.0).failed == {}


def test_peak_memory_is_that_of_the_measurement(tmp_path: Path, images: tuple[Path, ...]) -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        pytest.skip(f"the kernel tells a process's peak since its start only: {error}")
    text = """
        def load(path):
            return [len(bytearray(80_000_000 if path.endswith("photo.jpg") else 8).replace(b"a", b"b"))]
    """
    with start_loading(own_job(tmp_path, text, images)) as process:
        large, small = process.measure(0.0, indexes=(0,)), process.measure(0.0, indexes=(3,))
    assert large.peak_bytes - small.peak_bytes > 70_000_000


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("import os\nload = lambda path: os.abort()", CandidateOutcome.CRASHED, "killed by SIGABRT"),
        ("import time\nload = lambda path: time.sleep(60)", CandidateOutcome.HUNG, "no answer within 0.2 s"),
        (
            "import os, time\nload = lambda path: time.sleep(60) if os.fork() == 0 else os.abort()",
            CandidateOutcome.CRASHED,
            "killed by SIGABRT",
        ),
        ("def load(path): raise ValueError('not today')", CandidateOutcome.FAILED, "any image: ValueError: not today"),
    ],
)
def test_the_end_of_a_process_is_an_outcome(tmp_path: Path, text: str, outcome: CandidateOutcome, reason: str) -> None:
    with (
        start_loading(own_job(tmp_path, text, (tmp_path / "any.jpg",))) as process,
        pytest.raises(NotLoadedError, match=reason) as caught,
    ):
        process.measure(0.0, timeout=0.2 if outcome is CandidateOutcome.HUNG else 20.0)
    assert caught.value.outcome is outcome


def test_a_broken_package_counts_as_missing(tmp_path: Path, images: tuple[Path, ...]) -> None:
    for name in ("numpy", "torch"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('built for another machine')")
    with start_loading(Job(python=PYTHON, images=images, site=(tmp_path,))) as process:
        assert "tensor" not in process.measure(0.0).stages
        assert process.pictures((0,))[0].shape == (224 * 224 * 3,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("load = 1", r"has no function load\(path\)"),
        ("import json\n\njson.loads('{')", r"raised while it was imported: JSONDecodeError: .* \(line 3\)"),
        ("import no_such_module", r"ModuleNotFoundError: No module named 'no_such_module' \(line 1\)"),
        ("def load(path:", "SyntaxError"),
        ("raise SystemExit(2)", "if __name__ == '__main__'"),
    ],
)
def test_a_loader_that_cannot_be_used_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "mine:too.py"
    file.write_text(text)
    with pytest.raises(_loading.Refused, match=reason) as caught:
        _loading.own_loader(f"{file}:load")
    assert str(file) in str(caught.value)
    with pytest.raises(NotLoadedError) as refused, start_loading(own_job(tmp_path, text, ())):
        pass
    assert refused.value.outcome is CandidateOutcome.FAILED


LEVELS: Any = np.arange(2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)


class Tensor:
    """A stand-in for torch's tensors: torch is too large to install on every test machine."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape = array, array.shape

    def detach(self) -> "Tensor":
        return self

    cpu = detach

    def numpy(self) -> Any:
        return self.array


@pytest.mark.parametrize(
    "value",
    [
        LEVELS,
        LEVELS.astype(np.float64),
        LEVELS.transpose(2, 0, 1).astype(np.float32) / 255,
        LEVELS[None],
        LEVELS.tolist(),
        (LEVELS, 7),
        {"label": 7, "image": LEVELS},
        Image.fromarray(LEVELS),
        (Image.fromarray(LEVELS), "label"),
        Tensor(LEVELS.transpose(2, 0, 1).astype(np.float32) / 255),
        np.asfortranarray(LEVELS),
    ],
)
def test_a_picture_is_recognised_in_any_form(value: Any) -> None:
    described = _values.described(value)
    assert (described["shape"], base64.b64decode(described["data"])) == ([2, 5, 3], LEVELS.tobytes())


@pytest.mark.parametrize(
    "value", [b"bytes", (LEVELS - 128.0) / 64, LEVELS.astype(np.uint16) * 100, np.zeros((2, 2, 4, 3))]
)
def test_other_values_have_no_shape_of_a_picture(value: Any) -> None:
    assert len(_values.described(value)["shape"]) == 1
    with pytest.raises(TypeError, match="the loader gives object"):
        _values.described(object())


@pytest.mark.skipif(not LIBRARIES, reason="FASTINSTALL_TEST_LIBRARIES names no Python with torch")
def test_torch_makes_tensors(images: tuple[Path, ...], running: LoadingProcess) -> None:
    with start_loading(Job(python=Path(LIBRARIES), images=images)) as process:
        assert list(process.measure(0.0).stages)[-1] == "tensor"
        ((ours,), (theirs,)) = (each.pictures((0,)) for each in (running, process))
    assert ours.shape == theirs.shape
    assert max(abs(one - other) for one, other in zip(ours.data, theirs.data, strict=True)) <= 1


BATCHED = '''
TITLE, MODULES, BRINGS, CODE = "By batches", ("PIL",), ("pillow",), ""
LOADER = """
import numpy
from PIL import Image


def batches(lists, threads, size, ahead):
    for batch in lists:
        assert len(batch) <= size
        yield [numpy.asarray(Image.open(each).convert("RGB").resize((CROP, CROP))) for each in batch]
"""
'''


def test_whole_batches_are_measured(images: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = shutil.copytree(Path(loading.__file__).parent, tmp_path / "programs")
    (programs / "adapters/by_batches.py").write_text(BATCHED, encoding="utf-8")
    monkeypatch.setattr(loading, "_PROGRAM", programs / "_loading.py")
    job, remarks = Job(python=PYTHON, images=images, adapter="by-batches", tensor=False), list[str]()
    with start_loading(job) as process:
        found = process.measure(0.05)
        assert (list(found.failed), found.images) == ([str(DAMAGED)], 3), "it is found in its batch"
        assert 0 < found.least_ms <= found.ms == found.stages["decode"]
        assert [each.shape for each in process.pictures([0, 1])] == [(224, 224, 3)] * 2
        assert process.measure(0.0, indexes=[0]).images == 1
    with start_loading(job) as process:
        (rate,) = measure_rates(process, (2,), remarks.append, threads=False, seconds=0.1, batch=32, images=(0, 1))
    assert rate.engine is LoadingEngine.BATCHED
    assert rate.images_per_second > 0


@pytest.mark.parametrize(
    ("name", "form", "size", "bits"),
    [
        ("500px", "JPEG", (375, 500), (1.0, 2.2)),
        ("12mp", "JPEG", (4000, 3000), (1.0, 2.2)),
        ("png", "PNG", (800, 600), (10.0, 14.0)),
    ],
)
def test_generated_photos_weigh_what_photos_do(
    tmp_path: Path, name: str, form: str, size: tuple[int, int], bits: tuple[float, float]
) -> None:
    (path,) = generate_photos(name, tmp_path, PYTHON, {}, count=1)
    with Image.open(path) as image:
        assert (image.format, image.size) == (form, size)
        assert bits[0] < 8 * path.stat().st_size / (image.width * image.height) < bits[1]


def test_generated_photos_are_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORKLOADS, "500px", ("", 3, 2))
    first, second = ([each.read_bytes() for each in generate_photos("500px", tmp_path, PYTHON, {}, 9)] for _ in "12")
    assert first == second
    assert len(set(first)) == len(first) == 3, "their number is bounded"


def test_files_are_dropped_from_the_page_cache(tmp_path: Path) -> None:
    filesystem = filesystem_of(tmp_path)
    if filesystem.memory or filesystem.type in NEVER_COLD:
        pytest.skip(f"the directory of temporary files is on {filesystem.type}, whose files may never be cold")
    paths = [tmp_path / str(pages) for pages in (0, 1, 4096)]
    for path in paths:
        path.write_bytes(os.urandom(int(path.name) * mmap.PAGESIZE))
    for _ in ("written", "read"):
        assert all(_timing.drop_from_cache(str(path)) for path in paths)
        paths[2].read_bytes()
    assert not _timing.drop_from_cache(str(tmp_path / "missing"))
    with paths[1].open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[0] == paths[1].read_bytes()[0]
        assert not _timing.drop_from_cache(str(paths[1])), "a file that is in use stays"

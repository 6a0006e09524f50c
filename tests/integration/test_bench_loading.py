"""A process of the target that loads images: what it measures, what it gives, and how its end is told."""

import importlib
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
from support.bench.adapters import adapter_named

from fastinstall.bench import _loader, _values, loading
from fastinstall.bench.loading import Job, LoadingProcess, NotLoadedError, PoolWorkload, measure_rates, start_loading
from fastinstall.bench.report import CandidateOutcome, ImagePipeline, LoadingEngine

PYTHON = Path(sys.executable)
OF_PILLOW = ("pillow", "pillow-draft", "pillow-no-copy", "pillow-reducing-gap")
LIBRARIES = os.environ.get("FASTINSTALL_TEST_LIBRARIES", "")
DAMAGED = 2


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """A JPEG, a PNG with a palette, a truncated JPEG, and a JPEG smaller than what is cut out of it."""
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
    """Pillow as it is."""
    with start_loading(Job(python=PYTHON, images=images)) as talk:
        yield talk


def test_the_stages_add_up_and_come_in_order(running: LoadingProcess) -> None:
    found = running.measure(0.05)
    assert list(found.stages)[:6] == ["read", "decode", "convert", "resize", "crop", "array"]
    assert found.ms == pytest.approx(sum(found.stages.values()))
    assert min(found.stages.values()) > 0
    assert found.peak_bytes > 10_000_000


def test_an_image_that_fails_is_named_and_the_others_are_measured(running: LoadingProcess) -> None:
    found = running.measure(0.0)
    assert list(found.failed) == [str(DAMAGED)]
    assert "truncated" in found.failed[str(DAMAGED)]
    assert (found.images, found.passes) == (3, 1)


def test_only_some_images_are_measured_where_that_is_asked_for(running: LoadingProcess) -> None:
    assert running.measure(0.0, indexes=(0,)).images == 1
    with pytest.raises(NotLoadedError, match="truncated"):
        running.measure(0.0, indexes=(DAMAGED,))
    none = running.ask({"do": "measure", "seconds": 5.0, "indexes": [DAMAGED]}, 20.0)
    assert (none["images"], none["passes"]) == (0, 1)


def test_what_comes_out_is_what_pillow_computes(running: LoadingProcess, images: tuple[Path, ...]) -> None:
    picture, _ = running.pictures((0, 3))
    assert picture.shape == (224, 224, 3)
    expected = Image.open(images[0]).convert("RGB").resize((341, 256), Image.Resampling.BILINEAR)
    assert picture.data == expected.crop((58, 16, 282, 240)).tobytes()


def test_a_request_that_fails_leaves_the_process_alive(running: LoadingProcess) -> None:
    with pytest.raises(NotLoadedError, match="IndexError"):
        running.pictures((99,))
    assert running.measure(0.0, indexes=(0,)).images == 1


@pytest.mark.parametrize("name", OF_PILLOW)
@pytest.mark.parametrize("pipeline", [ImagePipeline(), ImagePipeline(shorter=100, crop=0, filter="lanczos")])
def test_printed_code_gives_what_was_measured(images: tuple[Path, ...], name: str, pipeline: ImagePipeline) -> None:
    for image in (images[0], images[1], images[3]):
        expected = by_stages(name, image, pipeline)
        given = by_printed_code(name, image, pipeline)
        assert given.shape == expected.shape
        assert given.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", OF_PILLOW)
def test_a_square_larger_than_the_picture_has_its_size_all_the_same(images: tuple[Path, ...], name: str) -> None:
    assert by_stages(name, images[3], ImagePipeline(shorter=50, crop=80)).shape == (80, 80, 3)


def by_stages(name: str, image: Path, pipeline: ImagePipeline) -> Any:
    """What an adapter makes of a file, in this process."""
    wanted = {"shorter": pipeline.shorter, "crop": pipeline.crop, "filter": pipeline.filter, "array": True}
    value: Any = image.read_bytes()
    for _, function in importlib.import_module(f"fastinstall.bench.adapters.{name.replace('-', '_')}").stages(wanted):
        value = function(value)
    return value


def by_printed_code(name: str, image: Path, pipeline: ImagePipeline) -> Any:
    """What its LOADER makes of it."""
    names: dict[str, Any] = {"SHORTER": pipeline.shorter, "CROP": pipeline.crop, "FILTER": pipeline.filter}
    exec(adapter_named(name).loader, names)  # noqa: S102 (it is ours)
    return np.asarray(names["load"](image))


def test_an_own_loader_may_talk_read_and_import_its_neighbours(tmp_path: Path, images: tuple[Path, ...]) -> None:
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
    with start_loading(replace(job, variables={"PYTHONPATH": str(tmp_path / "elsewhere")})) as talk:
        assert "pillow" in talk.versions
        assert talk.measure(0.0).images == 3
        assert [each.shape for each in talk.pictures((0, 1))] == [(8, 8, 3), (8, 8, 3)]


def test_what_happens_once_happens_before(tmp_path: Path, images: tuple[Path, ...]) -> None:
    text = """
        kinds = set()

        def load(path):
            kind = path.rpartition(".")[2]
            if kind not in kinds:
                kinds.add(kind)
                raise ValueError("the first of its kind")
            return [[0, 0, 0]]
    """
    with start_loading(own_job(tmp_path, text, images)) as talk:
        assert talk.measure(0.0).failed == {}


def test_memory_is_that_of_the_measurement(tmp_path: Path, images: tuple[Path, ...]) -> None:
    require_forgetful_kernel()
    text = """
        def load(path):
            return [len(bytearray(80_000_000 if path.endswith("photo.jpg") else 8).replace(b"a", b"b"))]
    """
    with start_loading(own_job(tmp_path, text, images)) as talk:
        large, small = talk.measure(0.0, indexes=(0,)), talk.measure(0.0, indexes=(3,))
    assert large.peak_bytes - small.peak_bytes > 70_000_000


def require_forgetful_kernel() -> None:
    """Skip where the kernel does not let a process begin anew with its peak."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        pytest.skip(f"the kernel tells a process's peak since its start only: {error}")


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
        (
            "def load(path): raise ValueError('not today')",
            CandidateOutcome.FAILED,
            "any image: ValueError: not today",
        ),
    ],
)
def test_what_ends_the_process_is_an_outcome(tmp_path: Path, text: str, outcome: CandidateOutcome, reason: str) -> None:
    with (
        start_loading(own_job(tmp_path, text, (tmp_path / "any.jpg",))) as talk,
        pytest.raises(NotLoadedError, match=reason) as caught,
    ):
        talk.measure(0.0, timeout=0.2 if outcome is CandidateOutcome.HUNG else 20.0)
    assert caught.value.outcome is outcome


def test_what_broke_is_as_good_as_missing(tmp_path: Path, images: tuple[Path, ...]) -> None:
    for name in ("numpy", "torch"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('built for another machine')")
    with start_loading(Job(python=PYTHON, images=images, site=(tmp_path,))) as talk:
        assert "tensor" not in talk.measure(0.0).stages
        assert talk.pictures((0,))[0].shape == (224 * 224 * 3,)


@pytest.mark.parametrize(
    ("adapter", "outcome"),
    [("simplejpeg", CandidateOutcome.MISSING), ("no-such-adapter", CandidateOutcome.FAILED)],
)
def test_what_cannot_begin_says_why(adapter: str, outcome: CandidateOutcome) -> None:
    job = Job(python=PYTHON, images=(), adapter=adapter)
    with pytest.raises(NotLoadedError, match=adapter.replace("-", "_")) as caught, start_loading(job):
        pass
    assert caught.value.outcome is outcome


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("other = 1", r"has no function load\(path\)"),
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
    with pytest.raises(_loader.LoaderError, match=reason) as caught:
        _loader.own_loader(f"{file}:load", 0)
    assert str(file) in str(caught.value)


def test_a_loader_that_cannot_be_used_is_an_outcome(tmp_path: Path) -> None:
    job = own_job(tmp_path, "other = 1", ())
    with pytest.raises(NotLoadedError, match="has no function") as caught, start_loading(job):
        pass
    assert caught.value.outcome is CandidateOutcome.FAILED


LEVELS: Any = np.arange(2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)


class Tensor:
    """Stands for a tensor of torch, which is too large to be had everywhere."""

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
        [LEVELS, 7],
        {"label": 7, "image": LEVELS},
        Image.fromarray(LEVELS),
        (Image.fromarray(LEVELS), "label"),
        Tensor(LEVELS.transpose(2, 0, 1).astype(np.float32) / 255),
        np.asfortranarray(LEVELS),
    ],
)
def test_a_picture_is_known_in_whatever_form_it_comes(value: Any) -> None:
    shape, data = _values.content(_values.picture_in(value))
    assert (shape, data) == ((2, 5, 3), LEVELS.tobytes())


@pytest.mark.parametrize(
    "value", [b"bytes", (LEVELS - 128.0) / 64, LEVELS.astype(np.uint16) * 100, np.zeros((2, 2, 4, 3))]
)
def test_what_cannot_be_compared_has_no_shape_of_a_picture(value: Any) -> None:
    assert len(_values.described(value)["shape"]) == 1


def test_what_is_no_picture_is_refused() -> None:
    with pytest.raises(TypeError, match="the loader gives object"):
        _values.described(object())


@pytest.mark.skipif(not LIBRARIES, reason="FASTINSTALL_TEST_LIBRARIES names no Python with torch")
def test_a_tensor_is_made_where_torch_is(images: tuple[Path, ...], running: LoadingProcess) -> None:
    with start_loading(Job(python=Path(LIBRARIES), images=images)) as talk:
        assert list(talk.measure(0.0).stages)[-1] == "tensor"
        ((ours,), (theirs,)) = (each.pictures((0,)) for each in (running, talk))
    assert ours.shape == theirs.shape
    assert max(abs(one - other) for one, other in zip(ours.data, theirs.data, strict=True)) <= 1


def own_job(directory: Path, text: str, images: tuple[Path, ...], function: str = "load") -> Job:
    """A job for a loader of this text."""
    file = directory / "mine.py"
    file.write_text(textwrap.dedent(text))
    return Job(python=PYTHON, images=images, loader=f"{file}:{function}")


BATCHED = '''
NAME, TITLE, MODULES, BRINGS, CODE, BATCHED = "by-batches", "By batches", ("PIL",), ("pillow",), "", True
LOADER = """
import numpy
from PIL import Image


def batches(lists, threads, size, ahead):
    for batch in lists:
        assert len(batch) <= size
        yield [numpy.asarray(Image.open(each).convert("RGB").resize((CROP, CROP))) for each in batch]
"""
'''


@pytest.fixture
def by_batches(images: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """An adapter that loads whole batches, in a copy of what runs in the target."""
    programs = shutil.copytree(Path(loading.__file__).parent, tmp_path / "programs")
    (programs / "adapters/by_batches.py").write_text(BATCHED, encoding="utf-8")
    for name in ("_PROGRAM", "_POOL_PROGRAM"):
        monkeypatch.setattr(loading, name, programs / getattr(loading, name).name)
    return Job(python=PYTHON, images=images, adapter="by-batches", tensor=False)


def test_whole_batches_are_measured_and_an_image_that_fails_is_found_in_its_batch(by_batches: Job) -> None:
    with start_loading(by_batches) as talk:
        found = talk.measure(0.05)
        assert (list(found.failed), found.images) == ([str(DAMAGED)], 3)
        assert 0 < found.least_ms <= found.ms == found.stages["decode"]
        assert [each.shape for each in talk.pictures([0, 1])] == [(224, 224, 3)] * 2
        assert talk.measure(0.0, indexes=[0]).images == 1


def test_whole_batches_arrive_from_threads_of_their_own(by_batches: Job) -> None:
    load = PoolWorkload(seconds=0.1, images=(0, 1))
    with start_loading(by_batches, with_workers=True) as talk:
        (rate,) = measure_rates(talk, (2,), load)
    assert rate.engine is LoadingEngine.BATCHED
    assert rate.images_per_second > 0

"""A baseline and its candidates, each in its own process: what is compared, and how crashes and hangs are reported."""

import os
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from fastinstall.bench.catalogue import OWN_LOADER, unsuited
from fastinstall.bench.comparison import Comparison, start_comparison
from fastinstall.bench.effort import QUICK, Effort
from fastinstall.bench.loading import Job
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome, ImagePipeline
from fastinstall.core.errors import FailedError

EFFORT = replace(QUICK, rounds=1, starts=2, turn_seconds=0.0, pass_seconds=9.0, patience=20.0)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Return a job with two JPEG files and a PNG file."""
    directory = tmp_path_factory.mktemp("images")
    photo = Image.frombytes("RGB", (32, 24), bytes(range(256)) * 9).resize((640, 480), Image.Resampling.BICUBIC)
    paths = tuple(directory / name for name in ("a.jpg", "b.jpg", "c.png"))
    for path in paths:
        photo.save(path)
    return Job(
        python=Path(sys.executable),
        images=paths,
        formats=("JPEG", "JPEG", "PNG"),
        pipeline=ImagePipeline(shorter=64, crop=56),
        variables={"PATH": os.environ["PATH"]},
        tensor=False,
    )


def comparing(job: Job, effort: Effort = EFFORT) -> AbstractContextManager[Comparison]:
    return start_comparison(job, effort, job.images[0].parent)


def candidate(name: str, site: tuple[Path, ...] = ()) -> Candidate:
    return Candidate(name=name, title=name, kind=CandidateKind.DECODER, adapter=name, site=site)


def pil_that(directory: Path, does: str) -> Candidate:
    """Return a stand-in for Pillow whose `Image.open` runs the statement `does`."""
    (directory / "PIL").mkdir(parents=True)
    (directory / "PIL/__init__.py").write_text("__version__ = '0'\n")
    (directory / "PIL/Image.py").write_text(f"import os, time\n\ndef open(stream):\n    {does}\n")
    return candidate("pillow", site=(directory,))


def own_loader(directory: Path, job: Job, text: str) -> Job:
    (directory / "loader.py").write_text(text)
    return replace(job, loader=f"{directory / 'loader.py'}:load")


def test_a_candidate_is_compared_with_the_baseline(job: Job) -> None:
    with comparing(job) as comparison:
        comparison.choose_images()
        baseline = comparison.measure_baseline()
        result = comparison.measure_candidate(candidate("pillow-no-copy"))
    assert list(baseline.stages)[:2] == ["read", "decode"]
    assert baseline.images_per_second > 0
    assert result.outcome is CandidateOutcome.MEASURED
    assert result.gain is not None
    assert result.gain.rounds == EFFORT.rounds * EFFORT.starts
    assert 0 < result.gain.low <= result.gain.ratio <= result.gain.high
    assert result.images_per_second == pytest.approx(baseline.images_per_second * result.gain.ratio, abs=0.01)
    assert "pillow" in result.versions
    assert result.difference is not None
    assert (result.difference.highest, result.difference.images) == (0, 3)


def test_unreadable_formats_are_counted_and_not_compared(job: Job) -> None:
    with comparing(job) as comparison:
        comparison.choose_images()
        jpeg = comparison.measure_candidate(candidate("pillow-draft"))
        comparison.indexes = (2,)
        nothing = comparison.measure_candidate(candidate("pillow-draft"))
    assert (jpeg.outcome, jpeg.left_out) == (CandidateOutcome.MEASURED, 1)
    assert jpeg.difference is not None
    assert jpeg.difference.images == 2
    assert nothing.outcome is CandidateOutcome.UNSUITED
    assert "JPEG" in nothing.reason


def test_an_image_that_one_fails_on_is_left_out_of_both(job: Job, tmp_path: Path) -> None:
    (tmp_path / "odd.jpg").write_bytes(b"no image")
    images, formats = (*job.images, tmp_path / "odd.jpg"), (*job.formats, "JPEG")
    text = "def load(path):\n    assert not path.endswith('b.jpg')\n    return open(path, 'rb').read(8)\n"
    own = own_loader(tmp_path, replace(job, images=images, formats=formats), text)
    with comparing(own) as comparison:
        assert list(comparison.choose_images()) == ["1"]
        assert comparison.indexes == (0, 2, 3)
        result = comparison.measure_candidate(candidate("pillow"))
        same = replace(candidate("same"), adapter=OWN_LOADER)
        assert comparison.measure_candidate(same).left_out == 0
    assert (result.outcome, result.left_out) == (CandidateOutcome.MEASURED, 1)
    assert result.difference is not None
    assert not result.difference.same_shape


def test_a_candidate_may_crash_hang_or_fail(job: Job, tmp_path: Path) -> None:
    with comparing(job) as comparison:
        comparison.choose_images()
        crashed = comparison.measure_candidate(pil_that(tmp_path / "crashes", "os.abort()"))
        # short only here: patience also limits the time in which a process must start
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(comparison, "patience", 1.5)
            hung = comparison.measure_candidate(pil_that(tmp_path / "hangs", "time.sleep(60)"))
        failed = comparison.measure_candidate(pil_that(tmp_path / "fails", "raise ValueError('a bad day')"))
        after = comparison.measure_candidate(candidate("pillow-no-copy"))
    assert (crashed.outcome, crashed.gain) == (CandidateOutcome.CRASHED, None)
    assert "SIGABRT" in crashed.reason
    assert (hung.outcome, hung.gain) == (CandidateOutcome.HUNG, None)
    assert (failed.outcome, failed.gain) == (CandidateOutcome.FAILED, None)
    assert "a bad day" in failed.reason
    assert after.outcome is CandidateOutcome.MEASURED, "the baseline goes on"


@pytest.mark.parametrize(
    ("gives", "reason"),
    [
        ("numpy.zeros_like(picture)", "its picture of a.jpg is wrong: all of it has one colour"),
        ("picture // 3", "its picture of a.jpg is wrong: its mean is"),
        ("picture[:, :, ::-1]", ""),
    ],
)
def test_a_candidate_with_wrong_pictures_has_failed(job: Job, tmp_path: Path, gives: str, reason: str) -> None:
    """A stand-in decoder returns wrong pictures without an error, which no real decoder does any more."""
    (tmp_path / "simplejpeg.py").write_text(
        "import io\nimport numpy\nfrom PIL import Image\n\n\ndef decode_jpeg(data):\n"
        f"    picture = numpy.array(Image.open(io.BytesIO(data)).convert('RGB'))\n    return {gives}\n"
    )
    with comparing(job) as comparison:
        comparison.choose_images()
        result = comparison.measure_candidate(candidate("simplejpeg", site=(tmp_path,)))
    assert result.outcome is (CandidateOutcome.FAILED if reason else CandidateOutcome.MEASURED)
    assert reason in result.reason


def test_an_absent_candidate_has_its_reason(job: Job) -> None:
    absent = unsuited(candidate("x"), "it is set already")
    with comparing(job) as comparison:
        result = comparison.measure_candidate(absent)
    assert (result.outcome, result.reason) == (CandidateOutcome.UNSUITED, "it is set already")


@pytest.mark.parametrize(
    ("does", "became"), [("os.abort()", "crashed: killed by SIGABRT"), ("1/0", "failed"), ("os._exit(3)", "crashed")]
)
def test_without_a_baseline_the_comparison_fails(job: Job, tmp_path: Path, does: str, became: str) -> None:
    own = own_loader(tmp_path, job, f"import os\n\ndef load(path):\n    {does}\n")
    with pytest.raises(FailedError, match=became), comparing(own) as comparison:
        comparison.choose_images()


def test_no_more_images_than_there_is_time_for(job: Job) -> None:
    with comparing(job, replace(EFFORT, pass_seconds=0.0, least_sample=2)) as comparison:
        comparison.choose_images()
    assert comparison.indexes == (0, 1)

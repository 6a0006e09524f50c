"""A baseline and candidates in processes of their own: what is compared, and what becomes of those that die or hang."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from fastinstall.bench.candidates import OWN_LOADER, CandidateRun
from fastinstall.bench.comparison import start_comparison
from fastinstall.bench.effort import Schedule
from fastinstall.bench.loading import Job
from fastinstall.bench.materials import find_modules
from fastinstall.bench.report import Candidate, CandidateKind, CandidateOutcome, ImagePipeline
from fastinstall.core.errors import FailedError

VARIABLES = {"PATH": os.environ["PATH"]}
PACE = Schedule(rounds=1, starts=2, seconds=0.0, patience=20.0, start_patience=20.0)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Two JPEGs and a PNG."""
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
        variables=VARIABLES,
        tensor=False,
    )


def candidate_run(name: str, *, site: tuple[Path, ...] = (), formats: tuple[str, ...] = ()) -> CandidateRun:
    candidate = Candidate(name=name, title=name, kind=CandidateKind.DECODER, adapter=name, variables={})
    return CandidateRun(candidate=candidate, site=site, formats=formats)


def pil_that(directory: Path, does: str) -> CandidateRun:
    """Pillow, but for what happens when it opens an image."""
    (directory / "PIL").mkdir(parents=True)
    (directory / "PIL/__init__.py").write_text("__version__ = '0'\n")
    (directory / "PIL/Image.py").write_text(f"import os, time\n\ndef open(stream):\n    {does}\n")
    return candidate_run("pillow", site=(directory,))


def test_a_candidate_is_held_against_the_baseline(template: Job) -> None:
    with start_comparison(template, PACE) as run:
        run.choose_images(1.0, 3)
        result = run.measure_candidate(candidate_run("pillow-no-copy"))
    assert result.outcome is CandidateOutcome.MEASURED
    assert result.gain is not None
    assert result.gain.rounds == PACE.rounds * PACE.starts
    assert 0 < result.gain.low <= result.gain.ratio <= result.gain.high
    assert result.timing is not None
    assert result.timing.ms > 0
    assert "pillow" in result.versions
    assert result.difference is not None
    assert (result.difference.highest, result.difference.images) == (0, 3)


def test_images_that_a_candidate_cannot_read_are_counted_and_not_compared(template: Job) -> None:
    with start_comparison(template, PACE) as run:
        run.choose_images(1.0, 3)
        jpeg = run.measure_candidate(candidate_run("pillow-draft", formats=("JPEG",)))
        nothing = run.measure_candidate(candidate_run("pillow", formats=("WEBP",)))
    assert (jpeg.outcome, jpeg.left_out) == (CandidateOutcome.MEASURED, 1)
    assert jpeg.difference is not None
    assert jpeg.difference.images == 2
    assert nothing.outcome is CandidateOutcome.UNSUITED
    assert "WEBP" in nothing.reason


def test_an_image_that_only_the_candidate_fails_on_is_left_out_of_both(template: Job, tmp_path: Path) -> None:
    loader = tmp_path / "loader.py"
    loader.write_text("def load(path):\n    return open(path, 'rb').read(100)\n")
    (tmp_path / "odd.jpg").write_bytes(b"no image")
    images = (*template.images, tmp_path / "odd.jpg")
    own = replace(template, images=images, formats=(*template.formats, "JPEG"), loader=f"{loader}:load")
    with start_comparison(own, PACE) as run:
        run.choose_images(1.0, 4)
        result = run.measure_candidate(candidate_run("pillow"))
    assert (result.outcome, result.left_out) == (CandidateOutcome.MEASURED, 1)
    assert result.difference is not None
    assert not result.difference.same_shape


def test_a_candidate_that_crashes_or_hangs_has_an_outcome_and_the_baseline_goes_on(
    template: Job, tmp_path: Path
) -> None:
    with start_comparison(template, replace(PACE, patience=0.7)) as run:
        run.choose_images(1.0, 3)
        crashed = run.measure_candidate(pil_that(tmp_path / "crashes", "os.abort()"))
        hung = run.measure_candidate(pil_that(tmp_path / "hangs", "time.sleep(60)"))
        failed = run.measure_candidate(pil_that(tmp_path / "fails", "raise ValueError('a bad day')"))
        after = run.measure_candidate(candidate_run("pillow-no-copy"))
    assert (crashed.outcome, crashed.gain) == (CandidateOutcome.CRASHED, None)
    assert "SIGABRT" in crashed.reason
    assert (hung.outcome, hung.gain) == (CandidateOutcome.HUNG, None)
    assert (failed.outcome, failed.gain) == (CandidateOutcome.FAILED, None)
    assert "a bad day" in failed.reason
    assert after.outcome is CandidateOutcome.MEASURED


def test_what_is_missing_is_told_with_its_reason(template: Job) -> None:
    with start_comparison(template, PACE) as run:
        result = run.measure_candidate(replace(candidate_run("opencv-area"), absent="cv2 is not installed"))
        already = run.measure_candidate(
            replace(candidate_run("x"), absent="it is set already", absence=CandidateOutcome.UNSUITED)
        )
    assert (result.outcome, result.reason) == (CandidateOutcome.MISSING, "cv2 is not installed")
    assert (already.outcome, already.reason) == (CandidateOutcome.UNSUITED, "it is set already")


@pytest.mark.parametrize(
    ("does", "became"), [("os.abort()", "crashed: killed by SIGABRT"), ("time.sleep(60)", "hung"), ("1/0", "failed")]
)
def test_without_a_baseline_there_is_nothing_to_compare_with(
    template: Job, tmp_path: Path, does: str, became: str
) -> None:
    loader = tmp_path / "loader.py"
    loader.write_text(f"import os, time\n\ndef load(path):\n    {does}\n")
    own = replace(template, loader=f"{loader}:load")
    with pytest.raises(FailedError, match=became), start_comparison(own, replace(PACE, patience=0.5)) as run:
        run.choose_images(1.0, 3)


def test_images_that_the_baseline_fails_on_take_no_part(template: Job, tmp_path: Path) -> None:
    loader = tmp_path / "loader.py"
    loader.write_text("def load(path):\n    assert not path.endswith('b.jpg')\n    return open(path, 'rb').read()\n")
    with start_comparison(replace(template, loader=f"{loader}:load"), PACE) as run:
        first = run.choose_images(1.0, 3)
        assert list(first.failed) == ["1"]
        assert run.indexes == (0, 2)
        same = CandidateRun(candidate=replace(candidate_run("own").candidate, adapter=OWN_LOADER))
        assert run.measure_candidate(same).left_out == 0


def test_no_more_images_are_measured_than_there_is_time_for(template: Job) -> None:
    with start_comparison(template, PACE) as run:
        run.choose_images(0.0, 2)
    assert run.indexes == (0, 1)


def test_modules_of_the_target_are_looked_for_and_not_imported(tmp_path: Path) -> None:
    wanted = ("PIL", "json", "no_such_module", "no_such_package.module")
    assert find_modules(wanted, Path(sys.executable), VARIABLES) == {"PIL", "json"}
    assert find_modules(wanted, tmp_path / "no-python", VARIABLES) == frozenset()

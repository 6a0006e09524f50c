"""Packages that are brought to our cache for a measurement, by real pip."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from support.bench.adapters import adapter_named
from support.matrix.index import stub_wheel
from support.sandbox import Sandbox

from fastinstall.bench.comparison import compare_pictures
from fastinstall.bench.loading import Job, NotLoadedError, Picture, start_loading
from fastinstall.bench.materials import PackageFetching, fetch_packages
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import CandidateOutcome, ImagePipeline
from fastinstall.model.facts import Interpreter
from fastinstall.observe.interpreter import observe_interpreter

PYTHON = Path(sys.executable)
NEAR = 2.0
"""Levels that another libjpeg-turbo may be off, on the mean."""


@pytest.fixture(scope="module")
def interpreter() -> Interpreter:
    return observe_interpreter(PYTHON)


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    """A package with one that it requires."""
    directory = tmp_path / "wheelhouse"
    directory.mkdir()
    for name, requires in (("outerpart", "innerpart"), ("innerpart", "")):
        file, content = stub_wheel(name, "1.0", requires)
        (directory / file).write_bytes(content)
    return directory


@pytest.fixture
def fetching(interpreter: Interpreter, sandbox: Sandbox, wheelhouse: Path, tmp_path: Path) -> PackageFetching:
    """From the wheelhouse alone, into a cache of the test's own."""
    return PackageFetching(
        interpreter=interpreter,
        cache=tmp_path / "cache",
        variables=sandbox.variables({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheelhouse)}),
    )


def entries(cache: Path) -> list[Path]:
    """What lies in a cache, empty directories aside."""
    return [each for name in ("libraries", "tmp") for each in sorted((cache / name).glob("*"))]


def test_a_package_comes_with_what_it_requires_and_the_second_time_from_the_cache(
    fetching: PackageFetching, wheelhouse: Path
) -> None:
    place = fetch_packages("it", ("outerpart",), fetching)
    assert {each.name for each in place.glob("*.dist-info")} == {"outerpart-1.0.dist-info", "innerpart-1.0.dist-info"}
    assert entries(fetching.cache) == [place]
    for wheel in wheelhouse.iterdir():
        wheel.unlink()
    assert fetch_packages("it", ("outerpart",), fetching) == place


def test_what_cannot_be_fetched_is_the_outcome_in_pips_words_and_leaves_nothing(fetching: PackageFetching) -> None:
    with pytest.raises(NotLoadedError, match=r"No matching distribution .* nosuchpart") as caught:
        fetch_packages("it", ("outerpart", "nosuchpart"), fetching)
    assert caught.value.outcome is CandidateOutcome.MISSING
    assert entries(fetching.cache) == []


def test_what_is_not_in_the_cache_is_not_fetched_offline_and_says_what_does(fetching: PackageFetching) -> None:
    with pytest.raises(NotLoadedError, match=r"--quick .*bench --with simplejpeg") as caught:
        fetch_packages("simplejpeg", ("simplejpeg",), replace(fetching, offline=True))
    assert caught.value.outcome is CandidateOutcome.MISSING


def test_simplejpeg_is_brought_with_numpy_and_its_code_gives_the_same_picture(
    interpreter: Interpreter, sandbox: Sandbox, tmp_path: Path
) -> None:
    adapter, pipeline = adapter_named("simplejpeg"), ImagePipeline(shorter=48, crop=48, filter="lanczos")
    variables = sandbox.variables()
    place = fetch_packages(
        adapter.name, adapter.brings, PackageFetching(interpreter=interpreter, cache=sandbox.cache, variables=variables)
    )
    photo, code = tmp_path / "photo.jpg", tmp_path / "loader.py"
    Image.frombytes("RGB", (120, 120), bytes(each * 7 % 256 for each in range(120 * 120 * 3))).save(photo)
    code.write_text(render_code(adapter.name, pipeline), encoding="utf-8")
    job = Job(python=PYTHON, images=(photo,), site=(place,), pipeline=pipeline, tensor=False, variables=variables)
    with (
        start_loading(replace(job, adapter=adapter.name)) as theirs,
        start_loading(replace(job, loader=f"{code}:load")) as printed,
    ):
        found = theirs.pictures((0,))
        assert printed.pictures((0,)) == found
    with Image.open(photo) as opened:
        expected = opened.resize((48, 48), Image.Resampling.LANCZOS).tobytes()
    assert compare_pictures((Picture(shape=(48, 48, 3), data=expected),), found).mean < NEAR

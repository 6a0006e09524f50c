"""Two builds of the same inputs at different paths and times have identical bytes."""

import time
from pathlib import Path

import pytest
from support.build.tiny_pillow import tiny_request, tiny_sdist

from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.build_inputs import BuildResult
from fastinstall.wheelbuild.pipeline import build_wheel

DEBUG = "-g"  # the hardest case: debug information contains the directory in which the compiler ran


def build(directory: Path, sdist: Path, link: LinkMode) -> BuildResult:
    directory.mkdir(parents=True)
    return build_wheel(tiny_request(directory, sdist, link=link))


@pytest.mark.slow
@pytest.mark.parametrize("link", [LinkMode.BUNDLE, LinkMode.SYSTEM])
def test_two_builds_elsewhere_and_later_are_the_same_bytes(tmp_path: Path, link: LinkMode) -> None:
    sdist = tiny_sdist(tmp_path, override=DEBUG)
    first = build(tmp_path / "one", sdist, link)
    time.sleep(2)  # dates in zip archives have a resolution of two seconds
    second = build(tmp_path / "another/place/with/a/longer/name", sdist, link)
    assert first.wheel != second.wheel
    assert not second.from_cache
    assert (first.wheel.name, first.sha256) == (second.wheel.name, second.sha256)
    assert first.wheel.read_bytes() == second.wheel.read_bytes()

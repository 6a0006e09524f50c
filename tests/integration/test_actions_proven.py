"""Kernels that fail the proof are left out and the wheel is built again, or nothing is installed.

The proof is real: it runs on the official wheel and on a damaged copy. Only compilation is faked: the function that
builds a step's wheel returns one of these two wheels.
"""

import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fastinstall.core import files
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import UnprovenError
from fastinstall.core.events import Event, Noted
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import pip_settings
from fastinstall.index.run import Run
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.request import LinkMode
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.recipes import load_recipe
from fastinstall.observe.session import open_session
from fastinstall.setup.proven_wheel import ProofContext, make_proven_wheel
from fastinstall.setup.steps.build import Build
from fastinstall.wheelbuild.build_inputs import BuildResult

BLUR = ("PIL/ImageFilter.py", "return image.box_blur(xy)", "return image.box_blur((xy[0] + 1, xy[1] + 1))")
CROP = ("PIL/Image.py", "return im.crop((x0, y0, x1, y1))", "return im.crop((x0, y0, x1, y1)).transpose(0)")


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A run and its build step; records the events, and the kernels that each build leaves out."""

    run: Run
    build_context: ProofContext
    step: Build
    official: Path
    heard: list[Event]
    made: list[tuple[str, ...]] = field(default_factory=list)

    def maker(self, wheel_for: Callable[[Build], Path]) -> Callable[[Build], BuildResult]:
        """Return a build function that records the kernels left out, and returns the wheel chosen by `wheel_for`."""

        def make(step: Build) -> BuildResult:
            self.made.append(step.left_out)
            wheel = wheel_for(step)
            return BuildResult(wheel=wheel, sha256=files.sha256(wheel), from_cache=False)

        return make

    @property
    def warnings(self) -> str:
        """Return the messages of all warnings."""
        return "\n".join(event.message for event in self.heard if isinstance(event, Noted) and event.warning)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that all tests share; it keeps the proof results of the official wheel."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def scene(shared_cache: Path, cache: Path) -> Scene:
    heard: list[Event] = []
    interpreter = observe_interpreter(Path(sys.executable))
    recipe = load_recipe("pillow-fast", (recipes_directory(),))
    index = PackageIndex(settings=pip_settings(Path(sys.executable), os.environ), cache=shared_cache)
    official = index.releases(recipe, interpreter).wheels[0]
    path = index.fetch(official, shared_cache, heard.append)
    cpu = observe_cpu(allowed_cores=len(os.sched_getaffinity(0)))
    run = Run(
        session=open_session(os.environ).listening(heard.append),
        recipe=recipe,
        index=index,
        cache=cache,
        cpu=cpu,
    )
    build_context = ProofContext(interpreter=interpreter, cpu=cpu, reference=official)
    return Scene(run=run, build_context=build_context, step=_step(official), official=path, heard=heard)


def test_a_failing_kernel_is_left_out_and_the_rest_is_proven(scene: Scene, tmp_path: Path) -> None:
    damaged = _damaged(scene.official, tmp_path, *BLUR)
    built = make_proven_wheel(
        scene.step,
        scene.maker(lambda step: scene.official if "box-blur" in step.left_out else damaged),
        scene.build_context,
        scene.run,
    )
    assert built.wheel == scene.official
    assert scene.made == [(), ("box-blur",)]
    assert "without the kernels for box-blur" in scene.warnings


def test_what_is_proven_once_is_not_proven_again(scene: Scene) -> None:
    make = scene.maker(lambda _step: scene.official)
    make_proven_wheel(scene.step, make, scene.build_context, scene.run)
    scene.heard.clear()
    make_proven_wheel(scene.step, make, scene.build_context, scene.run)
    assert scene.heard == []


def test_with_no_kernel_to_blame_the_failure_names_the_operation(scene: Scene, tmp_path: Path) -> None:
    damaged = _damaged(scene.official, tmp_path, *CROP)
    with pytest.raises(UnprovenError, match="crop") as caught:
        make_proven_wheel(scene.step, scene.maker(lambda _step: damaged), scene.build_context, scene.run)
    assert caught.value.version == scene.step.version
    assert any("crop/" in line for line in caught.value.details)


def test_a_recipe_without_kernels_skips_the_official_comparison(scene: Scene, tmp_path: Path) -> None:
    plain = replace(scene.run, recipe=load_recipe("pillow-simd", (recipes_directory(),)))
    damaged = _damaged(scene.official, tmp_path, *BLUR)
    built = make_proven_wheel(scene.step, scene.maker(lambda _step: damaged), scene.build_context, plain)
    assert built.wheel == damaged


def _step(official: Artefact) -> Build:
    return Build(
        recipe="pillow-fast",
        source=None,
        base_wheel=official,
        distribution="pillow",
        version=official.version,
        targets=(LevelTarget(level="x86-64-v2", cflags=(), ldflags=()),),
        link=LinkMode.BUNDLE,
        libraries=(),
        jobs=1,
        reason="a test",
    )


def _damaged(official: Path, directory: Path, name: str, old: str, new: str) -> Path:
    """Return a copy of the official wheel with one line of its Python code changed."""
    target = directory / "damaged" / official.name
    target.parent.mkdir()
    shutil.copy(official, target)
    with zipfile.ZipFile(official) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as copy:
        for member in archive.infolist():
            content = archive.read(member)
            if member.filename == name:
                assert old.encode() in content, f"{name} of this version has no {old!r}"
                content = content.replace(old.encode(), new.encode())
            copy.writestr(member, content)
    return target

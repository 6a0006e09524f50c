"""Where a project makes the environment, a plan pins it there or warns that its next install undoes the setup."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from builders import changed, recipe, stock_facts, wish

from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import PinState, Project
from fastinstall.plan.plan import Situation
from fastinstall.plan.planner import make_plan
from fastinstall.steps.pin_project import PinProject

ROOT = PurePosixPath("/srv/images")
SOURCE = Artefact(
    name="pillow-simd",
    version="12.1.1.post0",
    filename="pillow_simd-12.1.1.post0.tar.gz",
    url="https://index.example.org/pillow_simd-12.1.1.post0.tar.gz",
    sha256="5" * 64,
)
SITUATION = Situation(
    facts=stock_facts(),
    recipe=recipe(),
    wish=wish(),
    releases=Releases(sources=(SOURCE,), wheels=(), origin="the index"),
)


def project(manager: str = "uv") -> Project:
    manifest, lock = ROOT / "pyproject.toml", ROOT / f"{manager}.lock"
    return Project(directory=ROOT, manager=manager, manifest=manifest, lock=lock, sync=f"{manager} sync")


def test_without_a_project_there_is_neither_step_nor_warning() -> None:
    made = make_plan(replace(SITUATION, wish=replace(wish(), pin=False)))
    assert not any(isinstance(step, PinProject) for step in made.steps)
    assert not any("project" in warning for warning in made.warnings)


@pytest.mark.parametrize("manager", ["uv", "poetry", "pdm", "pixi"])
def test_a_project_without_a_pin_is_warned_of_with_the_command_that_makes_one(manager: str) -> None:
    made = make_plan(replace(SITUATION, project=project(manager)))
    (warning,) = (warning for warning in made.warnings if " project: `" in warning)
    assert warning.startswith(f"{ROOT} is a {manager} project: `{manager} ")
    assert warning.endswith("fastinstall guard install --pin --prefix /srv/images/env")


def test_a_project_that_is_pinned_is_not_warned_of() -> None:
    pin = PinState(kind="uv", file=ROOT / "pyproject.toml", requirement="pillow==12.1.1+simd.v3")
    made = make_plan(replace(SITUATION, project=project(), facts=replace(changed(stock_facts(), {}), pins=(pin,))))
    assert not any(" project: `" in warning for warning in made.warnings)


def test_a_pin_that_is_asked_for_is_the_last_step_and_names_the_files_that_change() -> None:
    made = make_plan(replace(SITUATION, project=project(), wish=replace(wish(), pin=True)))
    step = made.steps[-1]
    assert isinstance(step, PinProject)
    assert [file.name for file in step.files] == ["pyproject.toml", "uv.lock"]
    assert step.requirement.startswith("pillow==12.1.1+simd.")
    assert "security updates" in step.reason

"""Wheels that a wheelhouse already has: a wheel counts if its name, its checksum and its label agree."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.values.fleet_cases import NOW, facts_document

from fastinstall.core.directories import recipes_directory
from fastinstall.fleet.fleet import FleetArtefact
from fastinstall.fleet.hosts import FleetHost, read_host_facts
from fastinstall.fleet.wheel_choice import plan_fleet
from fastinstall.fleet.wheels import find_existing_wheel
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.recipes import load_recipe

TAGS = "cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64"


@pytest.fixture
def recipe() -> Recipe:
    return load_recipe("pillow-fast", (recipes_directory(),))


@pytest.fixture
def artefact(recipe: Recipe) -> FleetArtefact:
    host = read_host_facts(facts_document("web1", {}))
    assert isinstance(host, FleetHost)
    return plan_fleet([host], (), recipe, Request(), now=NOW).artefacts[0]


def _put(directory: Path, version: str, *, tags: str = TAGS, made: object = None, listed: bool = True) -> str:
    """Write a wheel that contains only its label, and list its checksum; with `listed=False`, list a wrong one."""
    name = f"pillow-{version}-{tags}.whl"
    told = {"recipe": "pillow-fast", "link": "bundle"} if made is None else made
    with zipfile.ZipFile(directory / name, "w") as archive:
        archive.writestr(f"pillow-{version}.dist-info/fastinstall.json", json.dumps(told))
    digest = hashlib.sha256((directory / name).read_bytes()).hexdigest()
    with (directory / "SHA256SUMS").open("a") as sums:
        sums.write(f"{digest if listed else 64 * '0'}  {name}\n")
    return name


def test_the_newest_wheel_with_the_levels_is_there(tmp_path: Path, recipe: Recipe, artefact: FleetArtefact) -> None:
    _put(tmp_path, "9.5.0+simd.v3")
    name = _put(tmp_path, "13.0.0+simd.v3")
    found = find_existing_wheel(tmp_path, artefact, recipe, Request())
    assert found is not None
    assert found.wheel == name
    assert found.sha256 == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


def test_a_named_version_is_the_one_that_counts(tmp_path: Path, recipe: Recipe, artefact: FleetArtefact) -> None:
    name = _put(tmp_path, "12.1.1+simd.v3")
    _put(tmp_path, "13.0.0+simd.v3")
    found = find_existing_wheel(tmp_path, artefact, recipe, Request(version="12.1.1"))
    assert found is not None
    assert found.wheel == name
    assert find_existing_wheel(tmp_path, artefact, recipe, Request(version="12.2.0")) is None


@pytest.mark.parametrize(
    "wheel",
    [
        {"version": "13.0.0+simd.v2.v3"},
        {"version": "13.0.0+simd.v2"},
        {"version": "13.0.0"},
        {"version": "13.0.0+opt.v3"},
        {"tags": TAGS.replace("cp311", "cp312")},
        {"tags": TAGS.replace("-cp311-", "-cp311t-", 1)},
        {"made": {"recipe": "pillow-simd", "link": "bundle"}},
        {"made": {"recipe": "pillow-fast", "link": "system"}},
        {"made": []},
    ],
)
def test_another_wheel_is_not_taken_for_it(
    tmp_path: Path, recipe: Recipe, artefact: FleetArtefact, wheel: dict[str, Any]
) -> None:
    _put(tmp_path, **{"version": "13.0.0+simd.v3", **wheel})
    assert find_existing_wheel(tmp_path, artefact, recipe, Request()) is None


def test_a_changed_or_unlisted_wheel_is_built_again(tmp_path: Path, recipe: Recipe, artefact: FleetArtefact) -> None:
    assert find_existing_wheel(tmp_path, artefact, recipe, Request()) is None
    name = _put(tmp_path, "13.0.0+simd.v3", listed=False)
    assert find_existing_wheel(tmp_path, artefact, recipe, Request()) is None
    (tmp_path / name).unlink()
    assert find_existing_wheel(tmp_path, artefact, recipe, Request()) is None


@pytest.mark.parametrize("asked", [Request(upgrade=True), Request(require=("webp",)), Request(link=LinkMode.SYSTEM)])
def test_a_request_that_a_name_cannot_answer_asks_the_build(
    tmp_path: Path, recipe: Recipe, artefact: FleetArtefact, asked: Request
) -> None:
    _put(tmp_path, "13.0.0+simd.v3")
    assert find_existing_wheel(tmp_path, artefact, recipe, asked) is None

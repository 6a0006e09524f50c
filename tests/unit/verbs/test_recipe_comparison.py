"""The recipes side by side, from a wheelhouse of sdists that are named right and hold next to nothing."""

import io
import tarfile
from pathlib import Path

import pytest
from support.values.builders import changed, healthy_facts

from fastinstall.core.codec import document, dump
from fastinstall.core.directories import recipes_directory
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request
from fastinstall.model.speed import SpeedTable
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.session import Session
from fastinstall.verbs.recipe_comparison import RecipePreview, compare_recipes

SDISTS = ("pillow-13.0.0", "pillow-12.1.1", "pillow_simd-12.1.1.post0")
WHEEL = "pillow-{}-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
SPEED = SpeedTable(
    baseline="pillow 13.0.0 (wheel)",
    candidate="pillow 13.0.0+simd.v3",
    cpu=healthy_facts().cpu.name,
    measured_at="2026-11-21T10:00:00+00:00",
    geomean=2.0,
    rows=(),
)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    directory = tmp_path / "house"
    directory.mkdir()
    for name in SDISTS:
        _write_sdist(directory / f"{name}.tar.gz", name)
    for version in ("13.0.0", "12.1.1"):
        _write_wheel(directory / WHEEL.format(version))
    return directory


def _write_sdist(path: Path, name: str) -> None:
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(f"{name}/PKG-INFO")
        archive.addfile(member, io.BytesIO())


def _write_wheel(path: Path) -> None:
    path.write_bytes(b"PK\x05\x06" + bytes(18))  # an archive without a member


def compared(house: Path, facts: Facts) -> dict[str, RecipePreview]:
    session = Session(
        variables={"FASTINSTALL_CACHE_DIR": str(house.parent / "cache")},
        recipe_directories=(recipes_directory(),),
        tool_prefix=Path("/opt/fastinstall"),
        tool_python=Path("/opt/fastinstall/bin/python"),
    )
    request = Request(offline=True, wheelhouse=house, version="12.1.1.post0", levels=("x86-64-v4",))
    offers = compare_recipes(session, NamedTarget(new=house / "env"), facts, request)
    return {offer.recipe.name: offer for offer in offers}


def test_each_recipe_shows_the_version_it_builds_and_advisories(house: Path) -> None:
    offers = compared(house, healthy_facts())
    versions = {name: offer.choice.version for name, offer in offers.items() if offer.choice is not None}
    assert versions == {"pillow-fast": "13.0.0", "pillow-simd": "12.1.1.post0", "pillow": "13.0.0"}
    assert next(iter(offers)) == "pillow-fast", "the recommended one comes first"
    assert offers["pillow-fast"].advisories == ()
    assert len(offers["pillow-simd"].advisories) > 20


def test_a_measured_speed_is_shown_only_for_its_version_and_cpu(house: Path) -> None:
    place = house.parent / "cache" / "speed" / "1.json"
    place.parent.mkdir(parents=True)
    place.write_text(dump(document("speed", SPEED)))
    (place.parent / "2.json").write_text("not a table")
    told = {name: offer.speed for name, offer in compared(house, healthy_facts()).items()}
    assert told == {"pillow-fast": SPEED, "pillow-simd": None, "pillow": None}
    elsewhere = changed(healthy_facts(), {"cpu": {"name": "another CPU"}})
    assert compared(house, elsewhere)["pillow-fast"].speed is None


def test_an_unfit_recipe_says_why_without_stopping_the_others(house: Path) -> None:
    needy = {"name": "oldtool", "requirement": "pillow<13"}
    facts = changed(healthy_facts(), {"stack": {"dependants": [needy]}})
    offers = compared(house, facts)
    assert offers["pillow"].choice is not None
    assert offers["pillow"].choice.version == "12.1.1"
    (house / f"{SDISTS[1]}.tar.gz").unlink()
    offers = compared(house, facts)
    assert offers["pillow"].choice is None
    assert "oldtool requires pillow<13" in offers["pillow"].problem
    assert offers["pillow-simd"].choice is not None

"""Which releases fit a recipe, a CPU and a request, and what the label of our wheels says."""

from dataclasses import replace
from pathlib import Path

import pytest

from fastinstall.elf.cpu import Cpu
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.recipe import make_labelled_version, parse_labelled_levels
from fastinstall.model.recipe_documents import parse_recipe
from fastinstall.model.request import Request
from fastinstall.setup.decide.build import select_buildable

FILE = Path(__file__).parents[3] / "cases" / "recipes" / "fork.toml"
RECIPE = parse_recipe(FILE.read_text(encoding="utf-8"), FILE)
HASWELL = Cpu(architecture="x86_64", flags=("sse4_2", "avx2", "fma"), level="x86-64-v3")
NEHALEM = Cpu(architecture="x86_64", flags=("sse4_2",), level="x86-64-v2")
V2, V3, V4 = "x86-64-v2", "x86-64-v3", "x86-64-v4"


def artefact(name: str, version: str) -> Artefact:
    return Artefact(name=name, version=version, filename=f"{name}-{version}", url="https://example.org", sha256="")


def prebuilt(*versions: str) -> Releases:
    wheels = tuple(artefact("pillow", version) for version in versions)
    return Releases(sources=(), wheels=(), prebuilt=wheels, origin="a test")


def left(offered: Releases, cpu: Cpu = HASWELL, request: Request | None = None) -> list[str]:
    return [wheel.version for wheel in select_buildable(offered, RECIPE, cpu, request or Request()).prebuilt]


def test_only_sources_that_the_recipe_cannot_build_are_dropped() -> None:
    fitting, wheel = artefact("fork", "12.1.1.post0"), artefact("pillow", "12.1.1")
    offered = Releases(
        sources=(fitting, artefact("fork", "9.5.0.post2")),
        wheels=(wheel,),
        statics={"zlib": (wheel,)},
        origin="a test",
    )
    assert select_buildable(offered, RECIPE, HASWELL, Request()) == replace(offered, sources=(fitting,))


@pytest.mark.parametrize(
    ("cpu", "version"),
    [(HASWELL, "12.1.1+simd.v3"), (HASWELL, "12.1.1+simd.v2.v3.v4"), (NEHALEM, "12.1.1+simd.v2.v3")],
)
def test_a_wheel_that_runs_here_at_its_best_is_left(cpu: Cpu, version: str) -> None:
    assert left(prebuilt(version), cpu) == [version]


@pytest.mark.parametrize(
    ("cpu", "version"),
    [
        (HASWELL, "12.1.1+simd.v2"),
        (HASWELL, "12.1.1+simd.v4"),
        (NEHALEM, "12.1.1+simd.v3"),
        (HASWELL, "12.1.1+simd.v9"),
        (HASWELL, "12.1.1+other.v3"),
        (HASWELL, "12.1.1+simd"),
    ],
)
def test_a_wheel_that_does_not_is_not(cpu: Cpu, version: str) -> None:
    assert left(prebuilt(version), cpu) == []


def test_the_wheel_with_usual_levels_wins_per_version_and_name() -> None:
    offered = prebuilt(
        "12.1.1+simd.v3", "12.1.1+simd.v2.v3.v4", "12.1.1+simd.v2.v3", "12.0.0+simd.v2.v3.v4", "12.0.0+simd.v3"
    )
    named = replace(offered, prebuilt=(*offered.prebuilt, artefact("fork", "12.1.1.post0+simd.v3")))
    assert left(named) == ["12.1.1+simd.v2.v3", "12.0.0+simd.v3", "12.1.1.post0+simd.v3"]


@pytest.mark.parametrize("asked", [Request(levels=(V4, V2)), Request(levels=(V2, V4, V2))])
def test_where_levels_are_named_a_wheel_has_exactly_these(asked: Request) -> None:
    assert left(prebuilt("12.1.1+simd.v2.v3.v4", "12.1.1+simd.v2.v4", "12.1.1+simd.v2"), request=asked) == [
        "12.1.1+simd.v2.v4"
    ]


@pytest.mark.parametrize(
    ("version", "levels", "name", "labelled"),
    [
        ("12.1.1.post0", (V3,), "pillow", "12.1.1+simd.v3"),
        ("13.0.0", (V2, V3), "pillow", "13.0.0+simd.v2.v3"),
        ("12.1.1.post0", (V2, V3, V4), "fork", "12.1.1.post0+simd.v2.v3.v4"),
    ],
)
def test_a_label_tells_its_levels_and_is_read_again(
    version: str, levels: tuple[str, ...], name: str, labelled: str
) -> None:
    assert make_labelled_version(RECIPE, version, levels, name) == labelled
    assert parse_labelled_levels(RECIPE, labelled) == levels

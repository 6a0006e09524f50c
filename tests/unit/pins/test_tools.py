"""How projects of uv, poetry, pdm and pixi are pinned, and what prevents it."""

import re
import tomllib
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from packaging.markers import Marker
from support.values.builders import conda_stack

from fastinstall.core.errors import RefusedError
from fastinstall.model.conda import CondaPackage
from fastinstall.pins.manifests import merge_lines
from fastinstall.pins.tools import TOOLS, PinnedBuild, PinTool, parse_pinned_build

WHEEL = "pillow-13.0.0+simd.v2.v3-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
HOUSE = PurePosixPath("wheels")
CHANNEL = PurePosixPath("channel")
PACKAGE = conda_stack().package
WORKSPACE = '[workspace]\nchannels = ["conda-forge"] # ours\nplatforms = ["linux-64"]\n[dependencies]\npillow = "*"\n'


WHEEL_TOOLS = tuple(tool.name for tool in TOOLS.values() if not tool.takes_packages)


def known(name: str) -> PinTool[Any]:
    return TOOLS[name]


def pin(manager: str, text: str, pinned: PinnedBuild | CondaPackage, place: PurePosixPath | None = None) -> str:
    """Return the manifest `text` with the lines of the pin."""
    place = place or (CHANNEL if manager == "pixi" else HOUSE)
    return merge_lines(
        text, known(manager).format_lines(text, pinned, place), file=PurePosixPath("/srv/project/pyproject.toml")
    )


@pytest.fixture
def build() -> PinnedBuild:
    return parse_pinned_build(WHEEL)


@pytest.mark.parametrize(
    ("wheel", "name", "version", "python", "machine"),
    [
        (WHEEL, "pillow", "13.0.0+simd.v2.v3", "3.11", "x86_64"),
        ("pillow-12.1.1+simd.v3-cp313-cp313-linux_x86_64.whl", "pillow", "12.1.1+simd.v3", "3.13", "x86_64"),
        ("pillow_simd-9.5-cp310-cp310-manylinux2014_aarch64.whl", "pillow-simd", "9.5", "3.10", "aarch64"),
    ],
)
def test_a_wheel_says_by_its_name_where_it_runs(wheel: str, name: str, version: str, python: str, machine: str) -> None:
    found = parse_pinned_build(wheel)

    assert (found.name, found.version, found.python, found.machine) == (name, version, python, machine)


@pytest.mark.parametrize(
    "wheel", ["pillow-13.0.0-py3-none-any.whl", "pillow-13.0.0-cp311-cp311-win_amd64.whl", "pillow-13.0.0.tar.gz"]
)
def test_what_is_no_wheel_of_ours_has_no_place(wheel: str) -> None:
    with pytest.raises(ValueError, match=re.escape(wheel)):
        parse_pinned_build(wheel)


@pytest.mark.parametrize("python", ["3.10.4", "3.11.0", "3.11.9", "3.12.1"])
@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("implementation", ["CPython", "PyPy"])
def test_exactly_one_marker_is_true_anywhere(
    build: PinnedBuild, python: str, platform: str, machine: str, implementation: str
) -> None:
    place = {
        "python_full_version": python,
        "sys_platform": platform,
        "platform_machine": machine,
        "platform_python_implementation": implementation,
    }
    here = python.startswith("3.11") and (platform, machine, implementation) == ("linux", "x86_64", "CPython")

    true = [marker for marker in (build.here, *build.elsewhere) if Marker(marker).evaluate(place)]

    assert len(true) == 1
    assert (true[0] == build.here) is here


ENVIRONMENTS = {"hatch": "[tool.hatch.envs.default]\n"}


@pytest.mark.parametrize("manager", WHEEL_TOOLS)
@pytest.mark.parametrize("text", ["", '[project]\nname = "x"\ndependencies = ["pillow>=8"]\n'])
def test_what_a_manifest_then_says_can_be_read_and_is_ours(build: PinnedBuild, manager: str, text: str) -> None:
    text += ENVIRONMENTS.get(manager, "")

    edited = pin(manager, text, build)

    assert "wheels" in edited
    assert edited.count("holds back every other Pillow") >= 1
    assert known(manager).find_pinned(edited) == build.version
    assert known(manager).find_pinned(text) == ""


@pytest.mark.parametrize("manager", WHEEL_TOOLS)
def test_a_pin_of_another_build_of_ours_is_replaced(build: PinnedBuild, manager: str) -> None:
    text = f'[project]\nname = "x"\n{ENVIRONMENTS.get(manager, "")}'
    other = replace(build, version="12.1.1+simd.v3", wheel=WHEEL.replace("13.0.0+simd.v2.v3", "12.1.1+simd.v3"))

    edited = pin(manager, pin(manager, text, other), build)

    assert "12.1.1" not in edited
    assert tomllib.loads(edited) == tomllib.loads(pin(manager, text, build))


def test_uv_gets_a_constraint_for_each_place(build: PinnedBuild) -> None:
    said = tomllib.loads(pin("uv", "", build))["tool"]["uv"]

    pinned, *excluded = said["constraint-dependencies"]
    assert pinned.startswith("pillow==13.0.0+simd.v2.v3 ; ")
    assert len(excluded) == 3
    assert all(line.startswith("pillow!=13.0.0+simd.v2.v3 ; ") for line in excluded)
    assert said["find-links"] == ["wheels"]


@pytest.mark.parametrize(
    ("manager", "text", "shown"),
    [
        ("poetry", '[tool.poetry.group.fastinstall.dependencies]\npillow = "*"\n', "group.fastinstall"),
        ("uv", '[tool.uv]\nfind-links = "x"\n', "find-links: x"),
        ("hatch", '[tool.hatch.envs.default.env-vars]\nUV_FIND_LINKS = "x"\n', "UV_FIND_LINKS: x"),
    ],
)
def test_a_setting_in_the_way_is_shown(build: PinnedBuild, manager: str, text: str, shown: str) -> None:
    with pytest.raises(RefusedError) as refused:
        pin(manager, text, build)

    assert shown in refused.value.message


def test_environments_in_pyproject_are_not_hidden_by_hatch_toml(build: PinnedBuild) -> None:
    with pytest.raises(RefusedError, match=r"no \[envs\]"):
        known("hatch").format_lines("[version]\n", build, HOUSE)


def test_pixi_gets_a_channel_before_the_others_and_a_build() -> None:
    said = tomllib.loads(pin("pixi", WORKSPACE, PACKAGE))

    assert said["workspace"]["channels"] == ["./channel", "conda-forge"]
    assert said["target"]["linux-64"]["dependencies"] == {"pillow": {"version": "*", "build": "simd_*"}}
    assert said["dependencies"] == {"pillow": "*"}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (WORKSPACE.replace("[workspace]", "[project]"), ("project",)),
        (
            WORKSPACE.replace("[workspace]", "[tool.pixi.workspace]").replace("[dep", "[tool.pixi.dep"),
            ("tool", "pixi", "workspace"),
        ),
        (
            WORKSPACE.replace("[workspace]", "[tool.pixi.project]").replace("[dep", "[tool.pixi.dep"),
            ("tool", "pixi", "project"),
        ),
    ],
)
def test_pixi_s_table_is_found_whatever_it_is_called(text: str, path: tuple[str, ...]) -> None:
    edited = pin("pixi", text, PACKAGE)

    assert known("pixi").find_pinned(edited) == "simd_*"
    of_pixi = tomllib.loads(edited)
    for name in path[:-1]:
        of_pixi = of_pixi[name]
    assert of_pixi[path[-1]]["channels"] == ["./channel", "conda-forge"]
    assert "pillow" in of_pixi["target"]["linux-64"]["dependencies"]


def test_an_existing_pixi_platform_entry_for_pillow_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"already sets target\.linux-64\.dependencies\.pillow: 12\.\*"):
        pin("pixi", f'{WORKSPACE}\n[target.linux-64.dependencies]\npillow = "12.*"\n', PACKAGE)


@pytest.mark.parametrize(
    ("manager", "said"),
    [
        ("uv", '"/srv/our wheels"'),
        ("poetry", f'path = "/srv/our wheels/{WHEEL}"'),
        ("pdm", 'url = "file:///srv/our%20wheels"'),
        ("hatch", 'PIP_FIND_LINKS = "file:///srv/our%20wheels"'),
        ("pixi", '"file:///srv/our%20wheels"'),
    ],
)
def test_a_directory_elsewhere_is_named_as_each_tool_reads_it(manager: str, said: str) -> None:
    place = PurePosixPath("/srv/our wheels")
    pinned = PACKAGE if manager == "pixi" else parse_pinned_build(WHEEL)
    text = WORKSPACE + ENVIRONMENTS.get(manager, "")
    assert said in pin(manager, text, pinned, place)

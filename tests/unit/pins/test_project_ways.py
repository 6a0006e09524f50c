"""How projects of uv, poetry, pdm and pixi are pinned, and what is in the way of it."""

import tomllib
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from packaging.markers import Marker
from support.values.builders import conda_stack

from fastinstall.core.errors import RefusedError
from fastinstall.pins.manifests import ManifestFormError, add, find_table
from fastinstall.pins.markers import PinnedBuild, PinnedPackage, parse_pinned_build
from fastinstall.pins.tool import Manifest, PinTool
from fastinstall.pins.tools import tools

WHEEL = "pillow-13.0.0+simd.v2.v3-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
HOUSE = PurePosixPath("wheels")
PACKAGE = PinnedPackage(package=conda_stack().package, directory=PurePosixPath("channel"))
WORKSPACE = '[workspace]\nchannels = ["conda-forge"] # ours\nplatforms = ["linux-64"]\n[dependencies]\npillow = "*"\n'


WHEEL_TOOLS = tuple(tool.name for tool in tools().values() if not tool.takes_packages)


def known(name: str) -> PinTool[Any]:
    return tools()[name]


def manifest(text: str, **beside: str) -> Manifest:
    return Manifest(path=PurePosixPath("/srv/project/pyproject.toml"), text=text, beside=beside)


@pytest.fixture
def build() -> PinnedBuild:
    return parse_pinned_build(WHEEL, HOUSE)


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
    assert found.requirement == f"{name}=={version}"


@pytest.mark.parametrize(
    "wheel", ["pillow-13.0.0-py3-none-any.whl", "pillow-13.0.0-cp311-cp311-win_amd64.whl", "pillow-13.0.0.tar.gz"]
)
def test_what_is_no_wheel_of_ours_has_no_place(wheel: str) -> None:
    with pytest.raises(ValueError, match="not a wheel of CPython for Linux"):
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


@pytest.mark.parametrize(
    ("manager", "text", "key"),
    [
        ("uv", "[tool]\nuv = 3\n", "tool.uv"),
        ("uv", "[tool.uv]\nsources = 3\n", "tool.uv.sources"),
        ("uv", "[tool.uv]\nconstraint-dependencies = 3\n", "tool.uv.constraint-dependencies"),
        ("pdm", "[tool.pdm.resolution]\noverrides = 3\n", "tool.pdm.resolution.overrides"),
        ("pdm", "[tool.pdm.resolution]\nexcludes = 3\n", "tool.pdm.resolution.excludes"),
        ("pdm", "[tool.pdm]\nsource = 3\n", "tool.pdm.source"),
        ("poetry", "[tool.poetry]\ngroup = 3\n", "tool.poetry.group"),
        ("poetry", "[tool.poetry.group.a]\ndependencies = 3\n", "tool.poetry.group.a.dependencies"),
        ("poetry", "[project]\ndependencies = 3\n", "project.dependencies"),
        ("hatch", "[tool.hatch.envs]\ndefault = 3\n", "tool.hatch.envs.default"),
        ("hatch", "[tool.hatch.envs.default]\ndependencies = 3\n", "dependencies"),
    ],
)
def test_a_table_of_another_form_is_named(build: PinnedBuild, manager: str, text: str, key: str) -> None:
    with pytest.raises(ManifestFormError, match=rf"^{key}: expected "):
        known(manager).refuse_foreign(manifest(text), build)


@pytest.mark.parametrize("text", ["[project]\ndependencies = [3]\n", "[tool.pdm.resolution]\nexcludes = [3]\n"])
def test_what_is_no_requirement_is_no_matter(build: PinnedBuild, text: str) -> None:
    for manager in WHEEL_TOOLS:
        known(manager).refuse_foreign(manifest(text), build)


@pytest.mark.parametrize("manager", WHEEL_TOOLS)
@pytest.mark.parametrize("text", ["", '[project]\nname = "x"\ndependencies = ["pillow>=8"]\n'])
def test_what_a_manifest_then_says_can_be_read_and_is_ours(build: PinnedBuild, manager: str, text: str) -> None:
    tool, pinned = known(manager), build
    tool.refuse_foreign(manifest(text), pinned)

    edited = add(text, tool.list_additions(text, pinned))

    assert "wheels" in edited
    assert tool.find_pinned(edited) == build.version
    assert tool.find_pinned(text) == ""
    with pytest.raises(RefusedError):
        tool.refuse_foreign(manifest(edited), pinned)


def test_uv_gets_a_constraint_for_each_place(build: PinnedBuild) -> None:
    said = tomllib.loads(add("", known("uv").list_additions("", build)))["tool"]["uv"]

    pinned, *excluded = said["constraint-dependencies"]
    assert pinned.startswith("pillow==13.0.0+simd.v2.v3 ; ")
    assert len(excluded) == 3
    assert all(line.startswith("pillow!=13.0.0+simd.v2.v3 ; ") for line in excluded)
    assert said["find-links"] == ["wheels"]


@pytest.mark.parametrize(
    ("manager", "text", "shown"),
    [
        ("uv", '[tool.uv]\nconstraint-dependencies = ["numpy<2", "Pillow <13"]\n', "'Pillow <13'"),
        ("uv", '[tool.uv]\noverride-dependencies = ["pillow==12"]\n', "'pillow==12'"),
        ("uv", '[tool.uv.sources]\npillow = { git = "here" }\n', "git"),
        ("poetry", '[tool.poetry.dependencies]\npillow = { path = "x.whl" }\n', "x.whl"),
        ("poetry", '[tool.poetry.dependencies]\nPillow = [{ url = "a", markers = "b" }]\n', "url"),
        ("poetry", '[tool.poetry.group.dev.dependencies]\npillow = { git = "here" }\n', "group.dev"),
        ("poetry", '[project]\ndependencies = ["pillow @ https://a/b.whl"]\n', "https://a/b.whl"),
        ("poetry", '[tool.poetry.group.fastinstall.dependencies]\npillow = "*"\n', "group.fastinstall"),
        ("pdm", '[tool.pdm.resolution.overrides]\npillow = "12"\n', "'12'"),
        ("pdm", '[tool.pdm.resolution]\nexcludes = ["pillow"]\n', "excludes"),
        ("pdm", '[[tool.pdm.source]]\nname = "fastinstall"\nurl = "a"\n', "already has one named"),
        ("hatch", '[tool.hatch.envs.default]\ndependencies = ["Pillow<13"]\n', "'Pillow<13'"),
        ("hatch", '[tool.hatch.envs.default.env-vars]\nUV_FIND_LINKS = "x"\n', "UV_FIND_LINKS"),
        ("hatch", "[tool.hatch]\nlock-envs = true\n", "locked"),
    ],
)
def test_a_setting_in_the_way_is_shown_with_ours(build: PinnedBuild, manager: str, text: str, shown: str) -> None:
    with pytest.raises(RefusedError) as refused:
        known(manager).refuse_foreign(manifest(text), build)

    assert shown in refused.value.message
    assert any("13.0.0+simd.v2.v3" in line for line in refused.value.details)


@pytest.mark.parametrize(
    ("manager", "text"),
    [
        (
            "uv",
            '[tool.uv]\nconstraint-dependencies = ["pillow-heif<1"]\n',
        ),
        ("poetry", '[tool.poetry.dependencies]\npillow = "^13"\n'),
        ("pdm", '[[tool.pdm.source]]\nname = "mine"\nurl = "a"\n'),
    ],
)
def test_what_only_looks_like_it_is_not_in_the_way(build: PinnedBuild, manager: str, text: str) -> None:
    known(manager).refuse_foreign(manifest(text), build)


def test_a_uv_toml_has_to_name_the_directory(build: PinnedBuild) -> None:
    known("uv").refuse_foreign(manifest("", **{"uv.toml": 'find-links = ["theirs", "wheels"]\n'}), build)

    with pytest.raises(RefusedError, match=r"/srv/project/uv\.toml"):
        known("uv").refuse_foreign(manifest("", **{"uv.toml": "no-cache = true\n"}), build)


@pytest.mark.parametrize("requirement", ["pillow>=12", "pillow==13.0.0", "numpy<2", "pillow @ file:a", "pillow[x]"])
def test_pdm_is_pinned_where_everybody_can_live_with_the_build(build: PinnedBuild, requirement: str) -> None:
    known("pdm").prepare_lock("", _pdm_lock(requirement), build)


@pytest.mark.parametrize("requirement", ["pillow<13", "Pillow>=13.1", "pillow!=13.0.0"])
def test_pdm_is_not_pinned_against_somebody(build: PinnedBuild, requirement: str) -> None:
    with pytest.raises(RefusedError, match="frame requires"):
        known("pdm").prepare_lock("", _pdm_lock(requirement), build)
    with pytest.raises(RefusedError, match="the project requires"):
        known("pdm").prepare_lock(f'[project]\ndependencies = ["{requirement}"]\n', "", build)


def test_pixi_gets_a_channel_before_the_others_and_a_build() -> None:
    known("pixi").refuse_foreign(manifest(WORKSPACE), PACKAGE)

    said = tomllib.loads(add(WORKSPACE, known("pixi").list_additions(WORKSPACE, PACKAGE)))

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
    edited = add(text, known("pixi").list_additions(text, PACKAGE))
    said = tomllib.loads(edited)

    assert known("pixi").find_pinned(edited) == "simd_*"

    assert find_table(said, path)["channels"][0] == "./channel"
    assert find_table(said, (*path[:-1], "target", "linux-64", "dependencies")) is not None


@pytest.mark.parametrize("table", ["target.linux-64.dependencies", "pypi-dependencies"])
def test_pixi_s_own_word_for_pillow_on_the_platform_is_in_the_way(table: str) -> None:
    with pytest.raises(RefusedError, match="already"):
        known("pixi").refuse_foreign(manifest(f'{WORKSPACE}\n[{table}]\npillow = "12.*"\n'), PACKAGE)


def _pdm_lock(requirement: str) -> str:
    return f'[[package]]\nname = "frame"\nversion = "1"\ndependencies = ["{requirement}"]\n'


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
    pinned = replace(PACKAGE, directory=place) if manager == "pixi" else parse_pinned_build(WHEEL, place)
    assert said in add(WORKSPACE, known(manager).list_additions(WORKSPACE, pinned))

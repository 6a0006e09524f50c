"""Distributions and their dependants, from metadata alone."""

from pathlib import Path

import pytest
from support.environments.site_packages import install
from support.values.builders import healthy_facts

from fastinstall.model.facts import Interpreter
from fastinstall.observe.stack import observe_dependants, observe_distributions

REPLACES = ("pillow", "pillow-simd", "pil")


def _interpreter(site_packages: Path, version: str = "3.11.7") -> Interpreter:
    from dataclasses import replace

    return replace(healthy_facts().interpreter, site_packages=site_packages, version=version)


def _requirements(site_packages: Path, version: str = "3.11.7") -> list[tuple[str, str]]:
    found = observe_distributions(site_packages)
    dependants = observe_dependants(_interpreter(site_packages, version), REPLACES, found)
    return [(dependant.name, dependant.requirement) for dependant in dependants]


def test_the_metadata_directory_gives_name_version_and_installer(tmp_path: Path) -> None:
    install(tmp_path, "Pillow-SIMD", "12.1.1.post0", {}, installer="uv")
    (found,) = observe_distributions(tmp_path)
    assert (found.name, found.version, found.installer) == ("pillow-simd", "12.1.1.post0", "uv")
    assert found.metadata == "Pillow_SIMD-12.1.1.post0.dist-info"


def test_a_local_version_is_kept(tmp_path: Path) -> None:
    install(tmp_path, "pillow", "12.1.1+simd.v3", {})
    assert observe_distributions(tmp_path)[0].version == "12.1.1+simd.v3"


def test_a_directory_without_anything_in_it_is_still_named(tmp_path: Path) -> None:
    (tmp_path / "pillow.dist-info").mkdir()
    (tmp_path / "numpy-2.0.dist-info").mkdir()
    assert [found.name for found in observe_distributions(tmp_path)] == ["numpy", "pillow"]


def test_what_an_interrupted_installer_left_is_no_distribution(tmp_path: Path) -> None:
    (tmp_path / "~illow-12.1.1.dist-info").mkdir()
    assert observe_distributions(tmp_path) == ()


def test_no_such_directory_holds_nothing(tmp_path: Path) -> None:
    assert observe_distributions(tmp_path / "nowhere") == ()


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("pillow>=8.3.2", "pillow>=8.3.2"),
        ("Pillow (>=8)", "Pillow (>=8)"),
        ("PIL", "PIL"),
        ("pillow.simd ; python_version >= '3'", "pillow.simd"),
        ("pillow[xmp]>=9 ; implementation_name == 'cpython'", "pillow[xmp]>=9"),
        ("pillow<11; this is no marker", "pillow<11"),
    ],
)
def test_an_applicable_requirement_is_reported_without_marker(tmp_path: Path, line: str, requirement: str) -> None:
    install(tmp_path, "imageio", "2.37", {}, requires=("numpy", line))
    assert _requirements(tmp_path) == [("imageio", requirement)]


@pytest.mark.parametrize(
    "line",
    [
        "pillow-heif>=1",
        "pillows",
        "numpy ; extra == 'pillow'",
        'pillow ; extra == "images"',
        "pillow ; python_version < '3.9' and extra == 'images'",
        "pillow ; python_version < '3.9'",
        "pillow ; implementation_name == 'pypy'",
    ],
)
def test_a_requirement_that_does_not_apply_is_left_out(tmp_path: Path, line: str) -> None:
    install(tmp_path, "imageio", "2.37", {}, requires=(line,))
    assert _requirements(tmp_path) == []


def test_markers_are_evaluated_for_the_target_and_not_for_us(tmp_path: Path) -> None:
    install(tmp_path, "imageio", "2.37", {}, requires=("pillow<9 ; python_version < '3.9'",))
    assert _requirements(tmp_path, "3.8.18") == [("imageio", "pillow<9")]


def test_a_replaced_distribution_is_no_dependant(tmp_path: Path) -> None:
    install(tmp_path, "pillow-simd", "9.0", {}, requires=("pillow",))
    assert _requirements(tmp_path) == []


def test_the_requested_file_says_if_a_distribution_was_asked_for(tmp_path: Path) -> None:
    (install(tmp_path, "imageio", "2.38.1", {}) / "REQUESTED").touch()
    install(tmp_path, "pillow", "13.0.0", {})
    assert [(found.name, found.requested) for found in observe_distributions(tmp_path)] == [
        ("imageio", True),
        ("pillow", False),
    ]

import pytest
from support.values.builders import conda_package

from fastinstall.core.version_numbers import contains
from fastinstall.model.conda import Conda
from fastinstall.model.dependants import (
    all_dependants,
    build_asked,
    conda_dependants,
    translate_conda_spec,
    version_asked,
)
from fastinstall.model.facts import Dependant

NAMES = frozenset({"pillow", "pil", "pillow-simd"})
VERSIONS = (
    *("4.0.0", "5.3", "5.3.1", "8.3", "8.3.1", "9.4.0", "9.5", "9.5.0", "9.5.1"),
    *("9.50.0", "10.0", "10.0.1", "11.0.0", "12.1.1", "13.0.0", "100.0.0"),
)
TRANSLATED = {
    "pillow >=9.5,<10": ">=9.5,<10",
    "pillow >=9.5, <10": ">=9.5,<10",
    "pillow >= 9.5 , < 10": ">=9.5,<10",
    "pillow>=9.5": ">=9.5",
    "pillow 10.*": "==10.*",
    "pillow 10*": "==10.*",
    "pillow 9.5.0": "==9.5.0",
    "pillow =9.5": "==9.5.*",
    "pillow=9.5": "==9.5.*",
    "pillow ==9.5": "==9.5",
    "pillow ~=9.5": "~=9.5",
    "pillow >=9.5.*": ">=9.5",
    "pillow !=8.3.*,>=5.3": "!=8.3.*,>=5.3",
    "pillow >=9.5,<10.0a0": ">=9.5,<10.0a0",
    "pillow 9.5.0 py311_0": "==9.5.0",
    "pillow 9.5.0=py311_0": "==9.5.0",
    "pillow 9=py311_0": "==9",
    "conda-forge::pillow >=9": ">=9",
    "Pillow >=9": ">=9",
}


@pytest.mark.parametrize(("spec", "specifier"), TRANSLATED.items())
def test_what_a_match_spec_asks_is_said_as_a_version_specifier(spec: str, specifier: str) -> None:
    assert translate_conda_spec(version_asked(spec)) == specifier


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ("pillow >8|<7", ">8|<7"),
        ("pillow ==9.5.*", "==9.5.*"),
        ("pillow <10.*", "<10.*"),
        ("pillow ^9.*$", "^9.*$"),
        ("pillow ~=9", "~=9"),
        ("pillow =13.0.0rc1", "=13.0.0rc1"),
        ("pillow >=9,==9.5.*", ">=9,==9.5.*"),
        ("pillow[version='>=9|8.*',build=py*]", ">=9|8.*"),
    ],
)
def test_what_python_cannot_express_stays_as_conda_writes_it(spec: str, version: str) -> None:
    assert version_asked(spec) == version
    assert translate_conda_spec(version) == ""


@pytest.mark.parametrize("spec", ["pillow", "pillow *", "pillow * simd_*", "pillow[build=simd_*]", "", "@"])
def test_a_match_spec_may_ask_for_no_version(spec: str) -> None:
    assert version_asked(spec) == ""


@pytest.mark.parametrize("spec", [spec for spec in TRANSLATED if "=py" not in spec])
def test_py_rattler_takes_the_same_versions(spec: str) -> None:
    from rattler import Version, VersionSpec

    specifier = translate_conda_spec(version_asked(spec))
    asked = spec.partition("illow")[2].removesuffix(" py311_0").replace(" ", "")
    theirs = VersionSpec(asked)
    for version in VERSIONS:
        assert contains(specifier, version) is theirs.matches(Version(version)), version


@pytest.mark.parametrize(
    ("spec", "build"),
    [
        ("pillow", "*"),
        ("pillow >=9", "*"),
        ("pillow * simd_*", "simd_*"),
        ("pillow *=simd_*", "simd_*"),
        ("pillow 9.5.0=py311_0", "py311_0"),
    ],
)
def test_the_build_that_a_match_spec_asks_for(spec: str, build: str) -> None:
    assert build_asked(spec) == ("pillow", build)


def test_dependants_bound_the_version_and_pins_are_named_by_file() -> None:
    packages = (
        conda_package("torchvision 0.17.0 py311_0", depends=("pillow >=5.3.0,!=8.3.*", "python")),
        conda_package("imageio 2.37.0 py_0", depends=("pillow",)),
        conda_package("cautious 1.0 py_0", constrains=("pillow <13",)),
        conda_package("old 1.0 py_0", depends=("pil 1.1.7",)),
        conda_package("either 1.0 py_0", depends=("pillow 10.*|12.*",)),
        conda_package("pillow 12.1.1 py311_0", constrains=("pillow-simd <0.0.0a",)),
        conda_package("fastinstall-guard 1 abc_0", constrains=("pillow 12.* simd_*",)),
    )
    found = conda_dependants(Conda(packages=packages, unreadable={}, pins=("pillow <12", "numpy 1.*")), NAMES)
    assert [(each.name, each.requirement) for each in found] == [
        ("conda-meta/pinned", "pillow<12"),
        ("torchvision", "pillow>=5.3.0,!=8.3.*"),
        ("cautious", "pillow<13"),
        ("old", "pil==1.1.7"),
        ("either", "pillow 10.*|12.*"),
    ]


def test_what_pip_and_conda_say_of_the_same_is_told_once() -> None:
    def tool(requirement: str) -> Dependant:
        return Dependant(name="tool", requirement=requirement)

    python = (tool("pillow<10,>=9.5"), tool("pillow; extra == 'a'"))
    conda = (tool("pillow>=9.5,<10"), tool("pillow>=9.5"), Dependant(name="other", requirement="pillow>=9.5,<10"))
    assert all_dependants(python, conda) == (*python, *conda[1:])

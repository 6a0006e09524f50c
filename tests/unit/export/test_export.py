"""What can be carried to another machine, and what cannot; what a Dockerfile says of it."""

from dataclasses import replace
from pathlib import PurePath

import pytest

from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.core.surroundings import recipes_directory
from fastinstall.export.dockerfile import dockerfile
from fastinstall.export.plan_elsewhere import (
    PlanExport,
    Wheelhouse,
    foreign_python,
    portable,
    refuse_place,
    refuse_python,
    refuse_risks,
    refuse_unportable,
    system_packages,
)
from fastinstall.model.artefact import Artefact
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.request import LinkMode, PlanRisk, Request, Risk, ToolchainSource
from fastinstall.observe.observation import load_recipe

RECIPE = load_recipe("pillow-fast", (recipes_directory(),))
BOTH = ("x86-64-v2", "x86-64-v3")
SOURCE = Artefact(name="pillow", version="13.0.0", filename="pillow-13.0.0.tar.gz", url="", sha256="5" * 64)
WHEEL = replace(SOURCE, version="13.0.0+simd.v2", filename="pillow-13.0.0+simd.v2-cp312-cp312-linux_x86_64.whl")
WHEELHOUSE = Wheelhouse(directory=PurePath("/srv/wheel house"), wheel=WHEEL, has_tool=True)
EXPORT = PlanExport(
    python="3.12",
    prefix=PurePath("/opt/env"),
    wish=Request(version="13.0.0", levels=BOTH),
    flags=("--version", "13.0.0", "--levels", ",".join(BOTH)),
    distribution="pillow",
    version="13.0.0+simd.v2.v3",
    sources=(SOURCE,),
    packages=("gcc", "libjpeg-dev"),
    wheelhouse=None,
    tool="fastinstall==1.0",
    tool_pins=("packaging==26.3", "rich==15.0.0"),
    command="fastinstall plan --format dockerfile",
)


def test_levels_are_those_of_every_cpu_and_nothing_of_this_machine_goes_along() -> None:
    wish = Request(wheelhouse=PurePath("/here"), offline=True, upgrade=True, avoid=("1",), require=("jpeg",))
    assert portable(RECIPE, wish) == Request(levels=BOTH, require=("jpeg",))


@pytest.mark.parametrize("wish", [Request(level="x86-64-v4"), Request(levels=("x86-64-v2", "x86-64-v4"))])
def test_levels_that_were_named_stay(wish: Request) -> None:
    assert portable(RECIPE, wish) == wish


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Request(link=LinkMode.ENV), "--link env"),
        (Request(link=LinkMode.SYSTEM), "--link system"),
        (Request(engine=CondaInstaller.CONDA), "conda packages"),
        (Request(channels=("conda-forge",)), "conda packages"),
        (Request(toolchain=ToolchainSource.CONDA), "conda packages"),
        (Request(offline=True), "--offline needs --wheelhouse"),
        (Request(level="native"), "--level native"),
    ],
)
def test_what_is_tied_to_one_machine_is_refused_with_a_way_out(wish: Request, said: str) -> None:
    with pytest.raises(RefusedError, match=said) as caught:
        refuse_unportable(wish)
    assert caught.value.hint


@pytest.mark.parametrize("path", ["relative", "/a b", "/opt/it's", "/a\nRUN evil", "/a$HOME", "/a\\"])
def test_a_dockerfile_takes_plain_absolute_paths_alone(path: str) -> None:
    with pytest.raises(UsageError):
        refuse_place(PurePath(path))


def test_the_one_python_of_an_image_has_to_run_the_tool() -> None:
    refuse_python("3.11")
    with pytest.raises(RefusedError, match=r"3\.11 or later"):
        refuse_python("3.9")


def test_a_risk_that_nobody_could_accept_there_is_refused_here() -> None:
    hazard = PlanRisk(risk=Risk.VULNERABLE, summary="it is vulnerable")
    refuse_risks((replace(hazard, allowed=True),), Request())
    with pytest.raises(RefusedError, match="it is vulnerable") as caught:
        refuse_risks((hazard,), Request(allow=(Risk.DOWNGRADE,)))
    assert caught.value.hint == "accept the risk: --allow downgrade,vulnerable"


def test_packages_are_those_of_the_core_s_libraries() -> None:
    usual = system_packages(RECIPE, Request())
    assert {"gcc", "libjpeg-dev", "libtiff-dev"} <= set(usual)
    assert not {"libwebp-dev", "libimagequant-dev", "zlib1g-dev"} & set(usual)
    assert set(system_packages(RECIPE, Request(require=("imagequant",)))) - set(usual) == {"libimagequant-dev"}


def test_a_python_that_is_not_here_takes_wheels_of_its_version() -> None:
    assert (foreign_python("3.14").abi, foreign_python("3.14").version.split(".")[:2]) == ("cp314", ["3", "14"])


def test_a_dockerfile_checks_what_it_was_made_from_and_leaves_builder_and_root_behind() -> None:
    text = dockerfile(EXPORT)
    assert f'ARG SOURCES="{SOURCE.sha256}"' in text
    assert "apt-get install --yes --no-install-recommends" in text
    assert "--pin" not in text
    builder, final = text.split("FROM ${PYTHON_IMAGE}\n")
    assert "doctor" in builder
    assert "RUN" not in final
    assert "USER 10001:10001" in final


def test_a_dockerfile_of_a_wheelhouse_compiles_nothing_and_asks_no_index_for_the_tool() -> None:
    text = dockerfile(replace(EXPORT, wheelhouse=WHEELHOUSE, sources=(), packages=()), "wheels")
    assert "ARG WHEELHOUSE=wheels\nCOPY ${WHEELHOUSE} /wheelhouse" in text
    assert f"ARG WHEEL_SHA256={WHEEL.sha256}" in text
    assert "--no-index --find-links /wheelhouse/tool" in text
    assert not {"apt-get", "SOURCES", "packaging==26.3"} & set(text.replace("=", " = ").split())
    assert "fastinstall build --quiet" not in text


def test_a_pinned_dockerfile_leads_uv_to_the_pin() -> None:
    text = dockerfile(replace(EXPORT, wish=replace(EXPORT.wish, pin=True), flags=(*EXPORT.flags, "--pin")))
    assert "UV_CONSTRAINT=/opt/env/share/fastinstall/pin/constraints.txt" in text
    assert text.count("--pin") == 1, "the wheel alone is not pinned"


def test_what_is_vulnerable_as_allowed_does_not_fail_the_image() -> None:
    text = dockerfile(replace(EXPORT, wish=replace(EXPORT.wish, allow=(Risk.VULNERABLE,))))
    assert "doctor --quiet --fail-on warning" in dockerfile(EXPORT)
    assert "doctor --quiet --fail-on warning" not in text

"""Decisions about native libraries that the plans in tests/cases/plans do not show separately."""

from pathlib import Path
from typing import Any

import pytest
from support.values.builders import changed, healthy_facts, recipe

from fastinstall.core.codec import encode
from fastinstall.core.errors import RefusedError
from fastinstall.index.header_packages import read_header_packages
from fastinstall.model.facts import Facts
from fastinstall.model.recipe import NativeRequirement, Recipe
from fastinstall.model.request import Request, ToolchainSource
from fastinstall.setup.decide.libraries import choose_libraries, may_have_made
from fastinstall.setup.steps.prepare import CondaToolchain, PrivateHeaders, SystemPackages

HERE = {"include": "/usr/include", "library": "/usr/lib/lib.so"}
HEADER_ONLY = {"include": "/usr/include", "library": None}
NOTHING = {"include": None, "library": None}

OFFER = read_header_packages().artefacts()


def _recipe(**libraries: dict[str, Any]) -> Recipe:
    found = {
        name: encode(NativeRequirement(header=f"{name}.h", link=name, apt=(f"lib{name}-dev",))) | changes
        for name, changes in libraries.items()
    }
    return changed(recipe(), {"libraries": found})


def _facts(**changes: Any) -> Facts:
    libraries = changes.pop("libraries", {})
    append = [{"name": name, **where} for name, where in libraries.items()]
    return changed(healthy_facts(), {"toolchain": {**changes, "libraries": {"$append": append}}})


def test_with_an_official_wheel_only_core_libraries_are_enabled() -> None:
    known = _recipe(tiff={}, webp={"core": False}, imagequant={"in_wheels": False})
    facts = _facts(libraries={"tiff": HEADER_ONLY, "webp": HERE, "imagequant": HERE})
    assert choose_libraries(known, facts, Request(), (), {}, base_wheel=True).enabled == ("jpeg", "tiff")


def test_a_library_official_wheels_lack_is_enabled_on_request() -> None:
    known = _recipe(imagequant={"in_wheels": False})
    facts = _facts(libraries={"imagequant": HERE})
    chosen = choose_libraries(known, facts, Request(require=("imagequant",)), (), {}, base_wheel=True)
    assert chosen.enabled == ("jpeg", "imagequant")


def test_whatever_is_found_is_enabled_where_everything_is_built() -> None:
    known = _recipe(tiff={}, webp={"core": False}, raqm={"core": False})
    facts = _facts(libraries={"tiff": HERE, "webp": HERE, "raqm": HEADER_ONLY})
    chosen = choose_libraries(known, facts, Request(), (), {}, base_wheel=False)
    assert chosen.enabled == ("jpeg", "tiff", "webp")
    assert chosen.steps == ()


def test_in_a_full_build_header_packages_are_not_fetched() -> None:
    known = _recipe(tiff={"required": True})
    with pytest.raises(RefusedError, match="missing: the headers of tiff"):
        choose_libraries(known, _facts(libraries={"tiff": NOTHING}), Request(), (), OFFER, base_wheel=False)


def test_a_library_that_nobody_looked_for_counts_as_missing() -> None:
    chosen = choose_libraries(_recipe(tiff={}), _facts(), Request(), (), OFFER, base_wheel=True)
    (step,) = chosen.steps
    assert isinstance(step, PrivateHeaders)
    assert step.packages == ("libtiff-dev",)


def _without_headers(python: str, **changes: Any) -> Facts:
    free_threaded = python.endswith("t")
    interpreter = {"version": f"{python.rstrip('t')}.2", "abi": f"cp{python.replace('.', '')}", "has_headers": False}
    return changed(_facts(**changes), {"interpreter": interpreter | {"free_threaded": free_threaded}})


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14", "3.14t", "3.15", "3.15t"])
def test_headers_of_each_python_come_from_a_pinned_package(python: str) -> None:
    (step,) = choose_libraries(_recipe(tiff={}), _without_headers(python), Request(), (), OFFER, base_wheel=True).steps
    assert isinstance(step, PrivateHeaders)
    assert set(step.packages) == {f"libpython{python.rstrip('t')}-dev", "libtiff-dev"}


def test_the_system_has_no_headers_of_a_free_threaded_python() -> None:
    facts = _without_headers("3.14t", package_manager="apt", may_install=True)
    request = Request(with_system_deps=True)
    (step,) = choose_libraries(_recipe(), facts, request, (), OFFER, base_wheel=True).steps
    assert isinstance(step, PrivateHeaders)
    with pytest.raises(RefusedError) as caught:
        choose_libraries(_recipe(), facts, request, (), {}, base_wheel=True)
    assert "python3.14-dev" not in (caught.value.hint or "")


@pytest.mark.parametrize(("python", "spec"), [("3.14", "python 3.14.*"), ("3.14t", "python 3.14.* *_cp314t")])
def test_conda_brings_headers_of_the_same_build_of_python(python: str, spec: str) -> None:
    facts = _without_headers(python, rattler=True)
    request = Request(toolchain=ToolchainSource.CONDA)
    (step,) = choose_libraries(_recipe(), facts, request, (), {}, base_wheel=True).steps
    assert isinstance(step, CondaToolchain)
    assert spec in step.packages


def test_packages_are_named_once_each() -> None:
    known = _recipe(tiff={"apt": ["libimages-dev"]}, webp={"apt": ["libimages-dev"]})
    facts = _facts(may_install=True, libraries={"tiff": NOTHING, "webp": NOTHING})
    (step,) = choose_libraries(known, facts, Request(with_system_deps=True), (), {}, base_wheel=True).steps
    assert isinstance(step, SystemPackages)
    assert step.packages == ("libimages-dev",)


def test_system_packages_are_not_installed_without_the_right_to() -> None:
    facts = _facts(may_install=False, libraries={"tiff": NOTHING})
    (step,) = choose_libraries(
        _recipe(tiff={}), facts, Request(with_system_deps=True), (), OFFER, base_wheel=True
    ).steps
    assert isinstance(step, PrivateHeaders)


def test_going_without_names_the_loss() -> None:
    facts = _facts(package_manager=None, libraries={"tiff": NOTHING})
    chosen = choose_libraries(_recipe(tiff={}), facts, Request(), (), {}, base_wheel=True)
    assert chosen.enabled == ("jpeg",)
    assert chosen.plan_risk is not None
    assert chosen.plan_risk.items == ("tiff",)


OLD, OF_CONDA = "gcc: gcc 9", "/cache/toolchains/5d/bin/cc: gcc 14"


@pytest.mark.parametrize(
    ("facts", "asked", "served"),
    [
        ({}, {}, ["here"]),
        ({"toolchain": {"compiler": None}}, {}, [OLD, OF_CONDA]),
        ({"interpreter": {"has_headers": False}}, {}, ["here", OLD, OF_CONDA]),
        ({"toolchain": {"compiler": None, "named_compiler": "/opt/cc"}}, {}, []),
        ({}, {"toolchain": "conda"}, [OF_CONDA]),
        ({"toolchain": {"compiler": None}}, {"toolchain": "conda"}, [OF_CONDA]),
    ],
    ids=[
        "that which would be used",
        "any, where there is none",
        "any, where Python's headers are not there",
        "none, where one is named that does not run",
        "conda's, where that is asked for",
        "conda's, where there is none",
    ],
)
def test_a_cached_wheel_must_be_from_a_compiler_that_may_be_used(
    facts: dict[str, Any], asked: dict[str, Any], served: list[str]
) -> None:
    seen = changed(healthy_facts(), facts)
    assert seen.toolchain is not None
    made_by = {OLD: OLD, OF_CONDA: OF_CONDA}
    if seen.toolchain.compiler is not None:
        made_by = {"here": seen.toolchain.compiler.text, **made_by}
    request = changed(Request(), asked)
    private = Path("/cache/toolchains")
    assert [name for name, text in made_by.items() if may_have_made(text, seen, request, private)] == served

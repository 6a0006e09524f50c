"""What a build for another architecture assumes about machines that it cannot examine."""

from dataclasses import replace
from typing import Any

import pytest
from support.suite.golden import Golden
from support.values.builders import healthy_facts, recipe

from fastinstall.core.architecture import AARCH64
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.index.selection import list_supported_tags
from fastinstall.model.recipe import Level, Recipe
from fastinstall.model.request import LinkMode, Request, ToolchainSource
from fastinstall.setup.decide.levels import choose_best_level
from fastinstall.setup.foresee import adapt_request, describe_cpu, describe_facts, describe_python

NEON = Level(name="armv8-a", requires=("fp", "asimd"), cflags=("-march=armv8-a",), architecture="aarch64")


def both() -> Recipe:
    """Return a recipe with levels of both architectures."""
    return replace(recipe(), levels=(*recipe().levels, NEON))


def test_only_the_compiler_that_can_is_asked_for() -> None:
    asked = adapt_request(Request(with_system_deps=True), both(), AARCH64)
    assert (asked.toolchain, asked.with_system_deps) == (ToolchainSource.CLANG, False)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"link": LinkMode.SYSTEM}, id="libraries-of-the-system"),
        pytest.param({"link": LinkMode.ENV}, id="libraries-of-an-environment"),
        pytest.param({"toolchain": ToolchainSource.SYSTEM}, id="compiler-of-the-system"),
        pytest.param({"toolchain": ToolchainSource.CONDA}, id="compiler-of-conda"),
    ],
)
def test_what_belongs_to_this_machine_is_refused(changes: dict[str, Any], golden: Golden) -> None:
    with pytest.raises(UsageError) as refused:
        adapt_request(replace(Request(), **changes), both(), AARCH64)
    golden(refused.value)


def test_a_recipe_without_a_level_for_it_is_refused() -> None:
    with pytest.raises(RefusedError, match="aarch64"):
        adapt_request(Request(), recipe(), AARCH64)


def test_the_target_has_our_python_but_its_own_module_suffix() -> None:
    here = healthy_facts().interpreter
    there = describe_python(here, AARCH64)
    assert (there.executable, there.version, there.abi) == (here.executable, here.version, here.abi)
    assert there.extension_suffix == ".cpython-311-aarch64-linux-gnu.so"
    assert there.machine == "aarch64"
    assert not there.has_headers
    freed = describe_python(replace(here, abi="cp313t"), AARCH64)
    assert freed.extension_suffix == ".cpython-313t-aarch64-linux-gnu.so"


def test_the_target_machines_official_wheel_is_used_on_any_libc() -> None:
    here = replace(healthy_facts().interpreter, libc="musl", libc_version="1.2")
    tags = {str(tag) for tag in list_supported_tags(describe_python(here, AARCH64))}
    assert "cp311-cp311-manylinux_2_28_aarch64" in tags
    assert not [tag for tag in tags if "x86_64" in tag or "musl" in tag or "_2_29_" in tag]


def test_target_cpus_have_the_lowest_level_but_our_cores_compile() -> None:
    here = replace(healthy_facts().cpu, cores=7, quota=2.5)
    cpu = describe_cpu(here, AARCH64)
    assert (cpu.cores, cpu.quota, cpu.level) == (7, 2.5, "armv8-a")
    assert choose_best_level(both(), cpu) == NEON


def test_nothing_of_this_machine_takes_part() -> None:
    facts = describe_facts(healthy_facts(), AARCH64)
    assert facts.toolchain is not None
    assert (facts.toolchain.compiler, facts.toolchain.libraries, facts.toolchain.named_compiler) == (None, (), "")

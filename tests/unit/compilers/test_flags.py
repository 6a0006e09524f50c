"""The flags of a build for a level, limited to those that its compiler accepts."""

from pathlib import Path

import pytest
from support.suite.golden import Golden

from fastinstall.compilers.flags import RECORD_SWITCHES, compile_flags, list_probed_flags
from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.core.errors import RefusedError
from fastinstall.model.recipe_documents import parse_recipe

FILE = Path(__file__).parents[2] / "cases" / "recipes" / "fork.toml"
RECIPE = parse_recipe(FILE.read_text(encoding="utf-8"), FILE)


V4, V3, V2 = RECIPE.levels


def test_the_flags_of_a_level_follow_full_optimisation() -> None:
    cflags, ldflags = compile_flags(RECIPE, V3, ["-march=x86-64-v3", "-Wl,-z,x86-64-v3", "-mavx2", "-mfma"])
    assert cflags == ("-O3", "-fwrapv", "-march=x86-64-v3")
    assert ldflags == ("-Wl,-z,x86-64-v3",)


def test_an_older_compiler_gets_the_fallback_and_no_note() -> None:
    cflags, ldflags = compile_flags(RECIPE, V3, ["-mavx2", "-mfma"])
    assert cflags == ("-O3", "-fwrapv", "-mavx2", "-mfma")
    assert ldflags == ()


def test_switches_are_recorded_where_the_compiler_can() -> None:
    cflags, _ = compile_flags(RECIPE, V3, ["-march=x86-64-v3", "-frecord-gcc-switches"])
    assert cflags[-1] == "-frecord-gcc-switches"


def test_half_a_fallback_is_refused() -> None:
    with pytest.raises(RefusedError, match="-march=x86-64-v3 nor -mavx2 -mfma"):
        compile_flags(RECIPE, V3, ["-mavx2"])


def test_a_level_without_a_fallback_is_refused_if_its_flags_are() -> None:
    with pytest.raises(RefusedError, match="does not accept -march=x86-64-v4"):
        compile_flags(RECIPE, V4, ["-mavx2", "-mfma"])


def test_a_compiler_that_is_too_old_is_named_with_the_flag(golden: Golden) -> None:
    with pytest.raises(RefusedError) as refused:
        compile_flags(RECIPE, V4, [], compiler="gcc 4.8.5")
    golden(refused.value)


def test_every_flag_of_every_level_is_to_be_probed_once() -> None:
    probed = list_probed_flags(RECIPE, X86_64.machine)
    assert len(probed) == len(set(probed))
    assert list_probed_flags(RECIPE, AARCH64.machine) == (RECORD_SWITCHES,)
    assert {*V4.cflags, *V3.cflags, *V3.fallback, *V3.ldflags, *V2.cflags} <= set(probed)

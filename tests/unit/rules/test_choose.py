from pathlib import Path

import pytest

from fastinstall.errors import RefusedError, UsageError
from fastinstall.model.machine import Cpu
from fastinstall.model.wish import Risk
from fastinstall.rules.choose import choose_level
from fastinstall.rules.recipes import parse_recipe

FILE = Path(__file__).parents[2] / "cases" / "recipes" / "fork.toml"
RECIPE = parse_recipe(FILE.read_text(encoding="utf-8"), FILE)


HASWELL = Cpu(architecture="x86_64", name="Haswell", flags=("sse4_2", "avx2", "fma"), level="x86-64-v3")
NEHALEM = Cpu(architecture="x86_64", name="Nehalem", flags=("sse4_2",), level="x86-64-v2")
SKYLAKE_X = Cpu(architecture="x86_64", flags=("sse4_2", "avx2", "fma", "avx512f"), level="x86-64-v4")


def test_auto_takes_the_best_automatic_level_that_the_cpu_has() -> None:
    choice = choose_level(RECIPE, HASWELL, "auto")
    assert (choice.level.name, choice.reason, choice.hazard) == ("x86-64-v3", "x86-64-v3 suits Haswell", None)


def test_auto_stays_below_levels_that_are_not_automatic() -> None:
    assert choose_level(RECIPE, SKYLAKE_X, "auto").level.name == "x86-64-v3"


def test_auto_falls_back_and_says_what_is_missing() -> None:
    choice = choose_level(RECIPE, NEHALEM, "auto")
    assert choice.level.name == "x86-64-v2"
    assert choice.reason == "x86-64-v2 suits Nehalem, which lacks avx2 and fma for x86-64-v3"


def test_hidden_features_are_called_hidden() -> None:
    cpu = Cpu(architecture="x86_64", name="EPYC", flags=("sse4_2",), level="x86-64-v2", masked=("avx2", "fma"))
    assert "hidden by the virtual machine" in choose_level(RECIPE, cpu, "auto").reason


def test_the_loader_overrules_flags_that_are_an_emulators_host() -> None:
    cpu = Cpu(architecture="x86_64", name="emulated", flags=HASWELL.flags, level="x86-64-v2", level_source="ld.so")
    choice = choose_level(RECIPE, cpu, "auto")
    assert choice.level.name == "x86-64-v2"
    assert "does not reach x86-64-v3" in choice.reason


def test_without_flags_the_level_of_the_loader_decides() -> None:
    assert choose_level(RECIPE, Cpu(architecture="x86_64", level="x86-64-v3"), "auto").level.name == "x86-64-v3"


def test_a_cpu_of_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(RefusedError, match="lacks sse4_2"):
        choose_level(RECIPE, Cpu(architecture="x86_64"), "auto")


def test_a_cpu_below_the_floor_is_refused_with_the_way_out() -> None:
    old = Cpu(architecture="x86_64", name="Core 2", flags=("sse2",), level="x86-64-v1")
    with pytest.raises(RefusedError, match="Core 2 lacks sse4_2 for x86-64-v2, the least") as caught:
        choose_level(RECIPE, old, "auto")
    assert caught.value.hint == "keep stock Pillow: python -m pip install pillow"


@pytest.mark.parametrize("wish", ["auto", "x86-64-v3"])
def test_another_architecture_is_refused_and_told_of_its_own_simd(wish: str) -> None:
    with pytest.raises(RefusedError, match="this machine is aarch64") as caught:
        choose_level(RECIPE, Cpu(architecture="aarch64"), wish)
    assert "NEON" in (caught.value.hint or "")


def test_a_named_level_is_taken_as_asked() -> None:
    choice = choose_level(RECIPE, SKYLAKE_X, "x86-64-v4")
    assert (choice.level.name, choice.reason, choice.hazard) == ("x86-64-v4", "x86-64-v4 as asked", None)


def test_a_named_level_that_the_cpu_lacks_is_a_named_risk() -> None:
    choice = choose_level(RECIPE, HASWELL, "x86-64-v4")
    assert choice.level.name == "x86-64-v4"
    assert choice.hazard is not None
    assert choice.hazard.risk is Risk.UNVERIFIED_CPU
    assert choice.hazard.items == ("avx512f",)
    assert not choice.hazard.allowed


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="--level x86-64-v5") as caught:
        choose_level(RECIPE, HASWELL, "x86-64-v5")
    assert caught.value.hint == "known: auto, x86-64-v4, x86-64-v3, x86-64-v2"

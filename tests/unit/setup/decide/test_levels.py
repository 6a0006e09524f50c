from dataclasses import replace
from typing import Any

import pytest
from support.suite.golden import Golden
from support.values.builders import changed, healthy_facts, receipt, recipe

from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.elf.cpu import Cpu
from fastinstall.model.request import LinkMode, Request, Risk
from fastinstall.setup.decide.levels import (
    LevelChoice,
    choose_levels,
    choose_restored_levels,
    explain_single_level,
    find_lacking_features,
    is_best_served,
    refuse_unknown,
)

V2, V3, V4, V8 = "x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8-a"
RECIPE = changed(
    recipe(),
    {
        "levels": {
            "0": {"requires": ["sse4_2", "avx2", "fma", "avx512f"]},
            "1": {"requires": ["sse4_2", "avx2", "fma"]},
            "2": {"requires": ["sse4_2"]},
        }
    },
)
NATIVE = changed(
    recipe(), {"levels": {"$append": [{"name": "native", "cflags": ["-march=native"], "automatic": False}]}}
)
TWO_MACHINES = changed(
    RECIPE,
    {
        "levels": {
            "$append": [
                {"name": V8, "architecture": "aarch64", "requires": ["fp", "asimd"], "cflags": ["-march=armv8-a"]}
            ]
        }
    },
)
OLD_LOADER = "glibc 2.31 cannot choose a level"

HASWELL = Cpu(architecture="x86_64", name="Haswell", flags=("sse4_2", "avx2", "fma"), level=V3)
NEHALEM = Cpu(architecture="x86_64", name="Nehalem", flags=("sse4_2",), level=V2)
SKYLAKE_X = Cpu(architecture="x86_64", name="Skylake", flags=("sse4_2", "avx2", "fma", "avx512f"), level=V4)
NEOVERSE = Cpu(architecture="aarch64", name="Neoverse N1", flags=("fp", "asimd", "atomics"), level=V8)
CORE_2 = Cpu(architecture="x86_64", name="Core 2", flags=("sse2",), level="x86-64-v1")


def choose(cpu: Cpu, level: str = "auto", levels: tuple[str, ...] = (), hindrance: str = "") -> LevelChoice:
    return choose_levels(RECIPE, cpu, Request(level=level, levels=levels), hindrance=hindrance)


def test_the_default_is_the_cpus_automatic_levels_baseline_first(golden: Golden) -> None:
    choice = choose(HASWELL)
    assert (choice.names, choice.plan_risk) == ((V2, V3), None)
    golden(choice.reason)


def test_levels_that_are_not_automatic_are_not_chosen_by_default() -> None:
    assert choose(SKYLAKE_X).names == (V2, V3)


def test_an_unprovable_level_is_left_out_with_what_the_cpu_lacks(golden: Golden) -> None:
    choice = choose(NEHALEM)
    assert choice.names == (V2,)
    golden(choice.reason)


def test_if_the_loader_cannot_choose_only_the_best_level_is_used(golden: Golden) -> None:
    choice = choose(HASWELL, hindrance=OLD_LOADER)
    assert choice.names == (V3,)
    golden(choice.reason)


def test_a_hindrance_that_changes_nothing_is_not_mentioned() -> None:
    assert "glibc" not in choose(NEHALEM, hindrance=OLD_LOADER).reason


def test_hidden_features_are_called_hidden(golden: Golden) -> None:
    cpu = Cpu(architecture="x86_64", name="EPYC", flags=("sse4_2",), level=V2, masked=("avx2", "fma"))
    golden(choose(cpu).reason)


def test_the_loader_overrules_flags_that_are_an_emulators_host() -> None:
    cpu = Cpu(architecture="x86_64", name="emulated", flags=HASWELL.flags, level=V2, level_source="ld.so")
    choice = choose(cpu)
    assert choice.names == (V2,)
    assert "does not reach x86-64-v3" in choice.reason


def test_without_flags_the_level_of_the_loader_decides() -> None:
    assert choose(Cpu(architecture="x86_64", level=V3)).names == (V2, V3)


def test_a_cpu_of_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(RefusedError, match="lacks sse4_2"):
        choose(Cpu(architecture="x86_64"))


def test_a_cpu_below_the_floor_is_refused_with_the_way_out(golden: Golden) -> None:
    with pytest.raises(RefusedError, match="lacks sse4_2") as caught:
        choose(CORE_2)
    assert (caught.value.hint or "").endswith("python -m pip install pillow")
    golden(caught.value)


@pytest.mark.parametrize("asked", ["auto", V3])
@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
def test_a_recipe_without_levels_for_a_machine_is_refused_there(machine: str, asked: str) -> None:
    with pytest.raises(RefusedError, match=f"this machine is {machine}") as caught:
        choose(Cpu(architecture=machine), asked)
    assert "x86-64 only" in str(caught.value)
    assert ("recipes list" if machine == "aarch64" else "pip install pillow") in (caught.value.hint or "")


def test_each_machine_has_the_levels_of_its_architecture() -> None:
    for cpu in (HASWELL, NEHALEM, SKYLAKE_X):
        assert choose_levels(TWO_MACHINES, cpu, Request()) == choose(cpu)
    chosen = choose_levels(TWO_MACHINES, NEOVERSE, Request())
    assert (chosen.names, chosen.plan_risk) == ((V8,), None)
    assert is_best_served(TWO_MACHINES, NEOVERSE, (V8,))
    assert not is_best_served(TWO_MACHINES, NEOVERSE, (V2, V3))
    assert not is_best_served(TWO_MACHINES, HASWELL, (V8,))


def test_another_architectures_level_is_lacking_without_flags() -> None:
    level = TWO_MACHINES.list_levels("aarch64")[0]
    assert find_lacking_features(level, Cpu(architecture="x86_64", level=V3)) == (V8,)


@pytest.mark.parametrize(("cpu", "asked"), [(HASWELL, V8), (NEOVERSE, V3)])
def test_a_named_level_of_another_architecture_is_refused(cpu: Cpu, asked: str, golden: Golden) -> None:
    with pytest.raises(RefusedError) as caught:
        choose_levels(TWO_MACHINES, cpu, Request(level=asked))
    golden(caught.value)


def test_a_named_level_is_taken_as_asked() -> None:
    choice = choose(SKYLAKE_X, V4)
    assert (choice.names, choice.reason, choice.plan_risk) == ((V4,), "x86-64-v4 as requested", None)


def test_a_named_level_that_the_cpu_lacks_is_a_named_risk() -> None:
    choice = choose(HASWELL, V4)
    assert choice.names == (V4,)
    assert choice.plan_risk is not None
    assert choice.plan_risk.risk is Risk.UNVERIFIED_CPU
    assert choice.plan_risk.items == ("avx512f",)
    assert not choice.plan_risk.allowed
    assert "does not run here" in choice.plan_risk.summary


def test_named_levels_come_in_order_and_once_each(golden: Golden) -> None:
    choice = choose(SKYLAKE_X, levels=(V4, V2, V4))
    assert (choice.names, choice.plan_risk) == ((V2, V4), None)
    golden(choice.reason)


def test_a_named_level_beyond_the_cpu_is_unproven_but_wheels_run(golden: Golden) -> None:
    choice = choose(HASWELL, levels=(V2, V3, V4))
    assert choice.names == (V2, V3, V4)
    assert choice.plan_risk is not None
    assert choice.plan_risk.risk is Risk.UNVERIFIED_CPU
    golden(choice.plan_risk.summary)
    assert choice.plan_risk.items == ("avx512f",)


def test_named_levels_whose_baseline_does_not_run_here_say_so(golden: Golden) -> None:
    choice = choose(NEHALEM, levels=(V3, V4))
    assert choice.plan_risk is not None
    golden(choice.plan_risk.summary)
    assert choice.plan_risk.items == ("avx2", "fma", "avx512f")


def test_levels_a_wheel_cannot_carry_are_refused_with_one_it_can(golden: Golden) -> None:
    with pytest.raises(RefusedError, match="--levels x86-64-v2,x86-64-v3") as caught:
        choose(HASWELL, levels=(V2, V3), hindrance=OLD_LOADER)
    assert "--level x86-64-v3" in (caught.value.hint or "")
    golden(caught.value)


@pytest.mark.parametrize("levels", [(V3,), (V3, V3)])
def test_one_level_needs_no_loader_that_chooses(levels: tuple[str, ...]) -> None:
    assert choose(HASWELL, levels=levels, hindrance=OLD_LOADER).names == (V3,)


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="--level x86-64-v5") as caught:
        choose(HASWELL, "x86-64-v5")
    assert caught.value.hint == "known: auto, x86-64-v4, x86-64-v3, x86-64-v2"
    with pytest.raises(UsageError, match="--levels x86-64-v5") as caught:
        choose(HASWELL, levels=(V2, "x86-64-v5"))
    assert caught.value.hint == "known: x86-64-v4, x86-64-v3, x86-64-v2"


@pytest.mark.parametrize(
    ("machine", "known"),
    [("x86_64", f"{V4}, {V3}, {V2}"), ("aarch64", V8), ("", f"{V4}, {V3}, {V2}, {V8}")],
)
def test_the_known_levels_are_those_of_the_machine(machine: str, known: str) -> None:
    with pytest.raises(UsageError) as caught:
        refuse_unknown(TWO_MACHINES, Request(level="x86-64-v5"), machine)
    assert caught.value.hint == f"known: auto, {known}"


def test_one_level_and_several_exclude_each_other(golden: Golden) -> None:
    with pytest.raises(UsageError) as caught:
        choose(HASWELL, V3, levels=(V2,))
    golden(caught.value)


def test_what_no_loader_can_choose_is_not_combined() -> None:
    with pytest.raises(UsageError, match="native cannot be combined") as caught:
        choose_levels(NATIVE, HASWELL, Request(levels=("native", V3)))
    assert "--level native alone" in (caught.value.hint or "")
    assert choose_levels(NATIVE, HASWELL, Request(levels=("native",))).names == ("native",)


@pytest.mark.parametrize(
    ("changes", "link", "base_wheel", "why"),
    [
        ({}, LinkMode.BUNDLE, True, ""),
        ({"libc_version": "2.33"}, LinkMode.BUNDLE, True, ""),
        ({"libc_version": "2.31"}, LinkMode.BUNDLE, True, OLD_LOADER),
        ({"libc_version": ""}, LinkMode.BUNDLE, True, "glibc of unknown version cannot choose a level"),
        ({"libc": "musl", "libc_version": "1.2"}, LinkMode.BUNDLE, True, "musl cannot choose a level"),
        ({}, LinkMode.BUNDLE, False, "no official wheel to carry several"),
        ({}, LinkMode.SYSTEM, True, "linked to the libraries of the system"),
        ({}, LinkMode.ENV, True, "linked to the libraries of the environment"),
    ],
)
def test_what_hinders_several_levels(changes: dict[str, Any], link: LinkMode, *, base_wheel: bool, why: str) -> None:
    interpreter = changed(healthy_facts().interpreter, changes)
    assert explain_single_level(interpreter, link, base_wheel=base_wheel) == why


@pytest.mark.parametrize(
    ("cpu", "levels", "does"),
    [
        (HASWELL, (V3,), True),
        (HASWELL, (V2, V3), True),
        (SKYLAKE_X, (V2, V3, V4), True),
        (HASWELL, (V2, V3, V4), True),
        (NEHALEM, (V2, V3), True),
        (HASWELL, (V2,), False),
        (NEHALEM, (V3,), False),
        (HASWELL, (V2, V4), False),
        (HASWELL, (), False),
        (HASWELL, ("another",), False),
    ],
)
def test_a_wheel_must_run_on_the_cpu_and_contain_its_best_level(
    cpu: Cpu, levels: tuple[str, ...], *, does: bool
) -> None:
    assert is_best_served(RECIPE, cpu, levels) is does


@pytest.mark.parametrize(
    ("built", "named", "cpu", "levels"),
    [
        ((V2, V3), {}, NEHALEM, (V2, V3)),  # the loader takes the V2 copy on this CPU
        ((V3,), {}, HASWELL, (V3,)),
        ((V3,), {}, NEHALEM, ()),
        ((V3,), {"level": V3}, NEHALEM, (V3,)),
        ((V3, V4), {"levels": (V3, V4)}, NEHALEM, (V3, V4)),
    ],
)
def test_a_repair_keeps_levels_that_run_here_or_were_named(
    built: tuple[str, ...], named: dict[str, Any], cpu: Cpu, levels: tuple[str, ...]
) -> None:
    before = replace(receipt(), levels=built, request=Request(**named))
    assert choose_restored_levels(RECIPE, cpu, before) == levels

from archspec import cpu

from fastinstall.conda.extra import find_microarchitectures


def test_a_level_has_itself_and_every_processor_that_descends_from_it() -> None:
    found = find_microarchitectures(["x86-64-v2", "x86-64-v3", "x86-64-v4"])
    assert found["x86-64-v3"][0] == "x86_64_v3"
    assert {"x86_64_v4", "haswell", "zen3"} <= set(found["x86-64-v3"])
    assert {"sandybridge", "nehalem", "x86_64_v2", "x86_64", "power9le"}.isdisjoint(found["x86-64-v3"])
    assert set(found["x86-64-v4"]) < set(found["x86-64-v3"]) < set(found["x86-64-v2"])


def test_every_arm_processor_descends_from_the_level_of_its_architecture() -> None:
    found = find_microarchitectures(["armv8-a"])["armv8-a"]
    assert found[0] == "aarch64"
    assert {"neoverse_n1", "neoverse_v2", "cortex_a72"} <= set(found)
    assert {"x86_64", "haswell"}.isdisjoint(found)


def test_native_is_what_this_machine_is_and_what_descends_from_it() -> None:
    assert find_microarchitectures(["native"])["native"][0] == cpu.host().name


def test_no_processor_is_known_for_a_level_that_is_not() -> None:
    assert find_microarchitectures(["x86-64-v9"]) == {"x86-64-v9": ()}

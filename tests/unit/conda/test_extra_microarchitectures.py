from archspec import cpu

from fastinstall.conda.extra import find_microarchitectures


def test_a_level_includes_itself_and_every_descendant_processor() -> None:
    found = find_microarchitectures(["x86-64-v2", "x86-64-v3", "x86-64-v4"])
    assert found["x86-64-v3"][0] == "x86_64_v3"
    assert {"x86_64_v4", "haswell", "zen3"} <= set(found["x86-64-v3"])
    assert {"sandybridge", "nehalem", "x86_64_v2", "x86_64", "power9le"}.isdisjoint(found["x86-64-v3"])
    assert set(found["x86-64-v4"]) < set(found["x86-64-v3"]) < set(found["x86-64-v2"])


def test_every_arm_processor_descends_from_its_base_level() -> None:
    found = find_microarchitectures(["armv8-a"])["armv8-a"]
    assert found[0] == "aarch64"
    assert {"neoverse_n1", "neoverse_v2", "cortex_a72"} <= set(found)
    assert {"x86_64", "haswell"}.isdisjoint(found)


def test_native_means_this_machine_and_what_descends_from_it() -> None:
    assert find_microarchitectures(["native"])["native"][0] == cpu.host().name


def test_no_processor_is_known_for_a_level_that_is_not() -> None:
    assert find_microarchitectures(["x86-64-v9"]) == {"x86-64-v9": ()}

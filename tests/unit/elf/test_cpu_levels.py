"""The CPU features of levels of x86-64, in the kernel's spelling."""

import pytest
from archspec.cpu import TARGETS

from fastinstall.core.architecture import AARCH64, X86_64
from fastinstall.elf.cpu import (
    LEVELS,
    Cpu,
    find_masked_features,
    knows_levels,
    level_of,
    list_auxiliary_features,
    list_level_features,
    list_missing_features,
    rank,
    tunable_for,
)
from fastinstall.elf.loader.process_settings import platform_of


def test_each_level_is_reached_with_exactly_its_features() -> None:
    for level in LEVELS:
        flags = list_level_features(level)
        assert level_of(flags) == level
        assert list_missing_features(level, flags) == ()


@pytest.mark.parametrize("missing", LEVELS["x86-64-v3"])
def test_a_level_is_not_reached_if_any_feature_is_missing(missing: str) -> None:
    flags = set(list_level_features("x86-64-v3")) - {missing}
    assert level_of(flags) == "x86-64-v2"
    assert list_missing_features("x86-64-v3", flags) == (missing,)


def test_higher_level_features_do_not_make_up_for_a_lower_level() -> None:
    flags = set(list_level_features("x86-64-v4")) - {"popcnt"}
    assert level_of(flags) == "x86-64-v1"


def test_no_level_without_long_mode() -> None:
    assert level_of(("fpu", "sse", "sse2")) is None


def test_the_level_of_arm_needs_neon_and_is_the_only_one() -> None:
    assert level_of(("fp", "asimd", "sve"), AARCH64) == "armv8-a"
    assert level_of(("fp", "sse2"), AARCH64) is None
    assert list_level_features("armv8-a") == ("fp", "asimd")
    assert find_masked_features(("fp", "asimd"), "Neoverse N1", "armv8-a") == ()
    assert tunable_for("armv8-a") == ""


def test_a_feature_that_never_comes_alone_shows_what_is_masked() -> None:
    flags = set(list_level_features("x86-64-v3")) - {"bmi1", "bmi2"}
    assert find_masked_features(flags, "QEMU Virtual CPU", "x86-64-v2") == ("bmi1", "bmi2")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "x86-64-v2"),
        ("AMD EPYC 7763 64-Core Processor", "x86-64-v2"),
        ("AMD EPYC 9R14", "x86-64-v3"),
        ("Intel(R) Core(TM) i7-10700K CPU @ 3.80GHz", "x86-64-v2"),
    ],
)
def test_the_family_shows_what_is_masked(name: str, level: str) -> None:
    following = list(LEVELS)[list(LEVELS).index(level) + 1]
    assert find_masked_features(list_level_features(level), name, level) == LEVELS[following]


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("AMD EPYC 7763 64-Core Processor", "x86-64-v3"),
        ("Intel(R) Core(TM) i7-3770 CPU @ 3.40GHz", "x86-64-v2"),
        ("Intel(R) Pentium(R) CPU G4400 @ 3.30GHz", "x86-64-v2"),
        ("Intel(R) Xeon(R) CPU X5570 @ 2.93GHz", "x86-64-v2"),
        ("AMD EPYC 9R14", "x86-64-v4"),
        ("", None),
    ],
)
def test_what_a_cpu_never_had_is_not_masked(name: str, level: str | None) -> None:
    assert find_masked_features(list_level_features(level) if level else (), name, level) == ()


def test_levels_have_a_rank_and_other_names_none() -> None:
    assert [rank(level) for level in (*LEVELS, "x86-64", "x86-64-baseline")] == [1, 2, 3, 4, 1, 1]
    assert [rank(level) for level in ("native", "baseline", "", None, "x86-64-v3-avx")] == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("libc", "version", "knows"),
    [
        ("glibc", "2.36", "yes"),
        ("glibc", "2.33", "yes"),
        ("glibc", "2.32", "no"),
        ("glibc", "2.5", "no"),
        ("glibc", "3.0", "yes"),
        ("glibc", "", "yes"),
        ("musl", "1.2.5", "no"),
    ],
)
def test_only_later_loaders_of_glibc_choose_by_level(libc: str, version: str, knows: str) -> None:
    assert knows_levels(libc, version) == (knows == "yes")


@pytest.mark.parametrize(
    ("vendor", "level", "more", "expected"),
    [
        ("GenuineIntel", "x86-64-v2", (), ("x86_64", ("x86_64",))),
        ("GenuineIntel", "x86-64-v3", (), ("haswell", ("x86_64",))),
        ("GenuineIntel", "x86-64-v4", (), ("haswell", ("avx512_1", "x86_64"))),
        ("AuthenticAMD", "x86-64-v4", (), ("x86_64", ("x86_64",))),
        ("GenuineIntel", "x86-64-v3", ("avx512cd", "avx512er", "avx512pf"), ("xeon_phi", ("x86_64",))),
    ],
)
def test_what_the_loader_calls_a_cpu(
    vendor: str, level: str, more: tuple[str, ...], expected: tuple[str, tuple[str, ...]]
) -> None:
    cpu = Cpu(architecture="x86_64", vendor=vendor, flags=(*list_level_features(level), *more))
    assert platform_of(cpu) == expected


@pytest.mark.parametrize(
    ("flags", "capabilities"),
    [
        ("fp asimd", ()),
        ("fp asimd crc32 atomics sve", ("atomics",)),
    ],
)
def test_what_the_loader_calls_a_cpu_of_arm(flags: str, capabilities: tuple[str, ...]) -> None:
    cpu = Cpu(architecture="aarch64", flags=tuple(flags.split()))
    assert platform_of(cpu) == ("aarch64", capabilities)


def test_auxiliary_vector_features_are_named_as_in_cpuinfo() -> None:
    told = list_auxiliary_features(AARCH64, 0xECFFFFFB, 0x7F877FFF)
    assert {"fp", "asimd", "atomics", "asimddp", "fphp", "sve", "sve2", "i8mm"} <= {*told}
    assert "evtstrm" not in told
    assert list_auxiliary_features(AARCH64, 0x8FB, 0) == (
        *("fp", "asimd", "aes", "pmull", "sha1", "sha2", "crc32", "cpuid"),
    )
    assert list_auxiliary_features(AARCH64, 0, 1 << 63) == ()
    assert list_auxiliary_features(X86_64, -1, -1) == ()


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_a_level_is_what_archspec_says_it_is(level: str) -> None:
    """archspec leaves out the features of x86-64-v1, and writes "sse3" where the kernel writes "pni"."""
    theirs = TARGETS[level.replace("-", "_")].features
    ours = {"sse3" if flag == "pni" else flag for flag in list_level_features(level)}
    assert ours - set(LEVELS["x86-64-v1"]) == set(theirs) - set(LEVELS["x86-64-v1"])

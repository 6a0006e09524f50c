"""The CPU as observed from files that were captured on various machines."""

import struct
from pathlib import Path

import pytest
from support.values.builders import changed, healthy_facts

from fastinstall.core.architecture import AARCH64
from fastinstall.elf.cpu import LEVELS, Cpu
from fastinstall.observe.cpu import find_hiding_tunables, level_from_help, observe_cpu, parse_auxiliary, parse_cpuinfo
from fastinstall.observe.observation import list_searched_levels

MACHINES = Path(__file__).parents[2] / "cases" / "machines"

HELP = """\
This program interpreter self-identifies as: /lib64/ld-linux-x86-64.so.2

Subdirectories of glibc-hwcaps directories, in priority order:
  x86-64-v4
  x86-64-v3 (supported, searched)
  x86-64-v2 (supported, searched)

Legacy HWCAP subdirectories under library search path directories:
  x86_64 (AT_PLATFORM; supported, searched)
"""


def _observe(machine: str) -> Cpu:
    return observe_cpu(root=MACHINES / machine, allowed_cores=2)


@pytest.mark.parametrize(
    ("machine", "level"),
    [
        ("core2-desktop", "x86-64-v1"),
        ("nehalem-server", "x86-64-v2"),
        ("piledriver-desktop", "x86-64-v2"),
        ("haswell-desktop", "x86-64-v3"),
        ("zen4-container", "x86-64-v4"),
        ("graviton", "armv8-a"),
    ],
)
def test_the_level_follows_from_the_flags(machine: str, level: str) -> None:
    cpu = _observe(machine)
    assert cpu.level == level
    assert cpu.level_source == "/proc/cpuinfo"


def test_architecture_vendor_and_name_are_read() -> None:
    graviton = _observe("graviton")
    assert (graviton.architecture, graviton.vendor, graviton.name) == ("aarch64", "ARM", "Neoverse N1")
    cpu = _observe("piledriver-desktop")
    assert (cpu.architecture, cpu.vendor) == ("x86_64", "AuthenticAMD")
    assert cpu.name == "AMD FX(tm)-8350 Eight-Core Processor"


def test_a_virtual_machine_that_hides_features_is_told() -> None:
    cpu = _observe("skylake-vm-without-avx")
    assert cpu.hypervisor
    assert cpu.masked == tuple(flag for flag in LEVELS["x86-64-v3"] if flag != "xsave")
    assert _observe("vm-with-half-a-level").masked == ("bmi1", "bmi2")


def test_a_real_cpu_without_a_feature_hides_nothing() -> None:
    assert _observe("piledriver-desktop").masked == ()
    assert not _observe("piledriver-desktop").hypervisor


@pytest.mark.parametrize(
    ("machine", "quota"),
    [
        ("zen4-container", 1.5),
        ("docker-cgroup-v1", 2.5),
        ("cgroup-v1-unlimited", None),
        ("haswell-desktop", None),
    ],
)
def test_the_tightest_limit_of_the_control_groups_counts(machine: str, quota: float | None) -> None:
    assert _observe(machine).quota == quota


def test_flags_that_only_some_processors_have_do_not_count(tmp_path: Path) -> None:
    text = (MACHINES / "haswell-desktop/proc/cpuinfo").read_text()
    first, second, *_ = text.split("\n\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(f"{first}\n\n{second.replace(' avx2', '')}\n\n")
    assert observe_cpu(root=tmp_path, allowed_cores=2).level == "x86-64-v2"


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("0x41 0xd4f",), "Neoverse V2"),
        (("0x41 0xd0b", "0x41 0xd0b", "0x41 0xd05"), "Cortex-A76 + Cortex-A55"),
        (("0x61 0x000",), "Apple (virtual)"),
        (("0x41 0xfff",), "ARM part 0xfff"),
        (("0x77 0x001",), "implementer 0x77 part 0x1"),
        (("odd 0xd4f",), ""),
        (("0x41 0xd4f", "odd odd"), "Neoverse V2"),
    ],
)
def test_processors_of_arm_are_named_by_their_numbers(parts: tuple[str, ...], name: str) -> None:
    blocks = (part.split() for part in parts)
    text = "\n\n".join(
        f"processor: 0\nFeatures: fp asimd\nCPU implementer: {implementer}\nCPU architecture: 8\nCPU part: {part}"
        for implementer, part in blocks
    )
    cpu = parse_cpuinfo(text)
    assert (cpu.architecture, cpu.level, cpu.name) == ("aarch64", "armv8-a", name)


@pytest.mark.parametrize(
    ("pairs", "flags"),
    [
        (((16, 0x103), (26, 1 << 13), (0, 0)), ("fp", "asimd", "atomics", "i8mm")),
        (((16, 0x3),), ("fp", "asimd")),
        ((), ()),
    ],
)
def test_features_are_read_from_the_auxiliary_vector(pairs: tuple[tuple[int, int], ...], flags: tuple[str]) -> None:
    content = b"".join(struct.pack("=QQ", *pair) for pair in pairs)
    assert parse_auxiliary(content, AARCH64) == flags
    assert parse_auxiliary(content + b"cut", AARCH64) == flags


def test_a_machine_without_cpuinfo_is_unknown_and_no_failure(tmp_path: Path) -> None:
    cpu = observe_cpu(root=tmp_path, allowed_cores=3)
    assert (cpu.level, cpu.flags, cpu.cores) == (None, (), 3)


def test_the_loader_names_the_best_level_that_it_supports() -> None:
    assert level_from_help(HELP) == "x86-64-v3"
    assert level_from_help(HELP.replace(" (supported, searched)", "")) == "x86-64-v1"


def test_a_loader_that_knows_no_levels_says_nothing() -> None:
    assert level_from_help("Usage: ld.so [OPTION]... EXECUTABLE-FILE [ARGS-FOR-PROGRAM...]\n") is None


@pytest.mark.parametrize(
    ("tunables", "hidden"),
    [
        ("", ""),
        ("glibc.cpu.hwcaps=-AVX2", "glibc.cpu.hwcaps=-AVX2"),
        ("glibc.malloc.hugetlb=1:glibc.cpu.hwcaps=-AVX2,-BMI2", "glibc.cpu.hwcaps=-AVX2,-BMI2"),
        ("glibc.tune.hwcaps=Prefer_ERMS,-AVX_Usable", "glibc.tune.hwcaps=Prefer_ERMS,-AVX_Usable"),
        ("glibc.cpu.hwcaps=Prefer_ERMS", ""),
        ("glibc.malloc.hugetlb=1", ""),
        ("nonsense", ""),
    ],
)
def test_what_glibc_tunables_hides_from_the_loader_is_told(tunables: str, hidden: str) -> None:
    assert find_hiding_tunables(tunables) == hidden


def test_tunables_hide_nothing_without_a_level_choosing_loader() -> None:
    machine = MACHINES / "haswell-desktop"
    cpu = observe_cpu(root=machine, allowed_cores=2, tunables="glibc.cpu.hwcaps=-AVX2")
    assert (cpu.level, cpu.tunables) == ("x86-64-v3", "")


@pytest.mark.parametrize(
    ("level", "version", "searched"),
    [
        ("x86-64-v3", "2.36", ("x86-64-v3", "x86-64-v2")),
        ("x86-64-v1", "2.36", ()),
        ("x86-64-v4", "2.31", ()),
        (None, "2.36", ()),
    ],
)
def test_the_loader_searches_the_levels_that_it_and_the_cpu_know(
    level: str | None, version: str, searched: tuple[str, ...]
) -> None:
    facts = changed(healthy_facts(), {"cpu": {"level": level}, "interpreter": {"libc_version": version}})
    assert list_searched_levels(facts.cpu, facts.interpreter) == searched

"""The limits for loading images, observed from files that were captured on various machines."""

from pathlib import Path

import pytest
from support.values.builders import healthy_facts

from fastinstall.model.facts import Distribution
from fastinstall.observe.cpu import huge_pages, memory_bytes, observe_loading, observe_machine

MIB = 1 << 20
NO_LIMIT = 9223372036854771712


def _machine(root: Path, groups: str, limits: dict[str, str | int]) -> Path:
    files = {"proc/meminfo": "MemTotal:       16384 kB\nMemFree:   100 kB\n", "proc/self/cgroup": groups}
    files |= {f"sys/fs/cgroup/{name}": f"{limit}\n" for name, limit in limits.items()}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("groups", "limits", "megabytes"),
    [
        ("0::/user.slice/job", {"user.slice/job/memory.max": "max", "user.slice/memory.max": 4 * MIB}, 4),
        ("0::/", {"memory.max": 3 * MIB}, 3),
        ("0::/", {"memory.max": 64 * MIB}, 16),
        ("0::/", {}, 16),
        ("4:memory:/docker/1\n3:cpu,cpuacct:/", {"memory/docker/1/memory.limit_in_bytes": 2 * MIB}, 2),
        ("4:memory:/docker/1", {"memory/memory.limit_in_bytes": 5 * MIB}, 5),
        ("4:memory:/", {"memory/memory.limit_in_bytes": NO_LIMIT}, 16),
        ("3:cpu:/", {"memory/memory.limit_in_bytes": 2 * MIB}, 16),
        ("0::/job\n4:memory:/job", {"unified/job/memory.max": 7 * MIB}, 7),
    ],
)
def test_the_least_that_is_granted_counts(
    tmp_path: Path, groups: str, limits: dict[str, str | int], megabytes: int
) -> None:
    assert memory_bytes(_machine(tmp_path, groups, limits)) == megabytes * MIB


@pytest.mark.parametrize(
    ("text", "word"), [("always [madvise] never\n", "madvise"), ("[always] madvise never\n", "always"), ("", "")]
)
def test_the_kernels_word_on_huge_pages_is_the_chosen_one(tmp_path: Path, text: str, word: str) -> None:
    place = tmp_path / "sys/kernel/mm/transparent_hugepage"
    place.mkdir(parents=True)
    (place / "enabled").write_text(text)
    assert huge_pages(tmp_path) == word


def test_a_machine_that_says_nothing_is_unknown_and_no_failure(tmp_path: Path) -> None:
    cpu = healthy_facts().cpu
    machine = observe_machine(cpu, "2.36", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, tmp_path)
    assert (machine.cpu, machine.cores, machine.quota) == (cpu.name, cpu.cores, cpu.quota)
    assert (machine.memory_bytes, machine.huge_pages) == (0, "")
    assert (machine.libc_version, machine.tunables) == ("2.36", "glibc.malloc.hugetlb=1")


def test_this_machine_has_memory() -> None:
    assert memory_bytes() > 100 * MIB


def distribution(name: str) -> Distribution:
    return Distribution(name=name, version="1", metadata=f"{name}-1.dist-info")


def test_where_nothing_trains_nothing_is_looked_at() -> None:
    assert observe_loading((distribution("pillow"), distribution("opencv-python")), "") is None


def test_beside_torch_huge_pages_and_tunables_are_recorded() -> None:
    seen = observe_loading((distribution("pillow"), distribution("torch")), "glibc.malloc.hugetlb=1")
    assert seen is not None
    assert seen.tunables == "glibc.malloc.hugetlb=1"
    assert seen.huge_pages in ("always", "madvise", "never", "")

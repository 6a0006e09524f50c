"""Which candidates there are on a machine, and in which order they are measured."""

from dataclasses import replace
from pathlib import Path

import pytest

from fastinstall.bench.candidates import (
    CandidateRun,
    UnpackedPackages,
    huge_pages_variables,
    make_candidate_runs,
    make_control_run,
    require_known,
    sort_by_promise,
)
from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.report import CandidateOutcome
from fastinstall.core.errors import UsageError
from fastinstall.model.machine import LoaderLimits

MACHINE = LoaderLimits(cpu="a CPU", cores=2, huge_pages="madvise", libc_version="2.36")
PACKAGES: dict[str, UnpackedPackages | None] = {
    "official-wheel": UnpackedPackages(title="the official wheel", directory=Path("/official")),
    "fastinstall": UnpackedPackages(title="our build", directory=Path("/ours")),
    "simplejpeg": UnpackedPackages(directory=Path("/brought")),
    "lmdb": UnpackedPackages(absent="lmdb is not installed"),
}


def runs(
    *names: str,
    packages: dict[str, UnpackedPackages | None] = PACKAGES,
    machine: LoaderLimits = MACHINE,
    own: bool = False,
) -> dict[str, CandidateRun]:
    found = make_candidate_runs(machine, {}, packages, is_own_loader=own, names=names)
    return {each.candidate.name: each for each in found}


def test_everything_but_the_baseline_is_a_candidate() -> None:
    assert set(runs()) == {way.name for way in all_ways()} - {"pillow"}
    assert {way.kind for way in all_ways()} == {each.candidate.kind for each in runs().values()}


def test_packages_go_to_the_front_of_the_path() -> None:
    ours, fetched = runs()["fastinstall"], runs()["simplejpeg"]
    assert (ours.site, ours.candidate.adapter, ours.candidate.stack) == ((Path("/ours"),), "pillow", "fastinstall")
    assert ours.candidate.title == "our build"
    assert (fetched.site, fetched.candidate.stack) == ((Path("/brought"),), "its own")


def test_what_changes_nothing_is_named_only_if_asked_for() -> None:
    packages, still = {**PACKAGES, "fastinstall": None}, replace(MACHINE, huge_pages="never")
    assert {"fastinstall", "huge-pages"}.isdisjoint(runs(packages=packages, machine=still))
    found = runs("fastinstall", "huge-pages", "pillow", packages=packages, machine=still)
    assert {each.absence for each in found.values()} == {CandidateOutcome.UNSUITED}
    assert found["fastinstall"].absent == "it is installed already"


def test_an_own_loader_loads_with_other_builds_and_files() -> None:
    found = runs(own=True)
    assert found["pillow"].candidate.adapter == "pillow"
    own = ("fastinstall", "huge-pages", "resized")
    assert {found[name].candidate.adapter for name in own} == {"own loader"}
    assert make_control_run(is_own_loader=True).candidate.adapter == "own loader"


def test_a_missing_package_has_its_reason() -> None:
    assert runs()["lmdb"].absent == "lmdb is not installed"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'pilow'") as caught:
        require_known(("pilow",))
    assert "pillow-draft" in str(caught.value.hint)


def test_huge_pages_add_to_other_tunables() -> None:
    found = huge_pages_variables(MACHINE, {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"})
    assert found == {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2:glibc.malloc.hugetlb=1"}


@pytest.mark.parametrize(
    ("machine", "tunables"),
    [
        (MACHINE, "glibc.malloc.hugetlb=1"),
        (replace(MACHINE, huge_pages="never"), ""),
        (replace(MACHINE, libc_version="2.31"), ""),
        (replace(MACHINE, libc_version=""), ""),
    ],
)
def test_huge_pages_need_a_kernel_and_glibc(machine: LoaderLimits, tunables: str) -> None:
    assert huge_pages_variables(machine, {"GLIBC_TUNABLES": tunables}) == {}


def test_the_most_promising_come_first() -> None:
    large = [each.candidate.name for each in sort_by_promise(tuple(runs().values()), 4.0)]
    small = [each.candidate.name for each in sort_by_promise(tuple(runs().values()), 1.0)]
    assert large[:3] == ["pillow-draft", "fastinstall", "official-wheel"]
    assert large[-1] == "bmp"
    assert small[0] == "fastinstall"
    assert small.index("pillow-draft") > small.index("bmp")

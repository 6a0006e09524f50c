"""The candidates on a machine, and the order in which they are measured."""

from dataclasses import replace

import pytest

from fastinstall.bench.candidates import (
    baseline_of,
    control_of,
    huge_pages_variables,
    missing,
    plan_candidates,
    require_known,
    select_candidates,
    sort_by_promise,
    unsuited,
)
from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.report import Candidate, CandidateOutcome
from fastinstall.core.errors import UsageError
from fastinstall.model.machine import LoaderLimits

MACHINE = LoaderLimits(cpu="a CPU", cores=2, huge_pages="madvise", libc_version="2.36")


def planned(machine: LoaderLimits = MACHINE, *, own: bool = False) -> dict[str, Candidate]:
    return {each.name: each for each in plan_candidates(machine, {}, is_own_loader=own)}


def test_all_but_the_baseline_are_selected() -> None:
    candidates = tuple(planned().values())
    assert {each.name for each in candidates} == {way.name for way in all_ways()}
    assert {each.name for each in select_candidates(candidates, ())} == {way.name for way in all_ways()} - {"pillow"}
    assert {way.kind for way in all_ways()} == {each.kind for each in candidates}


def test_what_changes_nothing_is_selected_by_name_only() -> None:
    candidates = planned(replace(MACHINE, huge_pages="never"))
    installed = unsuited(candidates["fastinstall"], "it is installed already")
    absent = missing(candidates["lmdb"], "lmdb is not installed")
    pages = candidates["huge-pages"]
    assert select_candidates((installed, absent, pages), ()) == (absent,)
    assert select_candidates((installed, absent, pages), ("fastinstall", "huge-pages")) == (installed, pages)
    assert {each.outcome for each in (installed, pages, candidates["pillow"])} == {CandidateOutcome.UNSUITED}
    assert (absent.outcome, absent.reason) == (CandidateOutcome.MISSING, "lmdb is not installed")


def test_an_own_loader_loads_with_other_builds_and_files() -> None:
    found = planned(own=True)
    assert found["pillow"].adapter == "pillow"
    own = ("fastinstall", "huge-pages", "resized")
    assert {found[name].adapter for name in own} == {"own loader"}
    assert control_of(baseline_of("mine", is_own_loader=True)).adapter == "own loader"


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
    candidates = select_candidates(tuple(planned().values()), ())
    large, small = ([each.name for each in sort_by_promise(candidates, scale)] for scale in (4.0, 1.0))
    assert large[:3] == ["pillow-draft", "fastinstall", "official-wheel"]
    assert large[-1] == "bmp"
    assert small[0] == "fastinstall"
    assert small.index("pillow-draft") > small.index("bmp")

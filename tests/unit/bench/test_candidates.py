from dataclasses import replace
from pathlib import Path

from fastinstall.bench.candidates import (
    CandidateRun,
    Materials,
    UnpackedPackages,
    make_candidate_runs,
    make_control_run,
)
from fastinstall.bench.catalogue import Adapter, huge_pages_variables, kind_named
from fastinstall.bench.report import CandidateKind
from fastinstall.model.machine import LoaderLimits

MACHINE = LoaderLimits(cpu="a CPU", cores=2, huge_pages="madvise", libc_version="2.36")


def adapter(name: str, *, formats: tuple[str, ...] = (), aliased: bool = False) -> Adapter:
    return Adapter(
        name=name,
        title=name.title(),
        modules=("PIL",) if name.startswith("pillow") else (name,),
        brings=(name,),
        by_hand="",
        formats=formats,
        aliased=aliased,
        code="",
        loader="",
        file=Path(f"{name}.py"),
    )


MATERIALS = Materials(
    machine=MACHINE,
    variables={},
    official=UnpackedPackages(title="the official wheel", directory=Path("/official")),
    fastinstall=UnpackedPackages(title="our build", directory=Path("/ours")),
    adapters=(adapter("pillow"), adapter("pillow-draft", formats=("JPEG",)), adapter("fast", aliased=True)),
    stores=(kind_named("resized"),),
)


def named(materials: Materials = MATERIALS) -> dict[str, CandidateRun]:
    return {each.name: each for each in make_candidate_runs(materials)}


def test_each_kind_of_candidate_is_there() -> None:
    kinds = {name: each.candidate.kind for name, each in named().items()}
    assert kinds == {
        "fastinstall": CandidateKind.STACK,
        "official-wheel": CandidateKind.STACK,
        "pillow-draft": CandidateKind.DECODER,
        "fast": CandidateKind.DECODER,
        "huge-pages": CandidateKind.SETTING,
        "resized": CandidateKind.STORAGE,
    }


def test_a_stack_is_the_same_code_with_other_packages_in_front() -> None:
    ours = named()["fastinstall"]
    assert (ours.site, ours.candidate.adapter, ours.candidate.stack) == ((Path("/ours"),), "pillow", "fastinstall")


def test_what_is_in_place_is_no_candidate() -> None:
    assert {"fastinstall", "official-wheel"}.isdisjoint(named(replace(MATERIALS, official=None, fastinstall=None)))


def test_plain_pillow_is_a_candidate_where_the_baseline_is_a_loader_of_the_users_own() -> None:
    found = named(replace(MATERIALS, own_loader=True))
    assert found["pillow"].candidate.adapter == "pillow"
    assert {found[name].candidate.adapter for name in ("fastinstall", "huge-pages", "resized")} == {"own loader"}


def test_what_is_missing_has_a_row_that_says_why() -> None:
    found = named(replace(MATERIALS, libraries={"fast": UnpackedPackages(absent="fast is not installed")}))
    assert found["fast"].absent == "fast is not installed"


def test_what_was_brought_stands_in_front_of_the_path() -> None:
    found = named(replace(MATERIALS, libraries={"fast": UnpackedPackages(directory=Path("/brought"))}))
    assert (found["fast"].site, found["fast"].candidate.stack) == ((Path("/brought"),), "its own")


def test_a_control_is_the_baseline_again() -> None:
    assert make_control_run(is_own_loader=True).candidate.adapter == "own loader"
    assert make_control_run(is_own_loader=False).control


def test_tunables_that_are_set_are_kept_and_added_to() -> None:
    found = huge_pages_variables(MACHINE, {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"})
    assert found == {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2:glibc.malloc.hugetlb=1"}


def test_a_setting_that_would_change_nothing_is_no_candidate() -> None:
    assert huge_pages_variables(MACHINE, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}) == {}
    assert huge_pages_variables(replace(MACHINE, huge_pages="never"), {}) == {}
    assert huge_pages_variables(replace(MACHINE, libc_version="2.31"), {}) == {}
    assert huge_pages_variables(replace(MACHINE, libc_version=""), {}) == {}

from dataclasses import replace
from pathlib import Path

from support.suite.golden import Golden

from fastinstall.bench.candidates import (
    CandidateRun,
    Materials,
    UnpackedPackages,
    join_candidate_runs,
    make_candidate_runs,
    make_control_run,
    mark_controls,
    select_candidate_runs,
)
from fastinstall.bench.catalogue import SETTINGS, Adapter, ProcessVariables, kind_named, variables_of
from fastinstall.bench.report import CandidateKind
from fastinstall.bench.survey import SurveyedImage
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
        "malloc-keep": CandidateKind.SETTING,
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


def test_names_restrict_the_candidates() -> None:
    assert [each.name for each in select_candidate_runs(make_candidate_runs(MATERIALS), ["huge-pages", "fast"])] == [
        "fast",
        "huge-pages",
    ]
    assert len(select_candidate_runs(make_candidate_runs(MATERIALS), [])) == len(named())


def test_what_helps_together_needs_all_that_can_be_joined() -> None:
    found = {each.name for each in select_candidate_runs(make_candidate_runs(MATERIALS), ["together"])}
    assert found == {"fastinstall", "official-wheel", "pillow-draft", "huge-pages", "malloc-keep"}


def test_what_was_brought_is_not_joined_as_it_would_have_to_be_installed_first() -> None:
    brought = replace(MATERIALS, libraries={"pillow-draft": UnpackedPackages(directory=Path("/brought"))})
    assert not named(brought)["pillow-draft"].can_be_joined
    assert named()["pillow-draft"].can_be_joined


def test_together_has_the_stack_of_one_the_decoder_of_another_and_the_variables_of_a_third() -> None:
    found = named()
    joined = join_candidate_runs([found["fastinstall"], found["pillow-draft"], found["huge-pages"]])
    assert joined.candidate.kind is CandidateKind.TOGETHER
    assert joined.site == (Path("/ours"),)
    assert joined.candidate.stack == "fastinstall"
    assert joined.candidate.adapter == "pillow-draft"
    assert joined.formats == ("JPEG",)
    assert joined.candidate.variables == {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def photo(side: int, kind: str = "JPEG") -> SurveyedImage:
    return SurveyedImage(path=Path("a"), format=kind, width=side, height=side)


def test_what_decodes_less_is_a_control_where_no_image_is_large_enough(golden: Golden) -> None:
    drafts = replace(adapter("pillow-draft", formats=("JPEG",)), scales=2)
    found = make_candidate_runs(replace(MATERIALS, adapters=(drafts, adapter("pillow-no-copy"))))
    small = {each.name: each for each in mark_controls(found, [photo(511), photo(4000, "PNG")], 256)}
    golden(small["pillow-draft"].control)
    assert not small["pillow-draft"].can_be_joined
    assert [name for name, each in small.items() if each.control] == ["pillow-draft"]
    assert not any(each.control for each in mark_controls(found, [photo(200), photo(512)], 256))


def test_another_library_is_no_control_however_small_the_images_are() -> None:
    other = replace(adapter("simplejpeg-scaled", formats=("JPEG",)), scales=2)
    found = make_candidate_runs(replace(MATERIALS, adapters=(other,)))
    assert not any(each.control for each in mark_controls(found, [photo(200)], 256))


def test_where_nothing_else_is_a_control_the_baseline_is_measured_again() -> None:
    assert make_control_run(is_own_loader=True).candidate.adapter == "own loader"
    assert make_control_run(is_own_loader=False).control


def setting(name: str) -> ProcessVariables:
    return next(each for each in SETTINGS if each.name == name)


def test_tunables_that_are_set_are_kept_and_added_to() -> None:
    found = variables_of(setting("huge-pages"), MACHINE, {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"})
    assert found == {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2:glibc.malloc.hugetlb=1"}


def test_a_setting_that_would_change_nothing_is_no_candidate() -> None:
    huge = setting("huge-pages")
    assert variables_of(huge, MACHINE, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}) == {}
    assert variables_of(huge, replace(MACHINE, huge_pages="never"), {}) == {}
    assert variables_of(huge, replace(MACHINE, libc_version="2.31"), {}) == {}
    assert variables_of(huge, replace(MACHINE, libc_version=""), {}) == {}
    assert variables_of(setting("malloc-keep"), replace(MACHINE, libc_version="2.31"), {})

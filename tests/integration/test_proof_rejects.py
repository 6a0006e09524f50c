"""The proof refuses what has to be refused: blind merges, the fork's own bugs, slow builds, misplaced cores, faults.

Each build is made by the real commands; only what a test changes is compiled again.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from merged_build import LEVEL, QUICKLY, MergedBuild, merged_build
from needs import require_system

from fastinstall.cmerge.diagnostics import check_tree
from fastinstall.elf.cpu_levels import rank
from fastinstall.observe.cpu import observe_cpu
from fastinstall.proof.cases import FEW_SIZES, SIZES, ProofStatus, matrix_cases
from fastinstall.proof.runs import ProofStack
from fastinstall.proof.sanitizers import prove_warnings
from fastinstall.proof.variant import CoreSteps, SanitizedVariant, compile_core
from fastinstall.proof.whole import BOUND, FLAGS_NAME, LEVELS_NAME, prove_binaries, prove_speed
from fastinstall.wheelbuild.assemble import place_cores, plan_core_placements
from fastinstall.wheelbuild.base_wheel import BaseWheel, open_base_wheel
from fastinstall.wheelbuild.linking import LinkLocation

FILTER = "src/libImaging/Filter.c"
BLUR = "src/libImaging/BoxBlur.c"


@pytest.fixture(scope="module")
def build(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MergedBuild]:
    require_system(shutil.which("gcc"), "gcc")
    cpu = observe_cpu(allowed_cores=1, tunables="")
    require_system(rank(cpu.level) >= rank(LEVEL), f"a CPU of {LEVEL}")
    with merged_build(shared_cache, tmp_path_factory.mktemp("merged")) as made:
        yield made


def cases(
    *begins: str, modes: tuple[str, ...] = ("RGB", "RGBA", "L"), sizes: tuple[tuple[int, int], ...] = FEW_SIZES
) -> tuple[str, ...]:
    return tuple(case for case in matrix_cases(sizes=sizes, modes=modes) if case.startswith(begins))


@pytest.fixture(scope="module")
def unguarded(build: MergedBuild) -> Path:
    return build.unguarded("unguarded")


@pytest.fixture(scope="module")
def fork(build: MergedBuild, unguarded: Path) -> ProofStack:
    """The fork's code as it is, without the conditions of the recipe."""
    return build.stack("fork", unguarded)


def test_what_is_right_proves(build: MergedBuild) -> None:
    ours = build.stack("right", build.build_tree.source)
    chosen = cases("resize/", "box-blur/", "filter-", "colour-table/", "split/", modes=("RGB", "LA", "I;16"))
    assert build.differences(ours, chosen) == ()
    quick = prove_warnings(build.build_tree, quick=True)
    assert (quick.status, quick.details) == (ProofStatus.OK, ())


def test_the_fork_s_files_put_over_upstream_s_are_refused(build: MergedBuild) -> None:
    build_tree = build.build_tree
    assert build_tree.fork is not None
    assert build_tree.stock is not None
    blind = build.scratch / "blind" / build_tree.stock.name
    shutil.copytree(build_tree.stock, blind)
    report = build_tree.work.report
    assert report is not None
    for file in (*report.files, *report.new_files):
        if (build_tree.fork / file).is_file():
            shutil.copyfile(build_tree.fork / file, blind / file)
    problems = check_tree(build_tree.stock, blind, report.files)
    assert any(problem.startswith(FILTER) for problem in problems)
    assert any("MUTEX_LOCK 0 times" in problem for problem in problems)
    compiled = prove_warnings(replace(build_tree, source=blind), quick=True)
    assert compiled.status is ProofStatus.FAILED


def test_the_fork_s_filters_of_16_bits_are_refused(build: MergedBuild, fork: ProofStack) -> None:
    found = build.differences(fork, cases("filter-3x3/", "filter-5x5/", modes=("I;16",)))
    assert {each.operation for each in found} == {"filter-3x3", "filter-5x5"}


def test_the_fork_s_blur_along_one_axis_is_refused(build: MergedBuild, fork: ProofStack) -> None:
    chosen = tuple(case for case in cases("box-blur/", modes=("RGB",)) if case.endswith(("/3:0", "/0:3")))
    found = build.differences(fork, chosen)
    assert max(each.largest for each in found) > 100
    assert {each.case.rpartition("/")[2] for each in found} == {"3:0", "0:3"}


def test_the_fork_s_read_beside_pictures_of_one_pixel_is_refused(build: MergedBuild, unguarded: Path) -> None:
    chosen = tuple(case for case in cases("box-blur/RGB/1x9", "box-blur/RGB/19x1") if case.endswith("/0.3"))
    source = build.changed("blur-of-the-fork", BLUR, r"\Z", "")
    shutil.copyfile(unguarded / BLUR, source / BLUR)
    found = build.sanitized_faults("fork-pixel", source, chosen)
    assert {each.case for each in found} == set(chosen)
    assert all("heap-buffer-overflow" in each.problem for each in found)


def test_a_guarded_blur_reads_no_more_than_there_is(build: MergedBuild) -> None:
    same = build.changed("reviewed", BLUR, r"\Z", "/* compiled again */\n")
    assert build.sanitized_faults("guarded-pixel", same, cases("box-blur/", "gaussian-blur/", modes=("RGB", "L"))) == ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A mistake that a merge could make.

    Attributes:
        file: where.
        pattern: what is changed there.
        replacement: to what.
        begins: how the cases begin that show it.
        modes: of the pictures that show it.
    """

    file: str
    pattern: str
    replacement: str
    begins: tuple[str, ...]
    modes: tuple[str, ...] = ("RGB", "RGBA", "LA")


FAULTS = {
    "an offset is lost": Fault(
        file="src/libImaging/Resample.c",
        pattern=r"image32 \[yy \+ offset\], imOut",
        replacement="image32 [yy], imOut",
        begins=("resize/",),
    ),
    "an offset of four rows is lost": Fault(
        file="src/libImaging/Resample.c",
        pattern=r"image32 \[yy \+ offset( \+ \d)?\], \(UINT32",
        replacement=r"image32 [yy\1], (UINT32",
        begins=("resize/",),
    ),
    "a loop ends one pixel early": Fault(
        file="src/libImaging/Bands.c",
        pattern=r"for \(; x < xsize; x ?\+\+\)",
        replacement="for (; x < xsize - 1; x++)",
        begins=("split/", "getchannel/"),
    ),
    "the rounding of the table of colours is lost where it is prepared": Fault(
        file="src/_imaging.c",
        pattern=r"0x7fff - PRECISION_ROUNDING;",
        replacement="0x7fff;",
        begins=("colour-table/",),
    ),
    "the half that rounds the table's result is lost": Fault(
        file="src/libImaging/ColorLUT.c",
        pattern=r"_set1_epi16 \(PRECISION_ROUNDING\)",
        replacement="_set1_epi16 (0)",
        begins=("colour-table/",),
    ),
    "split returns what it returned before": Fault(
        file="src/libImaging/Bands.c",
        pattern=r"return 0;",
        replacement="return imIn->bands;",
        begins=("split/",),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_injected_fault_is_refused(name: str, build: MergedBuild) -> None:
    fault = FAULTS[name]
    directory = name.replace(" ", "-").replace("'", "")
    source = build.changed(directory, fault.file, fault.pattern, fault.replacement)
    chosen = cases(*fault.begins, modes=fault.modes, sizes=SIZES)
    found = build.differences(build.stack(f"{directory}-run", source), chosen)
    assert found
    assert {f"{each.operation}/" for each in found} <= set(fault.begins)


def test_a_loop_that_runs_too_far_is_refused_by_the_sanitizers(build: MergedBuild) -> None:
    source = build.changed("too-far", "src/libImaging/Bands.c", r"x < xsize - 3;", "x < xsize;")
    found = build.sanitized_faults("too-far-run", source, cases("split/", modes=("LA", "RGB"), sizes=((5, 4), (1, 9))))
    assert {each.operation for each in found} == {"split"}


@pytest.mark.parametrize("lost", ["MUTEX_LOCK", "MUTEX_UNLOCK"])
def test_a_dropped_lock_is_refused(lost: str, build: MergedBuild) -> None:
    report, stock = build.build_tree.work.report, build.build_tree.stock
    assert report is not None
    assert stock is not None
    source = build.changed(f"without-{lost}", FILTER, rf"\b{lost}\s*\([^;]*;", ";")
    assert check_tree(stock, build.build_tree.source, report.files) == ()
    problems = check_tree(stock, source, report.files)
    assert problems
    assert all(problem.startswith(FILTER) and lost in problem for problem in problems)


@pytest.fixture(scope="module")
def several(build: MergedBuild) -> BaseWheel:
    """The official wheel once more, for cores of several levels."""
    suffix = build.request.interpreter.extension_suffix
    assert build.request.chassis is not None
    return open_base_wheel(build.request.chassis, "PIL", suffix, build.scratch / "several")


@pytest.mark.parametrize("baseline", ["x86-64-v2", "x86-64-v3"])
def test_a_core_of_a_higher_level_in_the_baseline_s_place_is_refused(
    baseline: str, build: MergedBuild, several: BaseWheel
) -> None:
    places = plan_core_placements(build.request, several, "0" * 64)
    marks = dict(zip((placement.target.level for placement in places), (baseline, LEVEL), strict=True))
    cores = {}
    for placement in places:
        steps = _marked(build, placement.place, marks[placement.target.level])
        variant = SanitizedVariant(source=build.build_tree.source, objects=build.core.objects)
        cores[placement] = compile_core(steps, variant, build.scratch / f"{baseline}-{placement.target.level}").path
    place_cores(build.request, several, cores)
    module = several.core.relative_to(several.root)
    flags, levels = prove_binaries(several.root, module, build.request.step.levels)
    assert (flags.name, flags.status) == (FLAGS_NAME, ProofStatus.OK)
    assert levels.name == LEVELS_NAME
    if baseline == "x86-64-v2":
        assert levels.status is ProofStatus.OK
    else:
        assert levels.details == ("the copy in the place of x86-64-v2 is marked x86-64-v3",)


def _marked(build: MergedBuild, place: LinkLocation, mark: str) -> CoreSteps:
    steps = build.build_tree.steps
    unmarked = replace(steps, link=tuple(word for word in steps.link if not word.startswith("-Wl,-z,x86-64")))
    elsewhere = LinkLocation(run_path=build.build_tree.chassis.run_path).flags
    kept = tuple(word for word in unmarked.link if word not in elsewhere)
    return replace(unmarked, link=(*kept, *place.flags, f"-Wl,-z,{mark}"))


def test_a_build_without_optimisation_is_refused(build: MergedBuild) -> None:
    bare = replace(build, core=replace(build.core, objects={}))
    slow = bare.stack("slow", build.build_tree.source, flags=("-O0",))
    module = build.build_tree.chassis.core.relative_to(build.build_tree.chassis.root)
    flags, _ = prove_binaries(slow.tree, module, (LEVEL,))
    assert flags.status is ProofStatus.FAILED
    assert "look like -O0 code" in flags.summary
    speed = prove_speed(slow, build.reference)
    assert speed.status is ProofStatus.FAILED
    assert f"expected at least {BOUND:g}" in speed.summary


def test_the_kernels_are_fast_enough_to_be_told(build: MergedBuild) -> None:
    assert QUICKLY == ("-O1",)
    speed = prove_speed(build.stack("fast", build.build_tree.source), build.reference)
    assert speed.status is ProofStatus.OK, speed.details

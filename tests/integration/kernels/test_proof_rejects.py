"""The proof rejects faulty kernels, slow builds and misplaced cores.

Each build is made by the real commands; only files that a test changes are recompiled.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from integration.kernels.builds import LEVEL, QUICKLY, KernelsBuild, run_script
from support.suite import extent

from fastinstall.proof.cases import ProofStatus
from fastinstall.proof.matrix_cases import FEW_SIZES, PILLOW_13, matrix_cases
from fastinstall.proof.quick import read_members
from fastinstall.proof.runs import ProofStack
from fastinstall.wheelbuild.base_wheel import (
    BaseWheel,
    CorePlacement,
    location_flags,
    open_base_wheel,
    place_cores,
    plan_core_placements,
)
from whole_proof.binaries import FLAGS_NAME, LEVELS_NAME, prove_binaries
from whole_proof.compiler_warnings import prove_warnings
from whole_proof.extensions import VARIABLE
from whole_proof.recorded_build import CoreSteps
from whole_proof.run import SIZES
from whole_proof.speed import BOUND, prove_speed
from whole_proof.variant import SanitizedVariant, compile_core

PLACE = "src/libImaging"
WIDTHS, PEAK, LITTLE = "vector_widths.py", "peak_of_resize.py", "little_memory.py"
NO_SPARE_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "16384", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_TOP_PAD_": "0"}
"""Maps each large block separately, so that a limit of the address space applies to it."""


def cases(
    *begins: str, modes: tuple[str, ...] = ("RGB", "RGBA", "L"), sizes: tuple[tuple[int, int], ...] = FEW_SIZES
) -> tuple[str, ...]:
    return tuple(case for case in matrix_cases(sizes=sizes, modes=modes) if case.startswith(begins))


def test_what_is_right_proves(build: KernelsBuild, ours: ProofStack) -> None:
    chosen = cases("resize/", "box-blur/", "filter-", "colour-table/", "split/", modes=("RGB", "LA", "I;16"))
    assert build.differences(ours, chosen) == ()
    quick = prove_warnings(build.build_tree, quick=True)
    assert (quick.status, quick.details) == (ProofStatus.OK, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A mistake that a kernel could have.

    Attributes:
        file: the source file.
        pattern: the text to replace, a regular expression.
        replacement: its replacement.
        begins: the beginnings of the names of the cases that show the mistake.
    """

    file: str
    pattern: str
    replacement: str
    begins: tuple[str, ...]


FAULTS = {
    "a strip of rows is not made again": Fault(
        file=f"{PLACE}/resize-loops.h",
        pattern=r"ready < span->end",
        replacement="ready < 0",
        begins=("resize/",),
    ),
    "the half that rounds is lost": Fault(
        file=f"{PLACE}/resize-loops.h",
        pattern=r"1 << \(PRECISION_BITS - 1\)",
        replacement="0",
        begins=("resize/",),
    ),
    "an edge that is no number is taken": Fault(
        file=f"{PLACE}/resize.h",
        pattern=r"!\(box\[0\] <= box\[2\] && box\[1\] <= box\[3\]\)",
        replacement="0",
        begins=("resize/",),
    ),
    "a box is read from its first row": Fault(
        file=f"{PLACE}/reduce.h",
        pattern=r"job->box\[1\] \+ y \* yscale",
        replacement="y * yscale",
        begins=("reduce/",),
    ),
    "a large cell is not rounded": Fault(
        file=f"{PLACE}/reduce.h",
        pattern=r"\+ pixels / 2\) \* multiplier",
        replacement=") * multiplier",
        begins=("reduce/",),
    ),
    "most rows of a large cell are forgotten": Fault(
        file=f"{PLACE}/reduce.h",
        pattern=r"first \+= FI_SMALL_CELL",
        replacement="first += strip->count",
        begins=("reduce/",),
    ),
    "a row is taken for the one below it": Fault(
        file=f"{PLACE}/resize-loops.h",
        pattern=r"rows\[2 \* t \+ 1\]",
        replacement="rows[2 * t]",
        begins=("resize/",),
    ),
    "the lower half of a number is kept": Fault(
        file=f"{PLACE}/filter.h",
        pattern=r"& ~0xffff",
        replacement="& ~0",
        begins=("filter-3x3/", "filter-5x5/"),
    ),
    "the last pixels to be divided are left out": Fault(
        file=f"{PLACE}/premultiply.h",
        pattern=r"x < xsize;",
        replacement="x <= xsize - FI_WIDE_PIXELS;",
        begins=("resize/",),
    ),
    "a sum is added up in another order": Fault(
        file=f"{PLACE}/filter.h",
        pattern=r"taps->row\[end\] == taps->row\[first\]",
        replacement="0",
        begins=("filter-5x5/",),
    ),
    "integers whose scale is even may round otherwise": Fault(
        file=f"{PLACE}/filter.h",
        pattern=r"\(scale % 2 && scale < 128\)",
        replacement="scale < 128",
        begins=("filter-3x3/", "filter-5x5/"),
    ),
    "a bias is not taken off": Fault(
        file=f"{PLACE}/filter.h",
        pattern=r" - taps->bias;",
        replacement=";",
        begins=("filter-3x3/", "filter-5x5/"),
    ),
    "what is beneath opaque pixels shows": Fault(
        file=f"{PLACE}/composite.h",
        pattern=r"FI_SELECT\(opaque, above, FI_LOAD\(fi_wide_u32, onto \+ x\)\)",
        replacement="above | FI_LOAD(fi_wide_u32, onto + x)",
        begins=("alpha-composite/",),
    ),
    "a reciprocal is too small": Fault(
        file=f"{PLACE}/premultiply.h",
        pattern=r"\(\(255 << 16\) \+ 264\)",
        replacement="(255 << 16)",
        begins=("resize/",),
    ),
    "a rank is one too low": Fault(
        file=f"{PLACE}/rank-filter.h",
        pattern=r"window\[rank\]",
        replacement="window[rank - 1]",
        begins=("median/",),
    ),
    "joined columns end too early": Fault(
        file=f"{PLACE}/rank-filter.h",
        pattern=r"x \+ size - joined",
        replacement="x + size - joined - 1",
        begins=("smallest/", "largest/"),
    ),
    "the middle of two lists begins too early": Fault(
        file=f"{PLACE}/rank-filter.h",
        pattern=r"lists \+ 6 \+ 7",
        replacement="lists + 6 + 6",
        begins=("median/",),
    ),
    "a column is sorted but for one pixel": Fault(
        file=f"{PLACE}/rank-filter.h",
        pattern=r"fi_sort_list\(column, 3\)",
        replacement="fi_sort_list(column, 2)",
        begins=("median/",),
    ),
    "a band is taken for the first": Fault(
        file=f"{PLACE}/split.h",
        pattern=r"&fours\[byte\]",
        replacement="&fours[0]",
        begins=("getchannel/",),
    ),
    "a margin begins a row too late": Fault(
        file=f"{PLACE}/expand.h",
        pattern=r"fi_min\(y - margin,",
        replacement="fi_min(y,",
        begins=("median/",),
    ),
    "a product with more than 16 bits is cut": Fault(
        file=f"{PLACE}/unsharp.h",
        pattern=r"product \|=",
        replacement="product &= product |",
        begins=("unsharp-mask/",),
    ),
    "a mask sharpens what does not differ enough": Fault(
        file=f"{PLACE}/unsharp.h",
        pattern=r"difference > \(UINT16\)threshold",
        replacement="difference >= (UINT16)threshold",
        begins=("unsharp-mask/",),
    ),
    "a transform takes the next pixel": Fault(
        file=f"{PLACE}/transform.h",
        pattern=r"first \+ 1 - taps / 2 \+ j",
        replacement="first + 2 - taps / 2 + j",
        begins=("rotate/", "transform/"),
    ),
    "a scaled row of 16 bits begins a pixel too late": Fault(
        file=f"{PLACE}/transform.h",
        pattern=r"x - x0, 0, a\)",
        replacement="x - x0 + 1, 0, a)",
        begins=("resize/", "transform/"),
    ),
    "the half that rounds a composite is lost": Fault(
        file=f"{PLACE}/composite.h",
        pattern=r"0x40004000",
        replacement="0x40000000",
        begins=("alpha-composite/",),
    ),
    "a row of a file is saved twice": Fault(
        file=f"{PLACE}/jpeg-save.h",
        pattern=r"state->y \+ i\)",
        replacement="state->y + i / 2)",
        begins=("encode-jpeg/",),
    ),
    "a piece of a file overwrites the one before it": Fault(
        file="src/whole-bytes.h",
        pattern=r"bytes \+ size, part",
        replacement="bytes, part",
        begins=("encode-jpeg/",),
    ),
    "a rule leaves out its last byte": Fault(
        file=f"{PLACE}/point.h",
        pattern=r"x <= last",
        replacement="x < last",
        begins=("point/",),
    ),
    "every band has the first one's table": Fault(
        file=f"{PLACE}/point.h",
        pattern=r"tables \+ 256 \* band_of\[byte\];",
        replacement="tables;",
        begins=("point/",),
    ),
    "two sixths of the circle are confused": Fault(
        file=f"{PLACE}/hsv.h",
        pattern=r"is_g \| least_r,",
        replacement="is_g,",
        begins=("convert/",),
    ),
    "a negative product is rounded to the nearest": Fault(
        file=f"{PLACE}/ycbcr.h",
        pattern=r"fi_ycbcr_nearer\((fi_ycbcr_scale\(r[^)]*\))\)",
        replacement=r"\1",
        begins=("convert/",),
    ),
    "what lies beyond both pictures is not clipped": Fault(
        file=f"{PLACE}/blend.h",
        pattern=r"FI_MIN\(FI_MAX\(sum, zero\), zero \+ 255\)",
        replacement="sum",
        begins=("blend/",),
    ),
    "words blend what only floats can": Fault(
        file=f"{PLACE}/blend.h",
        pattern=r"memcmp\(floats, words, 256\) != 0",
        replacement="0",
        begins=("blend/",),
    ),
    "a product of bytes is divided by 256": Fault(
        file=f"{PLACE}/chops.h",
        pattern=r"\(product \+ 1 \+ \(product >> 8\)\) >> 8",
        replacement="product >> 8",
        begins=("chops/",),
    ),
    "a mask is half as strong on odd bytes": Fault(
        file=f"{PLACE}/masks.h",
        pattern=r"\(from >> 8\) \* \(weight >> 8\)",
        replacement="(from >> 8) * (weight >> 9)",
        begins=("paste/", "composite/"),
    ),
    "a transparent pixel keeps its colour under ink": Fault(
        file=f"{PLACE}/fill-mask.h",
        pattern=r"with_cover\.covers = 1;",
        replacement="with_cover.covers = 0;",
        begins=("paste/",),
    ),
    "vectors have no largest value": Fault(
        file=f"{PLACE}/extrema.h",
        pattern=r"high = FI_MAX\(high, values\);",
        replacement="",
        begins=("getextrema/",),
    ),
    "a pair of pixels counts its smaller byte twice": Fault(
        file=f"{PLACE}/histogram.h",
        pattern=r"sums\[smaller \+ difference\]",
        replacement="sums[smaller + 0 * difference]",
        begins=("histogram/",),
    ),
    "a counter of a byte overflows unseen": Fault(
        file=f"{PLACE}/histogram.h",
        pattern=r"(\(couple & 255\) \+ \(couple >> 8\)\]) \+= 256",
        replacement=r"\1 += 0",
        begins=("histogram/",),
    ),
    "colours come as they appeared": Fault(
        file=f"{PLACE}/colours.h",
        pattern=r"ordered\[ranks\[places\[i\] / 64\] \+ __builtin_popcountll\(lower\)\]",
        replacement="ordered[i + 0 * lower]",
        begins=("getcolors/",),
    ),
    "a colour has what another one of its place had": Fault(
        file=f"{PLACE}/median-cut.h",
        pattern=r"\*slot && known >> 8 == colour",
        replacement="*slot",
        begins=("quantize/", "convert-to-palette/"),
    ),
    "split returns what it has not": Fault(
        file=f"{PLACE}/split.h",
        pattern=r"return FI_SPLIT_RETURNS_BANDS \? imIn->bands : 0;",
        replacement="return imIn->bands;",
        begins=("split/",),
    ),
}


@pytest.mark.parametrize("name", extent.every_second(FAULTS))
def test_an_injected_fault_is_refused(name: str, build: KernelsBuild) -> None:
    fault = FAULTS[name]
    directory = name.replace(" ", "-").replace("'", "")
    source = build.changed(directory, fault.file, fault.pattern, fault.replacement)
    chosen = cases(*fault.begins, modes=("L", "RGB", "RGBA", "LA", "I;16"), sizes=SIZES)
    found = build.differences(build.stack(f"{directory}-run", source), chosen)
    assert found
    assert {f"{each.operation}/" for each in found} <= set(fault.begins)


RETRY = {
    "reduce": (r"return job\.out;", "return job.out ? job.out : ImagingReduce__source(imIn, xscale, yscale, box);"),
    "filter": (
        r"(if \(!out\) \{[^}]*)return NULL;",
        r"\1return ImagingFilter__source(im, xsize, ysize, kernel, offset);",
    ),
}
"""Faults that call Pillow's own function although Python's error is set."""


@pytest.fixture(scope="module")
def official(build: KernelsBuild) -> list[str]:
    """Return the output of the script for vector widths, run with the official wheel."""
    return run_script(build.reference, WIDTHS)


@pytest.mark.parametrize("extensions", ["avx512vnni", "avx512", "avxvnni", "none"])
def test_each_width_of_vectors_gives_pillow_s_pixels(extensions: str, ours: ProofStack, official: list[str]) -> None:
    assert run_script(ours, WIDTHS, **{VARIABLE: extensions}) == official


def test_every_colour_gets_the_hue_or_chroma_that_pillow_gives(build: KernelsBuild, ours: ProofStack) -> None:
    assert run_script(ours, "every_colour.py") == run_script(build.reference, "every_colour.py")


def test_little_memory_ends_in_a_picture_or_memory_error(ours: ProofStack) -> None:
    assert run_script(ours, LITTLE, **NO_SPARE_MEMORY) == ["MemoryError", "picture"]


@pytest.mark.parametrize(("file", "operation"), [("reduce", "reduce"), ("filter", "filter")])
def test_a_result_after_an_error_shows(file: str, operation: str, build: KernelsBuild) -> None:
    source = build.changed(f"late-{file}", f"{PLACE}/{file}.h", *RETRY[file])
    endings = run_script(build.stack(f"late-{file}-run", source), LITTLE, **NO_SPARE_MEMORY, TRIED=operation)
    assert [each for each in endings if each.startswith(f"SystemError: {operation}/")]


def test_the_members_of_the_enumerations_are_pillow_s(build: KernelsBuild) -> None:
    assert read_members(build.reference) == PILLOW_13


def test_features_and_versions_are_the_official_ones_except_zlib(build: KernelsBuild, ours: ProofStack) -> None:
    fast, official = (run_script(stack, "features.py") for stack in (ours, build.reference))
    assert "libjpeg_turbo: True 3.2.0" in fast
    differing = [line for line in fast if line not in official]
    assert (len(fast), [line.partition(":")[0] for line in differing]) == (len(official), ["zlib"])
    assert differing[0].endswith(".zlib-ng")  # our core links zlib-ng; the official wheel reports another zlib


def test_a_resize_to_one_row_needs_no_more_memory_than_pillow_s(build: KernelsBuild, ours: ProofStack) -> None:
    fast, official = (run_script(stack, PEAK) for stack in (ours, build.reference))
    assert int(fast[0]) <= int(official[0]) + 2  # both in megabytes


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"ready % job->ring", "ready % job->strip"),
        (r"from = 0, bytes = ", "from = job->columns, bytes = "),
        (r"quads_of\)\(weights, filled\)", "quads_of)(weights, filled & weights->mask / 2)"),
    ],
    ids=["one strip in the ring", "columns of the first strip", "half a ring of quads"],
)
def test_a_fault_of_strips_or_rings_shows(
    pattern: str, replacement: str, build: KernelsBuild, official: list[str], tmp_path: Path
) -> None:
    source = build.changed(tmp_path.name, f"{PLACE}/resize-loops.h", pattern, replacement)
    assert run_script(build.stack(f"{tmp_path.name}-run", source), WIDTHS, **{VARIABLE: "none"}) != official


def test_a_loop_that_runs_too_far_is_refused_by_the_sanitizers(build: KernelsBuild) -> None:
    source = build.changed("too-far", f"{PLACE}/split.h", r"x <= width - FI_NARROW;", "x < width;")
    found = build.sanitized_faults("too-far-run", source, cases("split/", modes=("LA", "RGB"), sizes=((5, 4), (1, 9))))
    assert {each.operation for each in found} == {"split"}


@pytest.fixture(scope="module")
def several(build: KernelsBuild) -> BaseWheel:
    """Return the official wheel, unpacked once more for cores of several levels."""
    suffix = build.request.interpreter.extension_suffix
    assert build.request.base_wheel is not None
    return open_base_wheel(build.request.base_wheel, "PIL", suffix, build.scratch / "several")


@pytest.mark.parametrize("baseline", ["x86-64-v2", "x86-64-v3"])
def test_a_higher_level_core_in_the_baselines_place_is_refused(
    baseline: str, build: KernelsBuild, several: BaseWheel
) -> None:
    places = plan_core_placements(build.request, several, "0" * 64)
    marks = dict(zip((placement.target.level for placement in places), (baseline, LEVEL), strict=True))
    cores = {}
    for placement in places:
        steps = _marked(build, placement, marks[placement.target.level])
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
        (wrong,) = levels.details
        assert re.findall(r"x86-64-v\d", wrong) == ["x86-64-v2", baseline]


def _marked(build: KernelsBuild, placement: CorePlacement, mark: str) -> CoreSteps:
    steps = build.build_tree.steps
    unmarked = replace(steps, link=tuple(word for word in steps.link if not word.startswith("-Wl,-z,x86-64")))
    elsewhere = location_flags(build.build_tree.base_wheel.run_path)
    kept = tuple(word for word in unmarked.link if word not in elsewhere)
    return replace(unmarked, link=(*kept, *placement.flags, f"-Wl,-z,{mark}"))


def test_a_build_without_optimisation_is_refused(build: KernelsBuild) -> None:
    bare = replace(build, core=replace(build.core, objects={}))
    slow = bare.stack("slow", build.build_tree.source, flags=("-O0",))
    module = build.build_tree.base_wheel.core.relative_to(build.build_tree.base_wheel.root)
    flags, _ = prove_binaries(slow.tree, module, (LEVEL,))
    assert flags.status is ProofStatus.FAILED
    assert "look like -O0 code" in flags.summary
    speed = prove_speed(slow, build.reference)
    assert speed.status is ProofStatus.FAILED
    assert f"expected at least {BOUND:g}" in speed.summary


def test_the_kernels_are_fast_enough_to_be_told(build: KernelsBuild, ours: ProofStack) -> None:
    assert QUICKLY == ("-O1",)
    speed = prove_speed(ours, build.reference)
    assert speed.status is ProofStatus.OK, speed.details

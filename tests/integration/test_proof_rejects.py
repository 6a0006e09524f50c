"""The proof refuses what has to be refused: faults of kernels, slow builds, misplaced cores.

Each build is made by the real commands; only what a test changes is compiled again.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.build.kernels import LEVEL, QUICKLY, KernelsBuild, kernels_build
from support.machine.needs import require_system

from fastinstall.elf.cpu import rank
from fastinstall.observe.cpu import observe_cpu
from fastinstall.proof.cases import ProofStatus
from fastinstall.proof.matrix_cases import FEW_SIZES, matrix_cases
from fastinstall.proof.runs import ProofStack
from fastinstall.wheelbuild.base_wheel import BaseWheel, open_base_wheel
from fastinstall.wheelbuild.core_placement import place_cores, plan_core_placements
from fastinstall.wheelbuild.linking import LinkLocation
from whole_proof.binaries import FLAGS_NAME, LEVELS_NAME, prove_binaries
from whole_proof.compiler_warnings import prove_warnings
from whole_proof.recorded_build import CoreSteps
from whole_proof.run import SIZES
from whole_proof.speed import BOUND, prove_speed
from whole_proof.variant import SanitizedVariant, compile_core

PLACE = "src/libImaging"
WIDTHS, PEAK = "vector_widths.py", "peak_of_resize.py"


@pytest.fixture(scope="module")
def build(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelsBuild]:
    require_system(shutil.which("gcc"), "gcc")
    cpu = observe_cpu(allowed_cores=1, tunables="")
    require_system(rank(cpu.level) >= rank(LEVEL), f"a CPU of {LEVEL}")
    with kernels_build(shared_cache, tmp_path_factory.mktemp("kernels")) as made:
        yield made


def cases(
    *begins: str, modes: tuple[str, ...] = ("RGB", "RGBA", "L"), sizes: tuple[tuple[int, int], ...] = FEW_SIZES
) -> tuple[str, ...]:
    return tuple(case for case in matrix_cases(sizes=sizes, modes=modes) if case.startswith(begins))


def test_what_is_right_proves(build: KernelsBuild) -> None:
    ours = build.stack("right", build.build_tree.source)
    chosen = cases("resize/", "box-blur/", "filter-", "colour-table/", "split/", modes=("RGB", "LA", "I;16"))
    assert build.differences(ours, chosen) == ()
    quick = prove_warnings(build.build_tree, quick=True)
    assert (quick.status, quick.details) == (ProofStatus.OK, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A mistake that a kernel could have.

    Attributes:
        file: where.
        pattern: what is changed there.
        replacement: to what.
        begins: how the cases begin that show it.
    """

    file: str
    pattern: str
    replacement: str
    begins: tuple[str, ...]


FAULTS = {
    "a strip of rows is not made again": Fault(
        file=f"{PLACE}/groups.h",
        pattern=r"made < span->end",
        replacement="made < 0",
        begins=("resize/",),
    ),
    "the half that rounds is lost": Fault(
        file=f"{PLACE}/groups.h",
        pattern=r"1 << \(PRECISION_BITS - 1\)",
        replacement="0",
        begins=("resize/",),
    ),
    "a box is read from its first row": Fault(
        file=f"{PLACE}/reduce.h",
        pattern=r"box\[1\] \+ y \* yscale",
        replacement="y * yscale",
        begins=("reduce/",),
    ),
    "a row is taken for the one below it": Fault(
        file=f"{PLACE}/groups.h",
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
        replacement="x <= xsize - PIXELS;",
        begins=("resize/",),
    ),
    "a sum is added up in another order": Fault(
        file=f"{PLACE}/filter.h",
        pattern=r"kernel->row\[end\] == kernel->row\[first\]",
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
        pattern=r" - kernel->bias;",
        replacement=";",
        begins=("filter-3x3/", "filter-5x5/"),
    ),
    "what is beneath opaque pixels shows": Fault(
        file=f"{PLACE}/composite.h",
        pattern=r"CHOOSE\(opaque, above, LOAD\(Pairs, onto \+ x\)\)",
        replacement="above | LOAD(Pairs, onto + x)",
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
    "a margin begins a row too late": Fault(
        file=f"{PLACE}/expand.h",
        pattern=r"smaller\(y - margin,",
        replacement="smaller(y,",
        begins=("median/",),
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
    "the half that rounds a composite is lost": Fault(
        file=f"{PLACE}/composite.h",
        pattern=r"0x40004000",
        replacement="0x40000000",
        begins=("alpha-composite/",),
    ),
    "split returns what it has not": Fault(
        file=f"{PLACE}/split.h",
        pattern=r"return TELLS_BANDS \? imIn->bands : 0;",
        replacement="return imIn->bands;",
        begins=("split/",),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_injected_fault_is_refused(name: str, build: KernelsBuild) -> None:
    fault = FAULTS[name]
    directory = name.replace(" ", "-").replace("'", "")
    source = build.changed(directory, fault.file, fault.pattern, fault.replacement)
    chosen = cases(*fault.begins, modes=("RGB", "RGBA", "LA"), sizes=SIZES)
    found = build.differences(build.stack(f"{directory}-run", source), chosen)
    assert found
    assert {f"{each.operation}/" for each in found} <= set(fault.begins)


def run(stack: ProofStack, script: str, width: str = "") -> list[str]:
    """Return the lines that a script prints, with vectors of at most so many bytes where the CPU has VNNI."""
    variables = {**os.environ, **stack.variables, "PYTHONPATH": str(stack.tree), "FASTINSTALL_GUARD": "0"}
    widths = {"FASTINSTALL_VNNI": width} if width else {}
    argv = [stack.python, Path(__file__).parents[1] / "support/build" / script]
    done = subprocess.run(argv, env=variables | widths, check=True, capture_output=True, text=True, timeout=300)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def official(build: KernelsBuild) -> list[str]:
    """What the official wheel gives."""
    return run(build.reference, WIDTHS)


@pytest.mark.parametrize("width", ["64", "32", "0"])
def test_each_width_of_vectors_gives_pillow_s_pixels(width: str, build: KernelsBuild, official: list[str]) -> None:
    assert run(build.stack(f"width-{width}", build.build_tree.source), WIDTHS, width) == official


def test_a_resize_to_one_row_needs_no_more_memory_than_pillow_s(build: KernelsBuild) -> None:
    ours, official = (run(stack, PEAK) for stack in (build.stack("peak", build.build_tree.source), build.reference))
    assert int(ours[0]) <= int(official[0]) + 2  # megabytes


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"made % job->ring", "made % job->step"),
        (r"from = 0, bytes = ", "from = job->block, bytes = "),
        (r"\(behind & weights->mask\) \* SIDE", "(behind & weights->mask / 2) * SIDE"),
    ],
    ids=["one strip in the ring", "columns of the first block", "half a window of columns"],
)
def test_a_fault_of_strips_or_windows_shows(
    pattern: str, replacement: str, build: KernelsBuild, official: list[str], tmp_path: Path
) -> None:
    source = build.changed(tmp_path.name, f"{PLACE}/groups.h", pattern, replacement)
    assert run(build.stack(f"{tmp_path.name}-run", source), WIDTHS, "0") != official


def test_a_loop_that_runs_too_far_is_refused_by_the_sanitizers(build: KernelsBuild) -> None:
    source = build.changed("too-far", f"{PLACE}/split.h", r"x <= width - LANES;", "x < width;")
    found = build.sanitized_faults("too-far-run", source, cases("split/", modes=("LA", "RGB"), sizes=((5, 4), (1, 9))))
    assert {each.operation for each in found} == {"split"}


@pytest.fixture(scope="module")
def several(build: KernelsBuild) -> BaseWheel:
    """The official wheel once more, for cores of several levels."""
    suffix = build.request.interpreter.extension_suffix
    assert build.request.base_wheel is not None
    return open_base_wheel(build.request.base_wheel, "PIL", suffix, build.scratch / "several")


@pytest.mark.parametrize("baseline", ["x86-64-v2", "x86-64-v3"])
def test_a_core_of_a_higher_level_in_the_baseline_s_place_is_refused(
    baseline: str, build: KernelsBuild, several: BaseWheel
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
        (wrong,) = levels.details
        assert re.findall(r"x86-64-v\d", wrong) == ["x86-64-v2", baseline]


def _marked(build: KernelsBuild, place: LinkLocation, mark: str) -> CoreSteps:
    steps = build.build_tree.steps
    unmarked = replace(steps, link=tuple(word for word in steps.link if not word.startswith("-Wl,-z,x86-64")))
    elsewhere = LinkLocation(run_path=build.build_tree.base_wheel.run_path).flags
    kept = tuple(word for word in unmarked.link if word not in elsewhere)
    return replace(unmarked, link=(*kept, *place.flags, f"-Wl,-z,{mark}"))


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


def test_the_kernels_are_fast_enough_to_be_told(build: KernelsBuild) -> None:
    assert QUICKLY == ("-O1",)
    speed = prove_speed(build.stack("fast", build.build_tree.source), build.reference)
    assert speed.status is ProofStatus.OK, speed.details

"""The cases and outcome of a proof: operation x mode x odd size x parameters, tolerances, and what was found.

It computes no pixels. A proof's findings are data, kept beside the wheel they are about; each check states what went
wrong where, and by how much.

A build of Pillow's own source, with our kernels or without, has to equal the official wheel. A fork has tolerances,
each with its reason. The figures were measured on 2026-11-21 on an AMD Zen 5, over 70,356 cases: pillow-simd
12.1.1.post0 beside Pillow 12.1.1, the cases of its three defects left out. The next whole number is allowed, and one
more where the reciprocal instruction of SSE is used, which rounds differently between makers of CPUs.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import product

from fastinstall.core.values import immutable

MODES = (
    *("1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV", "LAB", "I", "F"),
    *("I;16", "I;16B", "I;16L", "I;16N"),
)
FEW_SIZES = ((1, 1), (1, 9), (19, 1), (5, 4), (24, 7), (35, 13), (3, 131))

_RESAMPLES = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")
_RADII = ("0", "0.3", "0.5", "1", "1.7", "2", "3", "3.5", "10")
_PAIRS = ("0.4:5", "3:0", "0:3", "0.3:0", "0:0.6", "2.5:0", "0:1.5", "0:0")
_CHOPS = (
    *("add", "add-scaled", "subtract", "subtract-scaled", "add_modulo", "subtract_modulo", "difference"),
    *("multiply", "screen", "lighter", "darker", "overlay", "soft_light", "hard_light", "invert", "offset"),
    *("logical_and", "logical_or", "logical_xor"),
)
_WIDE = "I;"
"""16-bit modes: `ImageChops.offset` copies half of each of their rows, up to Pillow 12.3; nothing can be expected."""

_MATRIX_TARGETS = ("L", "RGB")
_TABLES = (("3", ""), ("4", "RGBA"), ("3", "RGB"), ("3", "CMYK"))
_ROWS = ("", "RGB", "BGR", "RGBX", "LA", "LA;L", "L", "R")
_PADDED = "600"
"""A stride: bytes from one row to the next, more than the widest of the pictures has."""

_LARGE = "400x300"
"""More than Pillow packs at once, into an array for example."""

_OF_LARGE = ("pack/,0,1", "pack/BGR,0,-1", "unpack/,0,1", "array/", "pickle/", "bitmap/")
_SIMPLE = (
    *("split/", "merge/", "putalpha/", "alpha-composite/", "point/", "histogram/", "getextrema/", "getbbox/"),
    *("getcolors/", "rotate/17,bicubic", "rotate/33,bilinear", "rotate/90,nearest", "median/3", "median/5"),
    *("smallest/3", "largest/3", "most-frequent/3", "blend/0.3", "blend/1.7", "composite/L", "composite/1"),
    *("composite/RGBA", "paste/L", "paste/1", "paste/RGBA", "paste/colour", "paste/outside", "crop/1:0:-1:-1"),
    *("crop/-2:-1:3:2", "thumbnail/4,", "thumbnail/3,2", "unsharp-mask/2,150,3", "unsharp-mask/0.4,90,0"),
    *("alpha-composite/0", "alpha-composite/255", "array/", "pickle/", "bitmap/"),
)


def matrix_cases(*, sizes: tuple[tuple[int, int], ...] = FEW_SIZES, modes: tuple[str, ...] = MODES) -> tuple[str, ...]:
    """Return every case, "operation/mode/WIDTHxHEIGHT/parameters"; modes that an operation refuses are cases too."""
    cases = (
        (mode, f"{width}x{height}", text)
        for mode, (width, height) in product(modes, sizes)
        for text in _list_single_picture_cases(mode, width, height)
    )
    large = product(modes, (_LARGE,), _OF_LARGE)
    return tuple(
        f"{operation}/{mode}/{size}/{parameters}"
        for mode, size, text in (*cases, *large)
        for operation, _, parameters in (text.partition("/"),)
    )


def operation_of(case: str) -> str:
    """Return the operation of a case: "resize"."""
    return case.partition("/")[0]


def pixels_of(case: str) -> int:
    """Return how many pixels the picture of a case has; 0 if its name does not tell."""
    width, _, height = case.split("/")[2].partition("x")
    return int(width) * int(height) if width.isdecimal() and height.isdecimal() else 0


def _list_single_picture_cases(mode: str, width: int, height: int) -> Iterator[str]:
    yield from _list_resizes(width, height)
    yield from _list_reductions(width, height)
    yield from _list_filters()
    yield from (f"getchannel/{band}" for band in range(4))
    yield from (f"convert/{target}" for target in MODES if mode == target or "LAB" not in (mode, target))
    yield from (f"convert-undithered/{target}" for target in ("1", "P"))
    yield from (f"convert-by-matrix/{target}" for target in _MATRIX_TARGETS)
    yield from (f"transpose/{method}" for method in range(7))
    yield from (f"chops/{name}" for name in _CHOPS if name != "offset" or not mode.startswith(_WIDE))
    settings = product(("pack", "unpack"), _ROWS, (("0", "1"), (_PADDED, "-1")))
    yield from (f"{verb}/{rawmode},{stride},{step}" for verb, rawmode, (stride, step) in settings)
    yield from _SIMPLE
    kinds = product(("affine", "perspective", "quad"), ("nearest", "bilinear", "bicubic"))
    yield from (f"transform/{kind},{resample}" for kind, resample in kinds)
    names = product(("color", "contrast", "brightness", "sharpness"), ("0.5", "1.4"))
    yield from (f"enhance-{name}/{factor}" for name, factor in names)
    if mode not in ("1", "P", "PA", "I", "F") and not mode.startswith(_WIDE):
        shapes = product(("2", "3", "2:5:3", "17", "wide"), _TABLES)
        yield from (f"colour-table/{steps},{channels},{target}" for steps, (channels, target) in shapes)


def _list_resizes(width: int, height: int) -> Iterator[str]:
    halves = (f"{width}x{max(1, height // 2)}", f"{max(1, width // 3)}x{height}")
    targets = ("1x1", "3x2", "8x8", "13x40", "70x9", "3x131", *halves)
    for resample, target in product(_RESAMPLES, dict.fromkeys(targets)):
        yield f"resize/{resample},{target}"
    if width > 3 and height > 3:  # noqa: PLR2004 (smaller ones have no such box)
        yield from (f"resize/{resample},9x11,0.7:1.1:{width - 1.3:.1f}:{height - 0.4:.1f}" for resample in _RESAMPLES)


def _list_reductions(width: int, height: int) -> Iterator[str]:
    yield from (f"reduce/{factor}" for factor in range(1, 8))
    pairs = dict.fromkeys(pair for a, b in product(range(1, 8), range(1, 4)) for pair in ((a, b), (b, a)) if a != b)
    yield from (f"reduce/{a}:{b}" for a, b in pairs)
    if width > 4 and height > 4:  # noqa: PLR2004 (smaller ones have no such box)
        yield f"reduce/3,1:1:{width - 1}:{height}"


def _list_filters() -> Iterator[str]:
    settings = (("", "0"), ("3", "17"), ("0.25", "-40"))
    small, large = ("smooth", "sharpen", "edges", "uneven"), ("mean", "slope", "negative")
    yield from (f"filter-3x3/{kernel},{scale},{offset}" for kernel, (scale, offset) in product(small, settings))
    yield from ("filter-3x3/overflow,1,0", "filter-3x3/detail,,0")
    yield from (f"filter-5x5/{kernel},{scale},{offset}" for kernel, (scale, offset) in product(large, settings[:2]))
    yield from (f"box-blur/{radius}" for radius in (*_RADII, *_PAIRS))
    yield from (f"gaussian-blur/{radius}" for radius in (*_RADII, *_PAIRS))


class ProofStatus(StrEnum):
    """How a check of a proof ended."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@immutable
class CaseDifference:
    """One case in which a build is not what it has to be.

    Attributes:
        case: its name, "operation/mode/WIDTHxHEIGHT/parameters", by which it can be run alone.
        operation: the first part of it ("box-blur").
        largest: the largest difference of one sample, in steps of its mode, colours weighted by their alpha.
        allowed: the bound of the operation, in the same unit.
        problem: why there is nothing to compare (a crash, another exception, another size); empty if there is.
    """

    case: str
    operation: str
    largest: float = 0.0
    allowed: float = 0.0
    problem: str = ""

    @property
    def text(self) -> str:
        """One line for people: "box-blur/RGB/17x13/3:0: differs by 254, allowed 1"."""
        return f"{self.case}: {self.problem or f'differs by {self.largest:g}, allowed {self.allowed:g}'}"


@immutable
class ProofCheck:
    """One check of a proof.

    Attributes:
        name: stable ("matrix x86-64-v3", "heap", "decoders").
        status: "ok", "failed", or "skipped" for the reason in `summary`.
        summary: one line for people; where it was skipped, why.
        details: what went wrong, a line each.
        operations: the operations that failed, by the catalogue's names.
        seconds: how long it took.
    """

    name: str
    status: ProofStatus
    summary: str
    details: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    seconds: float = 0.0


@immutable
class ProofSubject:
    """What is proven, and beside what; the results of equal ones are equal.

    Attributes:
        wheel_sha256: of the built wheel, 64 hexadecimal digits.
        reference_sha256: of the official wheel; empty if there is none.
        python: version and ABI of the interpreter.
        cpu: name of the CPU, as kernels round differently on others.
        levels: CPU levels that are proven, the baseline first.
    """

    wheel_sha256: str
    reference_sha256: str
    python: str
    cpu: str
    levels: tuple[str, ...]


@immutable
class Proof:
    """All checks of one build.

    Attributes:
        subject: which wheel was proven, and in what circumstances.
        checks: in the order in which they are told.
        seconds: how long everything took.
    """

    subject: ProofSubject
    checks: tuple[ProofCheck, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.status is not ProofStatus.FAILED for check in self.checks)


def fail_case(case: str, problem: str, *, largest: float = 0.0, allowed: float = 0.0) -> CaseDifference:
    """Return the failure of a case."""
    return CaseDifference(case=case, operation=operation_of(case), largest=largest, allowed=allowed, problem=problem)


def list_failed_operations(proof: Proof) -> tuple[str, ...]:
    """Return the operations that failed in any check, each of them once, sorted."""
    failed = (check for check in proof.checks if check.status is ProofStatus.FAILED)
    return tuple(sorted({operation for check in failed for operation in check.operations}))


def check_of(name: str, passed: str, differences: Sequence[CaseDifference], seconds: float) -> ProofCheck:
    """Return a check that is ok if there is no difference, and failed otherwise.

    Args:
        name: of the check ("heap", "decoders").
        passed: what is said where it is ok.
        differences: what was found; of each operation the worst case is told, and that of the smallest picture.
        seconds: how long it took.
    """
    groups: dict[str, list[CaseDifference]] = defaultdict(list)
    for difference in differences:
        groups[difference.operation].append(difference)
    operations = tuple(sorted(groups))
    return ProofCheck(
        name=name,
        status=ProofStatus.FAILED if differences else ProofStatus.OK,
        summary=f"{_count_cases(differences)} fail: {', '.join(operations)}" if differences else passed,
        details=tuple(line for operation in operations for line in _describe_differences(operation, groups[operation])),
        operations=operations,
        seconds=round(seconds, 2),
    )


def skip_proof_check(name: str, reason: str) -> ProofCheck:
    """Return a check that was not made, with the reason."""
    return ProofCheck(name=name, status=ProofStatus.SKIPPED, summary=reason)


def _describe_differences(operation: str, found: Sequence[CaseDifference]) -> Iterator[str]:
    modes = dict.fromkeys(difference.case.split("/")[1] for difference in found)
    yield f"{operation}: {_count_cases(found)} in {', '.join(modes)}"
    worst = max(found, key=lambda difference: difference.largest or math.inf)  # 0: there was nothing to compare
    yield f"  the worst: {worst.text}"
    smallest = min(found, key=lambda difference: pixels_of(difference.case))
    if smallest != worst:
        yield f"  the smallest: {smallest.text}"


def _count_cases(cases: Sequence[CaseDifference]) -> str:
    return "1 case" if len(cases) == 1 else f"{len(cases)} cases"


@immutable
class Tolerance:
    """What an operation is allowed.

    Attributes:
        operation: its name in the catalogue, or its name and first parameter, which then come first.
        largest: the largest difference of one sample, in steps of its mode, colours weighted by their alpha.
        bias: how far a band may lie to one side on average, in steps. Rounding errs to both sides; a constant that got
            lost, such as the half that makes truncation round, moves everything by half a step, which no bound of a
            single sample would show.
        reason: why it is not equal.
    """

    operation: str
    largest: float
    bias: float = 0.35
    reason: str


TOLERANCES = (
    Tolerance(operation="resize", largest=3, reason="16-bit coefficients; each of two passes rounds; measured 2.0"),
    Tolerance(operation="thumbnail", largest=3, reason="it reduces and resizes; measured 1.0"),
    Tolerance(operation="reduce", largest=2, reason="fixed-point division by the area; measured 1.95 with alpha"),
    Tolerance(
        operation="reduce/1:3",
        largest=2,
        bias=0.6,
        reason="the kernels add no half before the division; measured a bias of 0.41",
    ),
    Tolerance(operation="filter-3x3", largest=2, reason="fixed-point coefficients; measured 1.0"),
    Tolerance(operation="filter-5x5", largest=2, reason="fixed-point coefficients; measured 1.73 with alpha"),
    Tolerance(operation="colour-table", largest=3, reason="interpolates 16-bit tables; measured 2.46 with alpha"),
    Tolerance(
        operation="colour-table/2",
        largest=3,
        bias=0.8,
        reason="as any table; what eight entries lose to rounding does not cancel out: measured a bias of 0.5",
    ),
    Tolerance(
        operation="colour-table/wide",
        largest=4,
        reason="values from -3 to 4 leave fewer bits for the fraction; measured 4, on LAB",
    ),
    Tolerance(operation="alpha-composite", largest=2, reason="divides by a reciprocal; measured 1.0"),
    Tolerance(operation="convert", largest=1, reason="rounds luma and unpremultiplied colours; measured 1.0"),
    Tolerance(operation="putalpha", largest=1, reason="it converts premultiplied pictures; measured 1.0"),
    Tolerance(operation="rotate", largest=1, reason="it premultiplies and back; measured 1.0"),
    Tolerance(operation="transform", largest=1, reason="it premultiplies and back; measured 1.0"),
    Tolerance(operation="enhance-color", largest=1, reason="it converts to luma; measured 1.0"),
    Tolerance(operation="enhance-contrast", largest=1, reason="it takes the mean of the luma; measured 0"),
    Tolerance(operation="enhance-sharpness", largest=1, reason="it filters 3x3; measured 0"),
)

FEWEST_PIXELS = 100
FEWEST_SAMPLES = 330
"""From fewer pixels, or of fewer samples, an average difference says nothing."""

EQUAL = Tolerance(operation="", largest=0, bias=0, reason="every step is the same")

_BY_NAME = {tolerance.operation: tolerance for tolerance in TOLERANCES}


def tolerance_of(case: str) -> Tolerance:
    """Return the bound of a case for a fork; results have to be equal if none is stated."""
    operation, _, _, parameters = (*case.split("/"), "", "")[:4]
    setting = f"{operation}/{parameters.partition(',')[0]}"
    return _BY_NAME.get(setting) or _BY_NAME.get(operation, EQUAL)

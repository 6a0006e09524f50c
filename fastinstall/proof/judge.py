"""Compare the results of two stacks case by case, leaving out cases whose result varies even on the official wheel.

How the distance of two results is computed depends on the mode: colours are weighted by alpha, and hues are circular.
Only samples that differ are examined, so the comparison of nearly equal pictures is fast.

A build of Pillow's own source, with or without our kernels, must have the same results as the official wheel, except in
the cases of `KNOWN_DIFFERENCES`. A fork may differ within tolerances, each of which has a reason. The tolerances were
measured on 2026-11-21 on an AMD Zen 5, in 70,356 cases: pillow-simd 12.1.1.post0 was compared with Pillow 12.1.1,
leaving out the cases that three defects of the fork affect. A tolerance is the measured difference, rounded up to a
whole number, plus one step if the operation uses the reciprocal instruction of SSE, whose rounding depends on the maker
of the CPU.
"""

import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from fastinstall.core.architecture import AARCH64
from fastinstall.core.concurrency import RunningProbe, await_future
from fastinstall.core.errors import UndeterminedError
from fastinstall.core.values import immutable
from fastinstall.proof import runs
from fastinstall.proof.cases import CaseDifference, pixels_of

_WIDE = {"I": "=i", "F": "=f", "I;16": "<H", "I;16L": "<H", "I;16N": "=H", "I;16B": ">H"}
_WITH_ALPHA = {"RGBA": 4, "LA": 2, "PA": 2}
_CIRCULAR = {"HSV": (0,), "LAB": (1, 2)}
"""Indexes of bands in which 0 and 255 are neighbours: the hue of HSV, and the bands a and b of LAB."""

_EXACT = ("1", "P", "values", "file")
"""Modes of bits, palette indexes and other data, in which any difference is an error."""

_WRONG = 255.0


@immutable
class Distance:
    """The distance between the results of two stacks in one case.

    Attributes:
        largest: the largest difference of a sample, in steps of the picture's mode.
        bias: the mean difference (ours minus theirs) of a band, namely the band whose mean is furthest from 0.
        samples: number of samples of the smallest picture, in all bands together; if it is small, `bias` means nothing.
        problem: why the results cannot be compared; empty if they can.
    """

    largest: float = 0.0
    bias: float = 0.0
    samples: int = 0
    problem: str = ""


def measure_distance(ours: Sequence[runs.ProofPicture], theirs: Sequence[runs.ProofPicture]) -> Distance:
    """Return the distance between the pictures that one case returned on two stacks."""
    if len(ours) != len(theirs):
        return Distance(problem=f"{len(ours)} pictures, expected {len(theirs)}")
    largest = bias = 0.0
    for mine, other in zip(ours, theirs, strict=True):
        shape, expected = (
            f"mode {each.mode}, {each.size[0]}x{each.size[1]}, {len(each.content)} bytes" for each in (mine, other)
        )
        if shape != expected:
            return Distance(problem=f"{shape}, expected {expected}")
        apart = tuple(_find_differences(mine.mode, mine.content, other.content))
        largest = max(largest, *(abs(difference) for _, difference in apart), 0.0)
        bias = max(bias, _measure_bias(mine, apart), key=abs)
    return Distance(largest=largest, bias=bias, samples=min((len(sample.content) for sample in ours), default=0))


def _measure_bias(sample: runs.ProofPicture, apart: Sequence[tuple[int, float]]) -> float:
    """Return the mean difference of the band whose mean is furthest from 0.

    Args:
        sample: the picture; only its size and number of samples are used.
        apart: position and difference of each sample that differs.
    """
    bands = max(1, len(sample.content) // max(1, sample.size[0] * sample.size[1]))
    sums = [0.0] * bands
    for position, difference in apart:
        sums[position % bands] += difference
    return max(sums, key=abs) * bands / max(1, len(sample.content))


def _find_differences(mode: str, ours: bytes, theirs: bytes) -> Iterator[tuple[int, float]]:
    """Return the position and the difference (ours minus theirs) of each sample that differs."""
    positions = _find_differing_bytes(ours, theirs)
    if mode in _EXACT:
        return ((position, _WRONG) for position in positions)
    if mode in _WIDE:
        return _compare_wide_samples(struct.Struct(_WIDE[mode]), ours, theirs, positions)
    if mode in _WITH_ALPHA:
        return _compare_weighted(_WITH_ALPHA[mode], ours, theirs, positions)
    if mode in _CIRCULAR:
        return _compare_circular(_CIRCULAR[mode], ours, theirs, positions)
    return ((position, float(ours[position] - theirs[position])) for position in positions)


def _find_differing_bytes(ours: bytes, theirs: bytes) -> Iterator[int]:
    """Return the positions of the bytes that differ."""
    both = int.from_bytes(ours, "little") ^ int.from_bytes(theirs, "little")
    return (found.start() for found in re.finditer(rb"[^\0]", both.to_bytes(len(ours), "little")))


def _compare_wide_samples(
    form: struct.Struct, ours: bytes, theirs: bytes, positions: Iterator[int]
) -> Iterator[tuple[int, float]]:
    for start in dict.fromkeys(position // form.size * form.size for position in positions):
        (mine,), (other,) = form.unpack_from(ours, start), form.unpack_from(theirs, start)
        apart = float(mine) - float(other)
        yield start, apart if abs(apart) >= 0 else _WRONG  # the difference is NaN if a sample is NaN


def _compare_weighted(bands: int, ours: bytes, theirs: bytes, positions: Iterator[int]) -> Iterator[tuple[int, float]]:
    """Compare alpha, and colours multiplied by alpha; so all fully transparent pixels are equal."""
    for position in positions:
        last = position // bands * bands + bands - 1
        if position == last:
            yield position, float(ours[last] - theirs[last])
        else:
            yield position, (ours[position] * ours[last] - theirs[position] * theirs[last]) / 255


def _compare_circular(
    bands: tuple[int, ...], ours: bytes, theirs: bytes, positions: Iterator[int]
) -> Iterator[tuple[int, float]]:
    for position in positions:
        apart = ours[position] - theirs[position]
        yield position, float((apart + 128) % 256 - 128 if position % 3 in bands else apart)


def judge_results(
    ours: runs.ProofStack, standard: runs.ProofStack, work: runs.Work, results: runs.Results, *, exact: bool
) -> tuple[CaseDifference, ...]:
    """Return the cases in which our stack differs from the standard by more than allowed.

    Cases in which the standard itself dies are left out, because our stack cannot be worse in them.

    Args:
        ours: the build that is judged.
        standard: the stack with which the build has to agree.
        work: the cases, and the module that performs them.
        results: runs the cases, and remembers their results.
        exact: whether results must be bit-identical; if False, the operations' tolerances apply.

    Raises:
        FailedError: PIL cannot be imported on one of the stacks.
    """
    ours, standard = runs.fill_fresh_memory(ours), runs.fill_fresh_memory(standard)
    mine, theirs = map(await_future, [results.start(stack, work) for stack in (ours, standard)])
    differing = [case for case in work.cases if mine[case] != theirs[case] and not runs.is_death(theirs[case])]
    pictures = [case for case in differing if runs.is_digest(mine[case]) and runs.is_digest(theirs[case])]
    distances = _measure_distances((ours, standard), replace(work, cases=pictures))
    wrong = []
    for case in (case for case in differing if case not in distances):
        made, expected = ("makes a picture" if runs.is_digest(each[case]) else each[case] for each in (mine, theirs))
        wrong.append(CaseDifference(case=case, problem=f"{made}; the reference {expected}"))
    return (*wrong, *find_excesses(distances, exact=exact))


def exclude_undetermined(
    wrong: Sequence[CaseDifference], witness: runs.ProofStack | None, work: runs.Work
) -> tuple[CaseDifference, ...]:
    """Leave out cases whose result depends on uninitialised memory even with the official wheel; return the others.

    Args:
        wrong: cases in which our stack differs from its standard.
        witness: the official wheel, which runs these cases twice, with different content of fresh memory. A case is
            left out if its two results differ. Without a witness (None), all cases are returned.
        work: the cases that were run.
    """
    known = set(work.cases)
    cases = [found.case for found in wrong if found.case in known]
    if witness is None or not cases:
        return tuple(wrong)
    with runs.Results() as again:
        one, other = (
            again.start(how(witness), replace(work, cases=cases))
            for how in (runs.fill_fresh_memory, runs.disturb_memory)
        )
        return tuple(item for item in wrong if await_future(one).get(item.case) == await_future(other).get(item.case))


def _measure_distances(stacks: tuple[runs.ProofStack, runs.ProofStack], work: runs.Work) -> Mapping[str, Distance]:
    beside = RunningProbe(lambda: runs.sample_cases(stacks[1], work))
    mine, theirs = runs.sample_cases(stacks[0], work), beside.result()
    nothing = Distance(problem="it gives different results on two runs")
    return {
        case: measure_distance(mine[case], theirs[case]) if case in mine and case in theirs else nothing
        for case in work.cases
    }


def find_excesses(distances: Mapping[str, Distance], *, exact: bool) -> Iterator[CaseDifference]:
    """Yield the difference of each case whose distance from the standard is too large.

    Args:
        distances: the distance of each case whose results are not bit-identical, by name of the case.
        exact: whether any difference is too large; if False, the operation's tolerance applies.
    """
    for case, apart in distances.items():
        tolerance, problem = EQUAL if exact else tolerance_of(case), apart.problem
        # The mean difference is only meaningful if both the input and the output picture are large enough.
        typical = pixels_of(case) >= FEWEST_PIXELS and apart.samples >= FEWEST_SAMPLES
        is_far = exact or bool(problem) or apart.largest > tolerance.largest
        if not is_far and typical and abs(apart.bias) > tolerance.bias:
            problem = f"is biased by {apart.bias:+.2f} on average, allowed {tolerance.bias:g}"
        if is_far or problem:
            largest = round(apart.largest, 2)
            yield CaseDifference(case=case, largest=largest, allowed=tolerance.largest, problem=problem)


@immutable
class Tolerance:
    """The allowed difference of an operation.

    Attributes:
        largest: the largest difference of a sample, in steps of the picture's mode, with colours weighted by alpha.
        bias: how far the mean difference of a band may be from 0, in steps. Rounding errors go both ways, so their mean
            is small. But if a constant is missing, such as the half that turns truncation into rounding, all samples
            are half a step off, which `largest` would not reveal.
        reason: why the results differ.
    """

    largest: float
    bias: float = 0.35
    reason: str


TOLERANCES = {
    "resize": Tolerance(largest=3, reason="16-bit coefficients; each of two passes rounds; measured 2.0"),
    "thumbnail": Tolerance(largest=3, reason="it reduces and resizes; measured 1.0"),
    "reduce": Tolerance(largest=2, reason="fixed-point division by the area; measured 1.95 with alpha"),
    "reduce/1:3": Tolerance(
        largest=2, bias=0.6, reason="the kernels add no half before the division; measured a bias of 0.41"
    ),
    "filter-3x3": Tolerance(largest=2, reason="fixed-point coefficients; measured 1.0"),
    "filter-5x5": Tolerance(largest=2, reason="fixed-point coefficients; measured 1.73 with alpha"),
    "colour-table": Tolerance(largest=3, reason="interpolates 16-bit tables; measured 2.46 with alpha"),
    "colour-table/2": Tolerance(
        largest=3,
        bias=0.8,
        reason="as any table; what eight entries lose to rounding does not cancel out: measured a bias of 0.5",
    ),
    "colour-table/wide": Tolerance(
        largest=4, reason="values from -3 to 4 leave fewer bits for the fraction; measured 4, on LAB"
    ),
    "alpha-composite": Tolerance(largest=2, reason="divides by a reciprocal; measured 1.0"),
    "convert": Tolerance(largest=1, reason="rounds luma and unpremultiplied colours; measured 1.0"),
    "putalpha": Tolerance(largest=1, reason="it converts premultiplied pictures; measured 1.0"),
    "rotate": Tolerance(largest=1, reason="it premultiplies and back; measured 1.0"),
    "transform": Tolerance(largest=1, reason="it premultiplies and back; measured 1.0"),
    "enhance-color": Tolerance(largest=1, reason="it converts to luma; measured 1.0"),
    "enhance-contrast": Tolerance(largest=1, reason="it takes the mean of the luma; measured 0"),
    "enhance-sharpness": Tolerance(largest=1, reason="it filters 3x3; measured 0"),
}
"""Tolerances by operation, or by operation and first parameter ("reduce/1:3"), which takes precedence."""

FEWEST_PIXELS = 100
FEWEST_SAMPLES = 330
"""With fewer input pixels, or fewer output samples, the mean difference is not meaningful."""

EQUAL = Tolerance(largest=0, bias=0, reason="every step is the same")


def tolerance_of(case: str) -> Tolerance:
    """Return the tolerance for a fork's result in a case; results must be equal if `TOLERANCES` has no entry for it."""
    operation, _, _, parameters = (*case.split("/"), "", "")[:4]
    setting = f"{operation}/{parameters.partition(',')[0]}"
    return TOLERANCES.get(setting) or TOLERANCES.get(operation, EQUAL)


KNOWN_DIFFERENCES: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        # The exact sum is half-way between 35,993 and 35,994. The official wheel's compiler fuses multiplications and
        # additions across statements; our -ffp-contract=on does so only within a statement. This is the only one of
        # 40,726 cases that differs (2026-11-28).
        AARCH64.machine: {"resize/I/35x13/box,3x131": 1}
    }
)
"""By architecture and case: how far the result may differ from the official wheel's, in steps of the mode."""


def exclude_known(found: Iterable[CaseDifference], known: Mapping[str, float]) -> tuple[CaseDifference, ...]:
    """Leave out the cases that differ by at most their known difference; return the others."""
    return tuple(each for each in found if each.case not in known or each.problem or each.largest > known[each.case])


_USUAL_BOUND = 1.0
_BOUNDS = {
    **dict.fromkeys(("png-", "tiff-", "webp-", "split-", "rotate-", "median-"), 0.0),
    **dict.fromkeys(("resize-", "enlarge-"), 3.0),
    "jpeg-": 4.0,
}
"""Largest allowed differences, by prefix of the operation's name. SIMD kernels round differently: most results are
identical, others differ by one. A resize divides colours by alpha, so a low alpha makes the difference larger, though
invisible. Therefore colours are weighted by their alpha before they are compared."""


def compare_pixels(ours: Path, reference: Path) -> tuple[CaseDifference, ...]:
    """Compare the pixels of two stacks in the operations of `observe/_operations.py`.

    The results are in the order of the reference. Operations that only our stack has are left out; an operation that
    only the reference has is a problem.

    Args:
        ours: file with the pixels of our stack, written by `observe_runtime`.
        reference: file with the pixels of the reference, also written by `observe_runtime`.

    Raises:
        UndeterminedError: a file is missing or damaged.
    """
    mine, theirs = _read_pixels(ours), _read_pixels(reference)
    return tuple(_compare_operation(name, mine.get(name), theirs[name]) for name in theirs)


def _read_pixels(path: Path) -> dict[str, runs.ProofPicture]:
    """Return the result of each operation as a picture of one row, because the file does not contain the sizes."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = ((name.partition("/"), archive.read(name)) for name in archive.namelist())
            return {name: runs.ProofPicture(mode, (len(samples), 1), samples) for (name, _, mode), samples in parts}
    except (OSError, zipfile.BadZipFile) as error:
        raise UndeterminedError(f"{path}: no pixels to compare: {error}") from error


def _compare_operation(operation: str, ours: runs.ProofPicture | None, reference: runs.ProofPicture) -> CaseDifference:
    allowed = next((bound for prefix, bound in _BOUNDS.items() if operation.startswith(prefix)), _USUAL_BOUND)
    if ours is None:
        return CaseDifference(case=operation, allowed=allowed, problem="it failed or is missing")
    apart = measure_distance((ours,), (reference,))
    return CaseDifference(case=operation, largest=apart.largest, allowed=allowed, problem=apart.problem)

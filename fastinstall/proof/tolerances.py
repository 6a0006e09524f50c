"""How far each operation may be from the official wheel: equal, unless a reason stands here.

The figures were measured on 2026-11-21 on an AMD Zen 5, over 70,356 cases: pillow-simd 12.1.1.post0 beside Pillow
12.1.1, the cases of its three defects left out, and its kernels merged into Pillow 13.0.0, with the same result. The
next whole number is allowed, and one more where the reciprocal instruction of SSE is used, which rounds differently
between makers of CPUs.
"""

from fastinstall.model.immutable import immutable


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

EQUAL = Tolerance(operation="", largest=0, bias=0, reason="no kernel takes part")

_BY_NAME = {tolerance.operation: tolerance for tolerance in TOLERANCES}


def tolerance_of(case: str) -> Tolerance:
    """The bound of a case; results have to be equal where none is stated."""
    operation, _, _, parameters = (*case.split("/"), "", "")[:4]
    setting = f"{operation}/{parameters.partition(',')[0]}"
    return _BY_NAME.get(setting) or _BY_NAME.get(operation, EQUAL)

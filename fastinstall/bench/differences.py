"""How far apart the pictures of two loaders are, without numpy: the tool's own process has none."""

from collections.abc import Iterator, Sequence

from fastinstall.bench.loading import Picture
from fastinstall.model.loading import Difference

_CHUNK = 1 << 15


def compare_pictures(reference: Sequence[Picture], other: Sequence[Picture]) -> Difference:
    """Compare pictures of the same images, channel by channel.

    Args:
        reference: of the baseline.
        other: of a candidate, in the same order.

    Raises:
        ValueError: there are not as many of one as of the other.
    """
    total = highest = values = 0
    for one, another in zip(reference, other, strict=True):
        if not _comparable(one, another):
            return Difference(mean=0.0, highest=0, images=len(reference), same_shape=False)
        values += len(one.data)
        for steps in _steps(one.data, another.data):
            total += sum(steps)
            highest = max(highest, max(steps))  # noqa: PLW3301 (unpacking them would cost more than all the rest)
    return Difference(mean=total / values if values else 0.0, highest=highest, images=len(reference))


def _comparable(one: Picture, other: Picture) -> bool:
    return one.shape == other.shape and len(one.data) == len(other.data)


def _steps(one: bytes, other: bytes) -> Iterator[bytes]:
    """Absolute differences, a chunk at a time; chunks that are equal are left out."""
    for start in range(0, len(one), _CHUNK):
        left, right = one[start : start + _CHUNK], other[start : start + _CHUNK]
        if left != right:
            yield _absolute(left, right)


def _absolute(left: bytes, right: bytes) -> bytes:
    """All differences of a chunk by a few operations on large integers, in which each byte has 16 bits to itself.

    Adding 256 keeps a subtraction from borrowing of its neighbour, and tells by its ninth bit which one is larger.
    """
    first, second = _spread(left), _spread(right)
    ones = int.from_bytes(b"\x01\x00" * len(left), "little")
    not_less = ((first + (ones << 8) - second) >> 8) & ones
    chosen = (not_less << 8) - not_less
    larger = second ^ ((first ^ second) & chosen)
    smaller = first ^ second ^ larger
    return (larger - smaller).to_bytes(2 * len(left), "little")[::2]


def _spread(data: bytes) -> int:
    wide = bytearray(2 * len(data))
    wide[::2] = data
    return int.from_bytes(wide, "little")

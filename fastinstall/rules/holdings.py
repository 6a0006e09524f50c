"""What the way back costs in disk space, and when that is worth a word. Pure."""

from collections.abc import Sequence
from pathlib import PurePath

from fastinstall.rules.messages import quote

MANY = 5
"""More setups than this are worth a word."""
MUCH = 500_000_000
"""As many bytes are."""
_UNITS = ("kB", "MB", "GB", "TB")


def much_held(setups: Sequence[str], held_bytes: int, prefix: PurePath) -> str | None:
    """Name the command that frees the space, or return None if little or nothing can be freed.

    Args:
        setups: the transactions that hold something.
        held_bytes: what they hold together.
        prefix: of the environment.
    """
    if len(setups) <= 1 or (len(setups) <= MANY and held_bytes < MUCH):
        return None
    freed = f"fastinstall rollback --forget --prefix {quote(prefix)}"
    return f"the way back through {len(setups)} changes holds {in_words(held_bytes)}; all but the last setup's: {freed}"


def in_words(count: int) -> str:
    """Bytes for people: "22.5 MB", in powers of 1000."""
    if count < 1000:  # noqa: PLR2004 (the next unit)
        return f"{count} B"
    power = min((len(str(count)) - 1) // 3, len(_UNITS))
    return f"{count / 1000**power:.1f} {_UNITS[power - 1]}"

"""One rename of a transaction."""

from enum import StrEnum

from fastinstall.core.values import immutable


class MoveKind(StrEnum):
    """The directions of a move: out of the environment, into it, or both at once."""

    OUT = "out"
    IN = "in"
    EXCHANGE = "exchange"


@immutable
class Move:
    """One rename of a transaction, inside one filesystem.

    OUT moves `live` to `kept`; IN moves `kept` to `live`; EXCHANGE swaps the two.

    Attributes:
        kind: the kind of move.
        live: path of the entry while it is in use, relative to the environment's prefix.
        kept: path of the entry while it is not in use, relative to the transaction's directory.
    """

    kind: MoveKind
    live: str
    kept: str

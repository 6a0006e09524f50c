"""One rename of a transaction."""

from enum import StrEnum

from fastinstall.core.values import immutable


class MoveKind(StrEnum):
    """How one entry moves."""

    OUT = "out"
    IN = "in"
    EXCHANGE = "exchange"


@immutable
class Move:
    """One rename of a transaction, inside one filesystem.

    OUT moves `live` to `kept`; IN moves `kept` to `live`; EXCHANGE swaps the two.

    Attributes:
        kind: the kind of move.
        live: path relative to the environment's prefix, where Python finds the entry.
        kept: path relative to the transaction's directory, where the other version is kept.
    """

    kind: MoveKind
    live: str
    kept: str

"""The report of a merge: which item came from where, and what is not accelerated; data that goes into the wheel."""

from enum import StrEnum

from fastinstall.model.immutable import immutable


class Origin(StrEnum):
    """Where the text of an item came from."""

    UPSTREAM = "upstream"
    KERNELS = "kernels"
    MERGED = "merged"
    CANONICAL = "canonical"
    KEPT = "kept"
    REVERTED = "reverted"
    CONFLICT = "conflict"


@immutable
class MergedItem:
    """One item of a file that differs from upstream's, or could have.

    Attributes:
        file: relative to the source's top directory.
        kind: "function", "define", "declaration", ...; "file" for a file as a whole.
        name: what it defines.
        origin: "upstream" where the fork's change was not needed or upstream renamed the item, "kernels" the fork's
            text, "merged" the changes of both, "canonical" those of both once the function was brought to a canonical
            form, "kept" upstream's by a rule, "reverted" upstream's on request or together with a conflict,
            "conflict" upstream's, for the changes of both exclude each other.
        reason: why.
    """

    file: str
    kind: str
    name: str
    origin: Origin
    reason: str


@immutable
class NotAccelerated:
    """What runs upstream's code, although the fork has kernels for it.

    Attributes:
        what: a part, a file, or a function.
        reason: why.
    """

    what: str
    reason: str


@immutable
class MergeReport:
    """What a merge did.

    Attributes:
        base: what the fork follows ("pillow 12.1.1").
        upstream: what was merged onto ("pillow 13.0.0").
        kernels: whose changes were merged ("pillow-simd 12.1.1.post0").
        items: those that differ from upstream's, or that were kept, reverted, or in conflict.
        files: that differ from upstream's, relative to the source's top directory.
        new_files: that upstream has not.
        guards: "FILE: FUNCTION" of the functions that choose between both at run time.
        not_accelerated: what runs upstream's code, and why.
        unused_rules: rules of the recipe that found nothing to apply to, and why.
    """

    base: str
    upstream: str
    kernels: str
    items: tuple[MergedItem, ...] = ()
    files: tuple[str, ...] = ()
    new_files: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    not_accelerated: tuple[NotAccelerated, ...] = ()
    unused_rules: tuple[str, ...] = ()

"""Macros as a function's code sees them: which names they use without being handed them."""

from collections.abc import Iterable

from fastinstall.merge.nodes import DIRECTIVE
from fastinstall.merge.syntax import Item

_DEFINES = ("#define", "#define()")


def names_in_macros(items: Iterable[Item]) -> dict[str, frozenset[str]]:
    """For each macro that the items define, under `#if` too, the words of its body that are no parameters of it."""
    found: dict[str, frozenset[str]] = {}
    for item in items:
        nodes = item.node.walk() if item.key.kind in ("define", "conditional") else ()
        for signature in (node.signature for node in nodes if node.type == DIRECTIVE):
            if signature[0] in _DEFINES:
                found[signature[1]] = found.get(signature[1], frozenset()) | names_in_directive(signature)
    return found


def names_in_directive(signature: tuple[str, ...]) -> frozenset[str]:
    """The words of a preprocessor line behind the first one; of a macro only its body's, without its parameters."""
    word, *body = signature
    if word in _DEFINES:
        body = body[1:]
    parameters: set[str] = set()
    if word == "#define()" and ")" in body:
        end = body.index(")")
        parameters.update(body[:end])
        body = body[end + 1 :]
    return frozenset(token for token in body if token.isidentifier()) - parameters

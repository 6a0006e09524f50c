"""A C function seen from outside: what stands before its body, its parameters, whether it gives something back."""

from fastinstall.merge.definitions import declared_name, is_declarator, until_body
from fastinstall.merge.nodes import Node
from fastinstall.merge.syntax import ATOMIC, Item, parse_items
from fastinstall.model.immutable import immutable

_QUALIFIERS = ("const", "restrict", "__restrict", "static", "inline")


@immutable
class FunctionSignature:
    """How a function is called.

    Attributes:
        text: everything before the body, as it stands in the source.
        parameters: their names, in order.
        kinds: tokens of return type and parameters without names and qualifiers, to compare two signatures.
        gives: whether it returns a value.
        callable: whether a call can pass on what it was given: not with "...", and every parameter has a name.
    """

    text: str
    parameters: tuple[str, ...]
    kinds: tuple[str, ...]
    gives: bool
    callable: bool


def read_signature(item: Item) -> FunctionSignature | None:
    """Read a function's signature, or return None if the item is no function or cannot be parsed."""
    if item.node.type == ATOMIC and "{" in item.text:  # the body may be what could not be read
        item = next(iter(parse_items(until_body(item.text) + " {}").items), item)
    declarator = _declarator(item.node)
    if declarator is None:
        return None
    declared = _parameters(declarator)
    named = [declared_name(each) for each in map(_inner, declared) if each is not None]
    names = tuple(leaf.text for leaf in named if leaf is not None and leaf.text)
    return FunctionSignature(
        text=until_body(item.text),
        parameters=names,
        kinds=_kinds(item, {leaf for leaf in named if leaf is not None}),
        gives=_gives(item.node),
        callable=len(names) == len(declared) and "..." not in declarator.signature,
    )


def _declarator(node: Node) -> Node | None:
    """The innermost function declarator that the name of a definition stands in."""
    found = None
    outer = next((child for child in node.children or () if _has_function(child)), None)
    while node.type == "function_definition" and outer is not None:
        found = outer if outer.type == "function_declarator" else found
        outer = next((child for child in outer.children or () if is_declarator(child)), None)
    return found


def _has_function(node: Node) -> bool:
    return node.type.endswith("declarator") and any(each.type == "function_declarator" for each in node.walk())


def _parameters(declarator: Node) -> list[Node]:
    """The declarations of parameters; none for `(void)`."""
    listed = next((child for child in declarator.children or () if child.type == "parameter_list"), None)
    found = [child for child in (listed.children if listed else None) or () if child.type == "parameter_declaration"]
    return [] if len(found) == 1 and found[0].signature == ("void",) else found


def _inner(parameter: Node) -> Node | None:
    """The part of a parameter's declaration that holds its name: the last declarator; types stand before it."""
    children = parameter.children or ()
    found = [child for child in children[1:] if is_declarator(child) and not child.type.startswith("abstract")]
    return found[-1] if found else None


def _kinds(item: Item, names: set[Node]) -> tuple[str, ...]:
    """Tokens before the body, without the parameters' names, the function's own, and qualifiers."""
    leaves = (leaf for child in (item.node.children or ())[:-1] for leaf in child.walk() if leaf.children is None)
    kept = (leaf.text for leaf in leaves if leaf not in names and leaf.text not in (item.key.name, *_QUALIFIERS))
    return tuple(text for text in kept if text)


def _gives(node: Node) -> bool:
    """Anything but plain `void`."""
    children = node.children or ()
    void = any(child.type == "primitive_type" and child.text == "void" for child in children)
    plain = any(child.type == "function_declarator" for child in children)
    return not (void and plain)

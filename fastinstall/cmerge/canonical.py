"""A second try at a function that both sides changed: bring the three texts to one form first, then merge.

The form drops hints that decide nothing (`restrict`, assertions), and treats plain declarations at the top of the body
as a set. If upstream's changes were only such rewording, nothing of them is left in conflict.

- Loop counters: `for (int x = 0; ...)` of one side becomes `for (x = 0; ...)` if another declares x before the loops.
  Only where that cannot change what runs: the name means the loops' counter and nothing else in the whole function, no
  loop over it is nested in another, and there are no more loops over it than the base has.
- Names that upstream gave to expressions (`int width = image->xsize;` and then `width`) are taken back, only where that
  gives the very statements of the base. So nothing rests on a guess about what an expression yields, or when.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from fastinstall.cmerge.declarations import (
    Declared,
    declarations_in,
    find_free_names,
    list_declared_names,
    reads,
    writes,
)
from fastinstall.cmerge.syntax import DIRECTIVE, SyntaxNode, parse_items
from fastinstall.cmerge.threeway import RESTRICT, STRUCTURES, ConflictError, merge_nodes, require_same_scopes

_EFFECTS = frozenset(("assignment_expression", "call_expression", "update_expression"))
_OWN_MEANING = frozenset(("array_declarator", "function_declarator", "storage_class_specifier", "init_declarator"))


def merge_canonical(
    base: SyntaxNode, upstream: SyntaxNode, kernels: SyntaxNode, macros: Mapping[str, frozenset[str]]
) -> SyntaxNode:
    """The function with the changes of both, in the canonical form.

    Args:
        base: a function definition before both changes.
        upstream: with upstream's.
        kernels: with the fork's.
        macros: by the name of each macro of the file, the names that it uses without being handed them.

    Raises:
        ConflictError: the changes exclude each other in that form too.
    """
    base, upstream, kernels = (node.rewrite(_remove_hints) for node in (base, upstream, kernels))
    base, upstream, kernels = _move_counters_outside(base, upstream, kernels)
    upstream = _inline_locals(upstream, base, frozenset(name for names in macros.values() for name in names))
    (old, before), (ours, one), (theirs, other) = (_split(node) for node in (base, upstream, kernels))
    merged = merge_nodes(old, ours, theirs)
    settled = (before & one & other) | (one - before) | (other - before)
    function = _add_declarations(merged, before | one | other, settled, macros)
    require_same_scopes(base, upstream, kernels, function, macros)
    return function


@dataclass(frozen=True, slots=True, order=True)
class _Plain:
    """A declaration without initial value at the top of the body: `kind declarator;`."""

    kind: str
    declarator: str
    name: str


def _choose_declaration(name: str, known: AbstractSet[_Plain], settled: AbstractSet[_Plain]) -> _Plain:
    """The one declaration of a name: of all that any side has, one that the changes leave.

    Raises:
        ConflictError: the sides declare it differently, and not one of them alone changed that.
    """
    options = [plain for plain in known if plain.name == name]
    if len(options) > 1:
        options = [plain for plain in options if plain in settled]
    if len(options) != 1:
        raise ConflictError(f"both changed the declaration of {name}")
    return options[0]


def _remove_hints(node: SyntaxNode) -> SyntaxNode:
    kept = tuple(child for child in node.children or () if not _is_hint(child, node))
    return node if len(kept) == len(node.children or ()) else SyntaxNode(node.type, None, kept)


def _is_hint(node: SyntaxNode, parent: SyntaxNode) -> bool:
    if node.type == "type_qualifier":
        return node.signature[0] in RESTRICT
    if node.signature[:2] != ("assert", "(") or parent.type != "compound_statement" or not node.children:
        return False
    asserted = (node.children[0].children or (node,))[-1]
    return not any(below.type in _EFFECTS for below in asserted.walk())


def _split(function: SyntaxNode) -> tuple[SyntaxNode, frozenset[_Plain]]:
    """A function without its plain declarations, and these."""
    *head, body = function.children or (function,)
    plain: set[_Plain] = set()
    rest: list[SyntaxNode] = []
    for statement in body.children or ():
        if statement.type == "declaration" and not any(below.type in _OWN_MEANING for below in statement.walk()):
            plain.update(
                _Plain(" ".join(one.type), " ".join(one.declarator.signature), one.name)
                for one in list_declared_names(statement)
            )
        else:
            rest.append(statement)
    return SyntaxNode(function.type, None, (*head, SyntaxNode(body.type, None, tuple(rest)))), frozenset(plain)


def _add_declarations(
    function: SyntaxNode,
    known: AbstractSet[_Plain],
    settled: AbstractSet[_Plain],
    macros: Mapping[str, frozenset[str]],
) -> SyntaxNode:
    *_, body = function.children or (function,)
    names = find_free_names(SyntaxNode(body.type, None, (body.children or ())[1:]))
    names = names.union(*(macros[name] for name in names & macros.keys()))
    chosen = sorted(_choose_declaration(name, known, settled) for name in {plain.name for plain in known} & names)
    return _declare(function, (f"{one.kind} {one.declarator};" for one in chosen))


def _declare(function: SyntaxNode, declarations: Iterable[str]) -> SyntaxNode:
    """The function with declarations put at the top of its body."""
    *head, body = function.children or (function,)
    brace, *statements = body.children or ()
    declared = (parse_items(text).items[0].node for text in declarations)
    return SyntaxNode(function.type, None, (*head, SyntaxNode(body.type, None, (brace, *declared, *statements))))


def _move_counters_outside(*versions: SyntaxNode) -> Iterator[SyntaxNode]:
    """The base, upstream's and the fork's function definition with their counters declared alike."""
    outside = sorted({one.name for version in versions for one in _list_plain_counters(version)})
    limits = Counter(name for loop in _list_loops(versions[0]) for name in _list_counters(loop))
    for version in versions:
        names = [name for name in outside if _is_counter_only(version, name, limits[name])]
        hoisted = version.rewrite(partial(_replace_loop_declaration, names=frozenset(names))) if names else version
        yield version if hoisted is version else _declare(hoisted, (f"int {name};" for name in names))


def _list_plain_counters(function: SyntaxNode) -> Iterator[Declared]:
    """Integers that the body declares without a value."""
    for statement in (function.children or (function,))[-1].children or ():
        for declared in list_declared_names(statement) if statement.type == "declaration" else ():
            if declared.type == ("int",) and declared.declarator.type == "identifier" and declared.initial is None:
                yield declared


def _list_loops(function: SyntaxNode) -> Iterator[SyntaxNode]:
    return (node for node in function.walk() if node.type == "for_statement")


def _list_counters(loop: SyntaxNode) -> list[str]:
    """Names that a loop gives their first value."""
    if declared := _list_loop_declarations(loop):
        return [one.name for one in declared]
    assigned = (node for node in (loop.children or ())[2].walk() if node.type == "assignment_expression")
    return [node.children[0].text or "" for node in assigned if node.children]


def _is_counter_only(function: SyntaxNode, name: str, limit: int) -> bool:
    loops = [loop for loop in _list_loops(function) if _is_declaring(loop, name)]
    if not loops or len(loops) > limit:
        return False
    declarations = sum(declared.name == name for declared in declarations_in(function))
    nested = any(_is_declaring(inner, name) for loop in loops for inner in _list_loops(loop) if inner is not loop)
    everywhere = _count_occurrences(function, name)
    return (
        declarations == len(loops)
        and not nested
        and everywhere == sum(_count_occurrences(loop, name) for loop in loops)
    )


def _is_declaring(loop: SyntaxNode, name: str) -> bool:
    return name in [declared.name for declared in _list_loop_declarations(loop)]


def _list_loop_declarations(loop: SyntaxNode) -> Sequence[Declared]:
    start = (loop.children or ())[2]
    return list_declared_names(start) if start.type == "declaration" else ()


def _count_occurrences(node: SyntaxNode, name: str) -> int:
    return sum(below.text == name for below in node.walk() if below.type in ("identifier", "type_identifier"))


def _replace_loop_declaration(loop: SyntaxNode, names: frozenset[str]) -> SyntaxNode:
    if loop.type != "for_statement" or not loop.children:
        return loop
    declared = _list_loop_declarations(loop)
    plain = all(one.type == ("int",) and one.initial and one.declarator.type == "identifier" for one in declared)
    if not declared or not plain or not names.issuperset(one.name for one in declared):
        return loop
    *assignments, start = (_make_assignment(one) for one in declared)
    for assignment in reversed(assignments):
        start = SyntaxNode("comma_expression", None, (assignment, SyntaxNode(",", ","), start))
    return SyntaxNode(loop.type, None, (*loop.children[:2], start, SyntaxNode(";", ";"), *loop.children[3:]))


def _make_assignment(declared: Declared) -> SyntaxNode:
    if declared.initial is None:
        raise ValueError(declared.name)
    name = SyntaxNode("identifier", declared.name)
    return SyntaxNode("assignment_expression", None, (name, SyntaxNode("=", "="), declared.initial))


_SIMPLE = frozenset(("identifier", "field_expression", "subscript_expression", "number_literal"))
_PURE = _SIMPLE.union(
    ("binary_expression", "cast_expression", "parenthesized_expression", "field_identifier", "type_identifier"),
    ("abstract_pointer_declarator", "primitive_type", "type_descriptor", "type_qualifier"),
)
_LEAVES = frozenset(("(", ")", "[", "]", "->", ".", "*", "+", "-", "/", "%", "<<", ">>", "&", "|", "^", "const"))


def _inline_locals(upstream: SyntaxNode, base: SyntaxNode, opaque: frozenset[str]) -> SyntaxNode:
    """Upstream's function without the names that it gave to expressions of the base.

    Args:
        upstream: a function definition.
        base: the same function before.
        opaque: names that macros use without being handed them.

    Returns:
        `upstream` itself where not all of its statements become either what they were or what the base has.
    """
    before, after = (
        {(one.name, one.initial.signature if one.initial else ()) for one in declarations_in(node)}
        for node in (base, upstream)
    )
    names = frozenset(name for name, _ in after - before) - opaque
    known = {leaf.loose: leaf for leaf in _list_leaves(base)}
    read_as = upstream.rewrite(partial(_inline, names=names, value=_cast_value))
    as_written = upstream.rewrite(partial(_inline, names=names, value=_get_plain_value))
    inlined = _restore(read_as, as_written, known)
    accepted = known.keys() | {leaf.loose for leaf in _list_leaves(upstream)}
    return inlined if all(leaf.loose in accepted for leaf in _list_leaves(inlined)) else upstream


def _list_leaves(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Statements and conditions that a merge does not take apart."""
    if node.type not in STRUCTURES:
        yield node
        return
    for child in node.children or ():
        yield from _list_leaves(child)


def _restore(read_as: SyntaxNode, as_written: SyntaxNode, known: dict[tuple[str, ...], SyntaxNode]) -> SyntaxNode:
    """The base's own words wherever one of two forms of one tree says the same."""
    if as_written.type not in STRUCTURES:
        return known.get(read_as.loose) or known.get(as_written.loose) or as_written
    pairs = zip(read_as.children or (), as_written.children or (), strict=True)
    return SyntaxNode(as_written.type, as_written.text, tuple(_restore(one, other, known) for one, other in pairs))


def _inline(block: SyntaxNode, names: frozenset[str], value: Callable[[Declared], SyntaxNode]) -> SyntaxNode:
    """A block without the declarations of names that stand for one value throughout."""
    if block.type != "compound_statement":
        return block
    children = list(block.children or ())
    index = 0
    while index < len(children):
        declared = list_declared_names(children[index]) if children[index].type == "declaration" else ()
        rest = children[index + 1 :]
        if declared and all(one.name in names and _is_constant(one, rest) for one in declared):
            values: dict[str, SyntaxNode] = {}
            replace = partial(_replace_name, values=values)
            for one in declared:
                values[one.name] = value(one).rewrite(replace)
            children[index:] = [statement.rewrite(replace) for statement in rest]
        else:
            index += 1
    return SyntaxNode(block.type, None, tuple(children)) if len(children) != len(block.children or ()) else block


def _replace_name(node: SyntaxNode, values: Mapping[str, SyntaxNode]) -> SyntaxNode:
    return values.get(node.text or "", node) if node.type == "identifier" else node


def _is_constant(declared: Declared, rest: Sequence[SyntaxNode]) -> bool:
    if declared.initial is None or not _is_int_or_pointer(declared):
        return False
    if not all(node.type in _PURE or node.text in _LEAVES for node in declared.initial.walk()):
        return False
    if (reads(declared.initial) | {declared.name}) & writes(rest):
        return False
    directives = (node for statement in rest for node in statement.walk() if node.type == DIRECTIVE)
    return not any(declared.name in node.signature for node in directives)


def _is_int_or_pointer(declared: Declared) -> bool:
    if {"static", "volatile", "register"} & set(declared.type):
        return False
    if declared.declarator.type == "identifier":
        return [word for word in declared.type if word != "const"] == ["int"]
    return declared.declarator.signature == ("*", declared.name)


def _get_plain_value(declared: Declared) -> SyntaxNode:
    """The expression as it stands."""
    if declared.initial is None:
        raise ValueError(declared.name)
    return declared.initial if declared.initial.type in _SIMPLE else _put_in_parentheses(declared.initial)


def _cast_value(declared: Declared) -> SyntaxNode:
    """The expression cast to the pointer that it is kept in, for `(UINT8)p[i]` of the base may be `name[i]` now."""
    value = _get_plain_value(declared)
    if declared.declarator.type == "identifier" or value.bare.type == "cast_expression":
        return value
    kind = (SyntaxNode("type_identifier", word) for word in declared.type if word != "const")
    star = SyntaxNode("abstract_pointer_declarator", None, (SyntaxNode("*", "*"),))
    pointer = SyntaxNode("type_descriptor", None, (*kind, star))
    cast = (SyntaxNode("(", "("), pointer, SyntaxNode(")", ")"), value)
    return _put_in_parentheses(SyntaxNode("cast_expression", None, cast))


def _put_in_parentheses(node: SyntaxNode) -> SyntaxNode:
    return SyntaxNode("parenthesized_expression", None, (SyntaxNode("(", "("), node, SyntaxNode(")", ")")))

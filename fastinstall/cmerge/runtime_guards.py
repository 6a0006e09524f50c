"""Functions that choose at run time between the fork's code and upstream's own.

The merged function F becomes F__simd, upstream's own stays as F__scalar with all that it needs, and F is a dispatcher
that decides by a condition over its parameters. Whether the condition is right is not known here: the proof shows that.

What upstream's function needs is everything that it reaches and the merge changed, or that reaches something changed:
callees, macros, types, variables, under other names. What the merge left alone is shared.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from fastinstall.cmerge.declarations import (
    cut_before_body,
    find_declared_name,
    find_used_names,
    is_declarator,
    list_item_definitions,
    rename,
)
from fastinstall.cmerge.documents import GuardedFunction, condition_problem, read_names
from fastinstall.cmerge.syntax import ATOMIC, DIRECTIVE, Item, ItemKey, ParsedFile, SyntaxNode, parse_items
from fastinstall.core.errors import RefusedError
from fastinstall.core.values import immutable

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


def _read_signature(item: Item) -> FunctionSignature | None:
    """Read a function's signature, or return None if the item is no function or cannot be parsed."""
    if item.node.type == ATOMIC and "{" in item.text:  # the body may be what could not be read
        item = next(iter(parse_items(cut_before_body(item.text) + " {}").items), item)
    declarator = _find_declarator(item.node)
    if declarator is None:
        return None
    listed = next((child.children for child in declarator.children or () if child.type == "parameter_list"), None)
    declared = [child for child in listed or () if child.type == "parameter_declaration"]
    if [child.signature for child in declared] == [("void",)]:
        declared = []
    named = [leaf for leaf in map(_find_parameter_name, declared) if leaf is not None and leaf.text]
    children = item.node.children or ()
    leaves = (leaf for child in children[:-1] for leaf in child.walk() if leaf.children is None and leaf not in named)
    void = any(child.type == "primitive_type" and child.text == "void" for child in children)
    return FunctionSignature(
        text=cut_before_body(item.text),
        parameters=tuple(leaf.text or "" for leaf in named),
        kinds=tuple(leaf.text for leaf in leaves if leaf.text and leaf.text not in (item.key.name, *_QUALIFIERS)),
        gives=not (void and any(child.type == "function_declarator" for child in children)),
        callable=len(named) == len(declared) and "..." not in declarator.signature,
    )


def _find_declarator(node: SyntaxNode) -> SyntaxNode | None:
    """The innermost function declarator that the name of a definition stands in."""
    found = None
    outer = next((child for child in node.children or () if _has_function(child)), None)
    while node.type == "function_definition" and outer is not None:
        found = outer if outer.type == "function_declarator" else found
        outer = next((child for child in outer.children or () if is_declarator(child)), None)
    return found


def _has_function(node: SyntaxNode) -> bool:
    return node.type.endswith("declarator") and any(each.type == "function_declarator" for each in node.walk())


def _find_parameter_name(parameter: SyntaxNode) -> SyntaxNode | None:
    """The name in the last declarator of a parameter's declaration; types stand before it."""
    children = (parameter.children or ())[1:]
    found = [child for child in children if is_declarator(child) and not child.type.startswith("abstract")]
    return find_declared_name(found[-1]) if found else None


SUFFIX = "__scalar"


@immutable
class Retained:
    """Items of upstream's that stay under other names.

    Attributes:
        names: those that get the suffix.
        copies: key of upstream's item to its text, renamed; in upstream's order.
    """

    names: frozenset[str]
    copies: dict[ItemKey, str]


class Upstream:
    """Upstream's items, what they define and use, and which of them the merge concerns.

    Args:
        upstream: the file as upstream has it.
        merged: the file as the merge left it.

    Attributes:
        unclear: what the merge changed and nobody can tell what it defines.
    """

    def __init__(self, upstream: ParsedFile, merged: ParsedFile) -> None:
        self._items = upstream.items
        self._defined = [list_item_definitions(item) for item in upstream.items]
        self._used = [find_used_names(item.text) for item in upstream.items]
        self._places: dict[str, set[int]] = {}
        for index, names in enumerate(self._defined):
            for name in names:
                self._places.setdefault(name, set()).add(index)
        left = {(item.key, item.signature) for item in merged.items}
        changed = {index for index, item in enumerate(upstream.items) if (item.key, item.signature) not in left}
        self._concerned = self._find_dependants(changed)
        self.unclear = tuple(
            self._items[index].key.name for index in sorted(changed) if _is_unclear(self._items[index])
        )

    def concerns(self, function: str) -> bool:
        """Whether the merge changed a function, or anything that it reaches."""
        return bool(self._places.get(function, set()) & self._concerned)

    def retain(self, functions: Iterable[str]) -> Retained:
        """What must stay for functions to run as upstream wrote them."""
        needed = self._find_closure(functions)
        names = frozenset(name for index in needed for name in self._defined[index])
        copies = {self._items[index].key: rename(self._items[index].text, names, SUFFIX) for index in sorted(needed)}
        return Retained(names=names, copies=copies)

    def _find_dependants(self, changed: AbstractSet[int]) -> set[int]:
        """The changed items, those of the same names, and all that use them."""
        found, more = set[int](), self._add_namesakes(changed)
        while more != found:
            found = more
            names = {name for index in found for name in self._defined[index]}
            more = found | self._add_namesakes({index for index, used in enumerate(self._used) if used & names})
        return found

    def _find_closure(self, functions: Iterable[str]) -> set[int]:
        found, more = set[int](), {index for name in functions for index in self._places.get(name, ())}
        while more != found:
            found = more
            names = {name for index in found for name in (*self._used[index], *self._defined[index])}
            more = found | {index for name in names for index in self._places.get(name, set()) & self._concerned}
        return found

    def _add_namesakes(self, indexes: AbstractSet[int]) -> set[int]:
        """A function and its declaration, a macro and its `#undef`: renamed together or not at all."""
        return {other for index in indexes for name in self._defined[index] for other in self._places[name]} | indexes


def _is_unclear(item: Item) -> bool:
    """Whether it may define what cannot be seen: unreadable, or a macro that makes definitions."""
    if item.key.kind == "other":
        return item.node.type != DIRECTIVE
    return item.node.type == ATOMIC and item.key.kind in ("conditional", "struct")


KERNEL_SUFFIX = "__simd"

_HINT = "fix the rule in the recipe, or remove it: fastinstall recipes show NAME"


@immutable
class GuardedText:
    """A merged file with its guards.

    Attributes:
        text: C source.
        applied: functions that choose, by their names in the file.
        unused: functions of rules that the merge did not touch: nothing to choose there.
    """

    text: str
    applied: tuple[str, ...]
    unused: tuple[str, ...]


@immutable
class _Guard:
    """A rule with the function that it means."""

    rule: GuardedFunction
    item: Item
    signature: FunctionSignature


def apply_guards(upstream: str, merged: str, rules: Sequence[GuardedFunction]) -> GuardedText:
    """Make functions of a merged file choose between the merge and upstream's own code.

    Args:
        upstream: the file as upstream has it.
        merged: the file as the merge left it, without guards.
        rules: those for this file; a function may be named without or with a leading underscore that it has not.

    Raises:
        RefusedError: a rule names no function of the file, its condition reads something else than that
            function's parameters, or the function cannot be kept in both forms.
    """
    ours, theirs = parse_items(upstream), parse_items(merged)
    guards = [_resolve_rule(rule, ours) for rule in rules]
    reach = Upstream(ours, theirs)
    used = {guard.item.key: guard for guard in guards if reach.concerns(guard.item.key.name)}
    retained = reach.retain(key.name for key in used)
    _require_clear(retained, ours, theirs, list(used.values()))
    for guard in used.values():
        if reach.unclear:
            raise _make_refusal(guard.rule, f"the merge changed what cannot be read: {', '.join(reach.unclear)}")
        _require_same_call(guard, theirs, retained)
    return GuardedText(
        text=_assemble(ours, theirs, retained, used) if used else merged,
        applied=tuple(key.name for key in used),
        unused=tuple(guard.item.key.name for guard in guards if guard.item.key not in used),
    )


def _resolve_rule(rule: GuardedFunction, upstream: ParsedFile) -> _Guard:
    """The function that a rule means, once its condition is found right."""
    item = find_function(rule.function, upstream)
    if item is None:
        raise _make_refusal(rule, "upstream's file has no such function")
    signature = _read_signature(item)
    if signature is None or not signature.callable:
        raise _make_refusal(rule, "its parameters cannot be passed on")
    strange = [name for name in read_names(rule.condition) if name not in signature.parameters]
    if problem := condition_problem(rule.condition):
        raise _make_refusal(rule, problem)
    if strange:
        known = ", ".join(signature.parameters) or "none"
        raise _make_refusal(rule, f"reads {', '.join(strange)}, and the function's parameters are: {known}")
    return _Guard(rule=rule, item=item, signature=signature)


def find_function(name: str, file: ParsedFile) -> Item | None:
    """A function by its name, else by that with a leading underscore more or less."""
    items = file.by_key
    wanted = (name, f"_{name}", name.removeprefix("_"))
    return next(filter(None, (items.get(ItemKey("function", each, 0)) for each in wanted)), None)


def _require_same_call(guard: _Guard, merged: ParsedFile, retained: Retained) -> None:
    doubled = retained.names & set(guard.signature.kinds)
    if doubled:
        raise _make_refusal(guard.rule, f"the merge changed {', '.join(sorted(doubled))}, which it takes or returns")
    counterpart = merged.by_key.get(guard.item.key)
    signature = _read_signature(counterpart) if counterpart else None
    if signature is None or signature.kinds != guard.signature.kinds:
        raise _make_refusal(guard.rule, "the merge changed how the function is called")


def _require_clear(retained: Retained, upstream: ParsedFile, merged: ParsedFile, guards: list[_Guard]) -> None:
    """Refuse where a name that the merge brought would mean something else to upstream's code."""
    known = {name for item in upstream.items for name in list_item_definitions(item)}
    brought = {name for item in merged.items for name in list_item_definitions(item)} - known
    met = sorted(brought & {name for text in retained.copies.values() for name in find_used_names(text)})
    if met:
        raise _make_refusal(guards[0].rule, f"upstream's code uses {', '.join(met)}, which the merge redefines")


def _assemble(upstream: ParsedFile, merged: ParsedFile, retained: Retained, guards: dict[ItemKey, _Guard]) -> str:
    """The merged file; each copy of upstream's stands before what came of it, so that it sees what it saw."""
    present, declared = merged.by_key, dict(_forward(upstream, retained))
    before: dict[ItemKey, list[str]] = {}
    waiting: list[str] = []
    for item in upstream.items:
        texts = (declared.get(item.key), retained.copies.get(item.key))
        waiting += [f"\n{text.rstrip()}\n" for text in texts if text]
        if waiting and item.key in present:
            before[item.key], waiting = waiting, []
    parts: list[str] = []
    for item in merged.items:
        guard = guards.get(item.key)
        text = item.text if guard is None else _write_dispatcher(item, guard)
        parts += (*before.get(item.key, ()), item.lead, text)
    return "".join((*parts, *waiting, merged.tail))


def _forward(upstream: ParsedFile, retained: Retained) -> Iterator[tuple[ItemKey, str]]:
    """Declarations for kept functions that a header declares, and another kept item uses before they are defined."""
    copied = [item for item in upstream.items if item.key in retained.copies]
    done: set[str] = set()
    for index, item in enumerate(copied):
        later = {each.key.name: each for each in copied[index + 1 :] if each.key.kind == "function"}
        for name in sorted(find_used_names(item.text) & set(later)):
            signature = _read_signature(later[name])
            declared = any(name in list_item_definitions(each) for each in copied[: index + 1])
            if signature is not None and not declared and name not in done:
                done.add(name)
                yield item.key, rename(signature.text, retained.names, SUFFIX) + ";\n"


def _write_dispatcher(merged: Item, guard: _Guard) -> str:
    """The merged function under its other name, and the dispatcher."""
    name, signature = merged.key.name, guard.signature
    arguments = f"({', '.join(signature.parameters)});"
    call = "return " if signature.gives else ""
    kernel = rename(merged.text, {name}, KERNEL_SUFFIX, limit=1)
    return (
        f"{kernel.rstrip()}\n\n{signature.text} {{\n"
        f"    if ({guard.rule.condition}) {{\n        {call}{name}{KERNEL_SUFFIX}{arguments}\n"
        f"    }} else {{\n        {call}{name}{SUFFIX}{arguments}\n    }}\n}}\n"
    )


def _make_refusal(rule: GuardedFunction, problem: str) -> RefusedError:
    return RefusedError(
        f"{rule.file}: {rule.function}: cannot add the guard: {problem}",
        hint=_HINT,
        details=(f"its condition: {rule.condition}",),
    )

"""Functions that choose at run time between the fork's code and upstream's own.

The merged function F becomes F__simd, upstream's own stays as F__scalar with all that it needs, and F is a dispatcher
that decides by a condition over its parameters. It is not known here whether a condition is the right one: that is
shown by proof.
"""

from collections.abc import Iterator, Sequence

from fastinstall.errors import RefusedError
from fastinstall.merge.definitions import defined_names, rename, used_names
from fastinstall.merge.retained import SUFFIX, Retained, Upstream
from fastinstall.merge.signatures import FunctionSignature, read_signature
from fastinstall.merge.syntax import Item, ItemKey, ParsedFile, parse_items
from fastinstall.model.immutable import immutable
from fastinstall.model.kernels import GuardedFunction
from fastinstall.rules.conditions import condition_problem, read_names

KERNEL_SUFFIX = "__simd"

_HINT = "put it right in the recipe, or take the rule out: fastinstall recipes show NAME"


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
    guards = [_resolved(rule, ours) for rule in rules]
    reach = Upstream(ours, theirs)
    used = {guard.item.key: guard for guard in guards if reach.concerns(guard.item.key.name)}
    retained = reach.retain(key.name for key in used)
    _require_clear(retained, ours, theirs, list(used.values()))
    for guard in used.values():
        if reach.unclear:
            raise _refused(guard.rule, f"the merge changed what cannot be read: {', '.join(reach.unclear)}")
        _require_same_call(guard, theirs, retained)
    return GuardedText(
        text=_assembled(ours, theirs, retained, used) if used else merged,
        applied=tuple(key.name for key in used),
        unused=tuple(guard.item.key.name for guard in guards if guard.item.key not in used),
    )


def _resolved(rule: GuardedFunction, upstream: ParsedFile) -> _Guard:
    """The function that a rule means, once its condition is found right."""
    item = _function(rule.function, upstream)
    if item is None:
        raise _refused(rule, "upstream's file has no such function")
    signature = read_signature(item)
    if signature is None or not signature.callable:
        raise _refused(rule, "its parameters cannot be passed on")
    problem = condition_problem(rule.condition)
    strange = [name for name in read_names(rule.condition) if name not in signature.parameters]
    if strange:
        known = ", ".join(signature.parameters) or "none"
        problem = problem or f"reads {', '.join(strange)}, and the function's parameters are: {known}"
    if problem:
        raise _refused(rule, problem)
    return _Guard(rule=rule, item=item, signature=signature)


def _function(name: str, file: ParsedFile) -> Item | None:
    """A function by its name, else by that with a leading underscore more or less."""
    items = file.by_key
    wanted = (name, f"_{name}", name.removeprefix("_"))
    return next(filter(None, (items.get(ItemKey("function", each, 0)) for each in wanted)), None)


def _require_same_call(guard: _Guard, merged: ParsedFile, retained: Retained) -> None:
    doubled = retained.names & set(guard.signature.kinds)
    if doubled:
        raise _refused(guard.rule, f"the merge changed {', '.join(sorted(doubled))}, which it takes or gives")
    counterpart = merged.by_key.get(guard.item.key)
    signature = read_signature(counterpart) if counterpart else None
    if signature is None or signature.kinds != guard.signature.kinds:
        raise _refused(guard.rule, "the merge changed how the function is called")


def _require_clear(retained: Retained, upstream: ParsedFile, merged: ParsedFile, guards: list[_Guard]) -> None:
    """Refuse where a name that the merge brought would mean something else to upstream's code."""
    known = {name for item in upstream.items for name in defined_names(item)}
    brought = {name for item in merged.items for name in defined_names(item)} - known
    met = sorted(brought & {name for text in retained.copies.values() for name in used_names(text)})
    if met:
        raise _refused(guards[0].rule, f"upstream's code uses {', '.join(met)}, which the merge defines anew")


def _assembled(upstream: ParsedFile, merged: ParsedFile, retained: Retained, guards: dict[ItemKey, _Guard]) -> str:
    """The merged file; each copy of upstream's stands before what came of it, so that it sees what it saw."""
    before, last = _placed(upstream, merged, retained)
    parts: list[str] = []
    for item in merged.items:
        parts += [f"\n{copy.rstrip()}\n" for copy in before.get(item.key, ())]
        guard = guards.get(item.key)
        parts.append(item.lead + (item.text if guard is None else _choosing(item, guard)))
    parts += [f"\n{copy.rstrip()}\n" for copy in last]
    return "".join((*parts, merged.tail))


def _placed(upstream: ParsedFile, merged: ParsedFile, retained: Retained) -> tuple[dict[ItemKey, list[str]], list[str]]:
    present = merged.by_key
    before: dict[ItemKey, list[str]] = {}
    waiting: list[str] = []
    declared = dict(_forward(upstream, retained))
    for item in upstream.items:
        waiting += [text for text in (declared.get(item.key), retained.copies.get(item.key)) if text]
        if waiting and item.key in present:
            before[item.key], waiting = waiting, []
    return before, waiting


def _forward(upstream: ParsedFile, retained: Retained) -> Iterator[tuple[ItemKey, str]]:
    """Declarations for kept functions that a header declares, and another kept item uses before they are defined."""
    copied = [item for item in upstream.items if item.key in retained.copies]
    done: set[str] = set()
    for index, item in enumerate(copied):
        later = {each.key.name: each for each in copied[index + 1 :] if each.key.kind == "function"}
        for name in sorted(used_names(item.text) & set(later)):
            signature = read_signature(later[name])
            declared = any(name in defined_names(each) for each in copied[: index + 1])
            if signature is not None and not declared and name not in done:
                done.add(name)
                yield item.key, rename(signature.text, retained.names, SUFFIX) + ";\n"


def _choosing(merged: Item, guard: _Guard) -> str:
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


def _refused(rule: GuardedFunction, problem: str) -> RefusedError:
    return RefusedError(
        f"{rule.file}: {rule.function}: the guard cannot be put there: {problem}",
        hint=_HINT,
        details=(f"its condition: {rule.condition}",),
    )

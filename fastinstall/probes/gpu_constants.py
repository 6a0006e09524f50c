"""Constants that a Python file assigns to names, read by parsing it: it is never run."""

import ast
import warnings
from collections.abc import Iterator


def assigned_constants(content: bytes) -> dict[str, object]:
    """Names that are assigned literals at the top level; empty where it is no Python.

    A call with one literal, as `OrderedDict([...])`, counts as that literal; a list of pairs is given as a dictionary.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            statements = ast.parse(content).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return dict(pair for statement in statements for pair in _pairs(statement))


def _pairs(statement: ast.stmt) -> Iterator[tuple[str, object]]:
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return
    value = statement.value
    if isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]
    try:
        literal = ast.literal_eval(value) if value is not None else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return
    yield from ((target.id, _mapped(literal)) for target in targets if isinstance(target, ast.Name))


def _mapped(literal: object) -> object:
    """Pairs as a dictionary; anything else as it is."""
    if isinstance(literal, list) and literal and all(_is_pair(item) for item in literal):
        return dict(literal)
    return literal


def _is_pair(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)  # noqa: PLR2004 (a pair)

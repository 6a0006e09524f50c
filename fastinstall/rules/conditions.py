"""The condition of a guard: one C expression over the parameters of a function. Pure.

No C parser: it accepts less than C does (no calls, casts, assignments, literals with quotes), so that a
condition can only read what the function was given.
"""

import re
from itertools import pairwise

_TOKEN = re.compile(r"\s+|->|&&|\|\||[<>=!]=|<<|>>|[A-Za-z_]\w*|\d[\w.]*|[-+*/%&|^~!<>().?:]|\[|\]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_CONSTANT = "IMAGING_"
_STEPS = ("++", "--")
_PAIRS = {")": "(", "]": "["}


def condition_problem(condition: str) -> str:
    """What is wrong with a condition, whichever function it is for; empty if nothing is."""
    if not condition.strip():
        return "is empty: nothing would be guarded"
    found = [match.group() for match in _TOKEN.finditer(condition)]
    if "".join(found) != condition or any(step in condition for step in _STEPS):
        return f"{condition!r} is more than a C expression that compares parameters"
    if not _balanced(found):
        return f"{condition!r} has a bracket without its counterpart"
    if _calls(found):
        return f"{condition!r} calls a function"
    return ""


def read_names(condition: str) -> tuple[str, ...]:
    """The names that a condition reads, each once, in order; no members (`image->mode`), no `IMAGING_*` constants."""
    found = _words(condition)
    names = (
        name
        for before, name in zip(("", *found), found, strict=False)
        if _NAME.fullmatch(name) and before not in (".", "->") and not name.startswith(_CONSTANT)
    )
    return tuple(dict.fromkeys(names))


def _words(condition: str) -> list[str]:
    return [match.group() for match in _TOKEN.finditer(condition) if not match.group().isspace()]


def _balanced(found: list[str]) -> bool:
    opened: list[str] = []
    for token in found:
        if token in _PAIRS.values():
            opened.append(token)
        elif token in _PAIRS and (not opened or opened.pop() != _PAIRS[token]):
            return False
    return not opened


def _calls(found: list[str]) -> bool:
    solid = [token for token in found if not token.isspace()]
    return any(after == "(" and (_NAME.fullmatch(before) or before in _PAIRS) for before, after in pairwise(solid))

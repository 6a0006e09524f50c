"""The condition of a guard and the text of a macro: one C expression over parameters. Pure.

No C parser: it accepts less than C does (no calls, casts, assignments, literals with quotes), so that a
condition can only read what the function was given, and a macro can only compute.
"""

import re
from itertools import pairwise

_TOKEN = re.compile(r"\s+|->|&&|\|\||[<>=!]=|<<|>>|[A-Za-z_]\w*|\d[\w.]*|[-+*/%&|^~!<>().?:]|\[|\]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_CONSTANT = "IMAGING_"
_MACRO = re.compile(r"(?P<name>[A-Za-z_]\w*)\((?P<parameters>[\w, ]*)\) (?P<text>[^\n\\]+)", re.ASCII)
_MATHEMATICAL = frozenset(
    f"{name}{precision}"
    for name in (
        *("fmod", "remainder", "trunc", "floor", "ceil", "round", "rint", "nearbyint", "lrint", "lround"),
        *("fabs", "fmin", "fmax", "fma", "sqrt", "cbrt", "pow", "exp", "exp2", "log", "log2", "hypot", "copysign"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    )
    for precision in ("", "f")
)
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


def macro_problem(macro: str) -> str:
    """What is wrong with a macro that stands for a function of <math.h>; empty if nothing is.

    It computes from its parameters, and calls no functions but those of <math.h>.
    """
    match = _MACRO.fullmatch(macro)
    if match is None:
        return f"{macro!r} is not a macro with parameters, on one line"
    parameters = [name.strip() for name in match["parameters"].split(",")]
    found = [each.group() for each in _TOKEN.finditer(match["text"].replace(",", "+"))]
    if "".join(found) != match["text"].replace(",", "+") or any(step in match["text"] for step in _STEPS):
        return f"{macro!r} is more than a C expression that computes"
    if not _balanced(found):
        return f"{macro!r} has a bracket without its counterpart"
    if any(after == "(" and before in (*parameters, *_PAIRS) for before, after in pairwise(_words(match["text"]))):
        return f"{macro!r} calls what it is given"
    names = {each for each in found if _NAME.fullmatch(each)} - set(parameters)
    foreign = sorted((names | {match["name"]}) - _MATHEMATICAL)
    return (
        f"{macro!r} uses {', '.join(foreign)}, which is neither a parameter nor a function of <math.h>"
        if foreign
        else ""
    )


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

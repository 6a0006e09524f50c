"""Whether a macro of a recipe only computes: one C expression over its parameters.

It is checked without a C parser: the check accepts less than C does (no casts, assignments, literals with quotes).
"""

import re
from itertools import pairwise

_TOKEN = re.compile(r"\s+|->|&&|\|\||[<>=!]=|<<|>>|[A-Za-z_]\w*|\d[\w.]*|[-+*/%&|^~!<>().?:]|\[|\]")
_NAME = re.compile(r"[A-Za-z_]\w*")
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


def macro_problem(macro: str) -> str:
    """Return what is wrong with a macro that stands for a function of <math.h>; empty if nothing is.

    >>> macro_problem("fmod(x, y) ((x) - (y) * trunc((x) / (y)))")
    ''

    It computes from its parameters, and calls no functions but those of <math.h>.
    """
    match = _MACRO.fullmatch(macro)
    if match is None:
        return f"{macro!r} is not a macro with parameters, on one line"
    if problem := _find_expression_problem(match["text"].replace(",", "+")):
        return f"{macro!r} {problem}"
    parameters = {name.strip() for name in match["parameters"].split(",")}
    found = _split_tokens(match["text"])
    if any(after == "(" and (before in parameters or before in _PAIRS) for before, after in pairwise(found)):
        return f"{macro!r} calls its argument"
    names = {each for each in found if _NAME.fullmatch(each)} - parameters
    if foreign := sorted((names | {match["name"]}) - _MATHEMATICAL):
        return f"{macro!r} uses {', '.join(foreign)}, which is neither a parameter nor a <math.h> function"
    return ""


def _split_tokens(text: str) -> list[str]:
    return [match.group() for match in _TOKEN.finditer(text) if not match.group().isspace()]


def _find_expression_problem(text: str) -> str:
    """Return why a text is no expression that only reads; empty if it is one."""
    if "".join(match.group() for match in _TOKEN.finditer(text)) != text or any(step in text for step in _STEPS):
        return "is more than a C expression that computes"
    opened: list[str] = []
    for token in _split_tokens(text):
        if token in _PAIRS.values():
            opened.append(token)
        elif token in _PAIRS and (not opened or opened.pop() != _PAIRS[token]):
            opened = [token]
            break
    return "has an unbalanced bracket" if opened else ""

"""C's tokens, by a scanner: what is left of a text when comments and white space are dropped.

It is not a preprocessor: macros are not expanded, lines are not included.
"""

import re
from functools import lru_cache

_PUNCTUATORS = (
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
    "*=", "/=", "%=", "+=", "-=", "&=", "^=", "|=", "##",
)  # fmt: skip

_TOKEN = re.compile(
    r"""
    (?P<blank> (?:[ \t\f\v\r]|\\\r?\n)+ | //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )
  | (?P<newline> \n )
  | (?P<directive> \#[ \t]*(?P<word>\w+) (?:(?<=define)[ \t]+(?P<macro>\w+)(?=\())? )
  | (?P<token> (?:L|u8|u|U)?"(?:\\.|[^"\\\n])*"
            | (?:L|u|U)?'(?:\\.|[^'\\\n])*'
            | \.?\d(?:[eEpP][+-]|[\w.])*
            | \w+
            | """
    + "|".join(map(re.escape, _PUNCTUATORS))
    + r"""
            | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    r"""The tokens of C source, comments and white space dropped, also inside `#define`.

    The word of a directive is one token with its "#"; that of a macro with parameters is "#define()", for
    `#define A (x)` and `#define A(x)` differ by white space alone. The end of a directive is the token "\n".
    """
    found: list[str] = []
    inside = False
    fresh = True
    for match in _TOKEN.finditer(text):
        match match.lastgroup:
            case "blank":
                continue
            case "newline":
                found.extend("\n" * inside)
                inside, fresh = False, True
                continue
            case "directive" if fresh:
                found.extend(_directive(match))
                inside = True
            case "directive":
                found.extend(("#", *match.group().lstrip("#").split()))
            case _:
                found.append(match.group())
        fresh = False
    return (*found, "\n") if inside else tuple(found)


def _directive(match: re.Match[str]) -> tuple[str, ...]:
    if match["macro"]:
        return ("#define()", match["macro"])
    return ("#" + match["word"],)

"""Compares a command's output with the output that a page shows, except for parts that change from run to run."""

import re

_CHANGING = re.compile(r"\.\.\.|[0-9]{8}T[0-9]{6}Z(?:-[0-9a-f]{6})?|/[\w./+~-]+|[0-9]+(?:[.:,]?[0-9]+)*|\s+")


def lines_missing(shown: str, printed: str) -> list[str]:
    """List the lines of a page's block that the output does not have in the same order.

    "..." matches any text; alone on a line, it matches any lines. A path matches any path, a number any number, a name
    of a transaction any such name, and white space any white space.
    """
    missing, rest = [], printed.splitlines()
    for line in shown.splitlines():
        if not line.strip() or line.strip() == "...":
            continue
        pattern = re.compile(_pattern(line.strip()))
        found = next((number for number, each in enumerate(rest) if pattern.search(each.strip())), None)
        if found is None:
            missing.append(line)
        else:
            rest = rest[found + 1 :]
    return missing


def _pattern(line: str) -> str:
    parts, end = [], 0
    for changing in _CHANGING.finditer(line):
        parts += [re.escape(line[end : changing.start()]), _loose(changing[0])]
        end = changing.end()
    return "".join([*parts, re.escape(line[end:])])


def _loose(text: str) -> str:
    if text == "...":
        return ".*"
    if text.startswith("/") or "T" in text:
        return r"\S+"
    return r"\s+" if text.isspace() else r"[0-9][0-9.:,]*"

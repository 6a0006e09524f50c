"""Tuning of a C source by text: GCC's pragma, and macros of ours, before a file or around single functions of it.

Unlike flags on a command line they reach that code alone, through any build backend.
"""

from collections.abc import Sequence

from fastinstall.model.kernels import Tuning


def tuned(source: str, rule: Tuning) -> str | None:
    """Apply a rule to a source, or return None if the source lacks a function that the rule names.

    Args:
        source: the text of a C file.
        rule: what to put where.
    """
    if not rule.functions:
        return f"{_optimize(rule.options)}\n{source}"
    return _around_functions(source, rule)


def _around_functions(source: str, rule: Tuning) -> str | None:
    from fastinstall.merge.syntax import parse_items  # noqa: PLC0415 (the parser, only where it is needed)

    parsed = parse_items(source)
    missing = set(rule.functions)
    pieces: list[str] = []
    for item in parsed.items:
        wanted = item.key.kind == "function" and item.key.name in rule.functions
        missing -= {item.key.name} if wanted else set()
        pieces += (item.lead, _wrapped(item.text, rule) if wanted else item.text)
    return None if missing else "".join((*pieces, parsed.tail))


def _wrapped(definition: str, rule: Tuning) -> str:
    before = [f"#define {macro}" for macro in rule.macros]
    after = [f"#undef {macro.partition('(')[0]}" for macro in rule.macros]
    if rule.options:
        before = ["#pragma GCC push_options", _optimize(rule.options), *before]
        after = [*after, "#pragma GCC pop_options"]
    return "\n".join(("", *before, definition, *after, ""))


def _optimize(options: Sequence[str]) -> str:
    quoted = ", ".join(f'"{option}"' for option in options)
    return f"#pragma GCC optimize ({quoted})"

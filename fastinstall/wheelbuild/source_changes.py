"""Changes of one C file by its text: code of ours in place of a function, and tuning around one.

Functions are found by the form in which Pillow's are written: a definition ends with the first "}" at the start of a
line. What is not found, or found twice (in branches of an #if), is left alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from fastinstall.core.values import immutable
from fastinstall.model.recipe import SOURCE_SUFFIX, Kernel, Tuning

_HEAD = r"^[ \t]*[A-Za-z_][\w \t*]*(?:\n[ \t]*)?(?<!\w)(?P<name>{name})\s*\([^;{{}}]*\)\s*"
_BODY = r"\{.*?^\}[^\n]*(?:\n|\Z)"


@immutable
class FoundFunction:
    """The definition of a function in a file.

    Attributes:
        name: as it is there.
        start: offset of its first character.
        end: offset behind its last.
    """

    name: str
    start: int
    end: int


def find_function(source: str, name: str) -> FoundFunction | None:
    """Return the one definition of a function; None if there is none, or more than one.

    Args:
        source: the text of a C file.
        name: of the function, as a pattern.
    """
    found = list(re.finditer(_HEAD.format(name=name) + _BODY, source, re.MULTILINE | re.DOTALL))
    if len(found) != 1:
        return None
    return FoundFunction(name=found[0]["name"], start=found[0].start(), end=found[0].end())


def apply_tuning_rule(source: str, rule: Tuning) -> str | None:
    """Apply a rule to a source, or return None if the source lacks a function of the rule.

    Args:
        source: the text of a C file.
        rule: what to insert where.
    """
    if not rule.functions:
        return f"{_optimize(rule.options)}\n{source}"
    found = _find_all(source, rule.functions)
    before = [f"#define {macro}" for macro in rule.macros]
    after = [f"#undef {macro.partition('(')[0]}" for macro in rule.macros]
    if rule.options:
        before = ["#pragma GCC push_options", _optimize(rule.options), *before]
        after = [*after, "#pragma GCC pop_options"]
    if found is None:
        return None
    return _surround(source, {each: (_join(before), _join(after)) for each in found.values()})


def add_kernel(source: str, kernel: Kernel) -> str | None:
    """Put one of our kernels into a source, or return None if the source lacks a function of the kernel.

    Macros rename the source's own definitions; the kernel is included behind the last of them. Functions that upstream
    renamed with leading underscores are found, and the kernel's are renamed likewise.

    Args:
        source: the text of a C file.
        kernel: the kernel; `KERNEL.h` must be beside the file.
    """
    found = _find_all(source, [f"_*{name}" for name in kernel.functions])
    if found is None:
        return None
    added = {
        each: (f"#define {each.name} {each.name}{SOURCE_SUFFIX}\n", f"#undef {each.name}\n") for each in found.values()
    }
    last = max(added, key=lambda each: each.end)
    names = dict(zip(kernel.functions, (each.name for each in found.values()), strict=True))
    added[last] = (added[last][0], added[last][1] + _include_kernel(kernel, names))
    return _surround(source, added)


def _find_all(source: str, names: Iterable[str]) -> dict[str, FoundFunction] | None:
    """Return every function by its name; None if one is not there."""
    found = {name: find_function(source, name) for name in names}
    there = {name: each for name, each in found.items() if each is not None}
    return there if len(there) == len(found) else None


def _surround(source: str, added: Mapping[FoundFunction, tuple[str, str]]) -> str:
    """Return a source with lines before and behind some of its functions."""
    for each in sorted(added, key=lambda each: -each.start):
        before, after = added[each]
        source = f"{source[: each.start]}{before}{source[each.start : each.end]}{after}{source[each.end :]}"
    return source


def _include_kernel(kernel: Kernel, names: Mapping[str, str]) -> str:
    renamed = [(name, there) for name, there in names.items() if name != there]
    lines = [f"#define {name}{end} {there}{end}\n" for name, there in renamed for end in ("", SOURCE_SUFFIX)]
    return "".join((*lines, f'#include "{kernel.name}.h"\n'))


def _optimize(options: Sequence[str]) -> str:
    quoted = ", ".join(f'"{option}"' for option in options)
    return f"#pragma GCC optimize ({quoted})"


def _join(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)

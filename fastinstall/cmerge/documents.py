"""What a recipe changes in a source before compiling (merge of a fork, tuning), and the report of a merge. Data only.

The report tells which item came from where, and what is not accelerated; it goes into the wheel.

A guard's condition and a macro's text are one C expression over parameters. They are checked without a C parser: the
check accepts less than C does (no calls, casts, assignments, literals with quotes), so that a condition can only read
what the function was given, and a macro can only compute.
"""

import re
from enum import StrEnum
from itertools import pairwise

from fastinstall.core.values import immutable


class TextOrigin(StrEnum):
    """Where the text of an item came from."""

    UPSTREAM = "upstream"
    KERNELS = "kernels"
    MERGED = "merged"
    CANONICAL = "canonical"
    KEPT = "kept"
    REVERTED = "reverted"
    CONFLICT = "conflict"


@immutable
class MergedItem:
    """One item of a file that differs from upstream's, or could have.

    Attributes:
        file: relative to the source's top directory.
        kind: "function", "define", "declaration", ...; "file" for a file as a whole.
        name: what it defines.
        origin: "upstream" where the fork's change was not needed or upstream renamed the item, "kernels" the fork's
            text, "merged" the changes of both, "canonical" those of both once the function was brought to a canonical
            form, "kept" upstream's by a rule, "reverted" upstream's on request or together with a conflict,
            "conflict" upstream's, for the changes of both exclude each other.
        reason: why.
    """

    file: str
    kind: str
    name: str
    origin: TextOrigin
    reason: str


@immutable
class NotAccelerated:
    """What runs upstream's code, although the fork has kernels for it.

    Attributes:
        what: a part, a file, or a function.
        reason: why.
    """

    what: str
    reason: str


@immutable
class MergeReport:
    """What a merge did.

    Attributes:
        base: what the fork follows ("pillow 12.1.1").
        upstream: what was merged onto ("pillow 13.0.0").
        kernels: whose changes were merged ("pillow-simd 12.1.1.post0").
        items: those that differ from upstream's, or that were kept, reverted, or in conflict.
        files: that differ from upstream's, relative to the source's top directory.
        new_files: that upstream has not.
        guards: "FILE: FUNCTION" of the functions that choose between both at run time.
        not_accelerated: what runs upstream's code, and why.
        unused_rules: rules of the recipe that found nothing to apply to, and why.
    """

    base: str
    upstream: str
    kernels: str
    items: tuple[MergedItem, ...] = ()
    files: tuple[str, ...] = ()
    new_files: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    not_accelerated: tuple[NotAccelerated, ...] = ()
    unused_rules: tuple[str, ...] = ()


@immutable
class KeptItems:
    """Definitions that stay upstream's, although the fork changed them.

    Attributes:
        file: relative to the source's top directory.
        items: names of functions, macros or variables.
        reason: why.
    """

    file: str
    items: tuple[str, ...]
    reason: str


@immutable
class GuardedFunction:
    """A function that runs the fork's code only under a condition, and upstream's own otherwise.

    Attributes:
        file: relative to the source's top directory.
        function: its name.
        condition: a C expression over the function's parameters; where it holds, the kernels run.
        reason: why.
    """

    file: str
    function: str
    condition: str
    reason: str


@immutable
class Part:
    """What belongs together in a merge: taken whole, or left upstream's whole.

    Attributes:
        name: "resample".
        files: relative to the source's top directory, taken or left as wholes.
        items: definitions in further files that go with them: "src/_imaging.c: _prepare_lut_table".
        operations: the operations of the proof whose result they decide, by the start of their names.
    """

    name: str
    files: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    operations: tuple[str, ...]


SOURCE_SUFFIX = "__source"
"""What the name of a function ends in that a kernel of this project's own replaces."""


@immutable
class OwnKernel:
    """A kernel of this project's own: C that is compiled in one file of the source.

    Attributes:
        name: of its file in recipes/kernels/, without ".c".
        file: relative to the source's top directory.
        functions: those that it replaces, without leading underscores. The source's own become NAME__source, for what
            the kernel leaves to them.
        clang_only: whether builds by other compilers go without it.
        operations: the operations of the proof whose result it decides, by the start of their names.
        reason: what was measured.
    """

    name: str
    file: str
    functions: tuple[str, ...]
    operations: tuple[str, ...]
    clang_only: bool = False
    reason: str


@immutable
class Kernels:
    """A fork whose changes are merged onto the source before it is built.

    Attributes:
        pypi: name of the fork's distribution ("pillow-simd").
        follows: name of the distribution that the fork follows: its version of the same number is the base.
        versions: specifier over the fork's versions whose changes are understood; empty for all.
        proven: versions of the source onto which the merge was proven by `recipes check --prove`.
        keep: definitions that stay upstream's.
        guards: functions that choose between both at run time.
        parts: what is left out together where a proof fails.
        own: kernels of this project's own, compiled in after the merge.
    """

    pypi: str
    follows: str
    versions: str = ""
    proven: tuple[str, ...] = ()
    keep: tuple[KeptItems, ...] = ()
    guards: tuple[GuardedFunction, ...] = ()
    parts: tuple[Part, ...] = ()
    own: tuple[OwnKernel, ...] = ()

    @property
    def separable(self) -> "tuple[Part | OwnKernel, ...]":
        """What can be left out by its name."""
        return (*self.parts, *self.own)


@immutable
class Tuning:
    """What makes one file of the source, or single functions of it, faster by measurement.

    Attributes:
        file: relative to the source's top directory.
        functions: the only ones that are tuned; empty for the whole file.
        options: as GCC's `optimize` pragma takes them: "O2", "no-tree-vectorize".
        macros: what `#define` gets, in force inside the functions only: "fmod(x, y) ...".
        reason: what was measured.
    """

    file: str
    functions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    reason: str


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
        return "is empty and would guard nothing"
    if problem := _find_expression_problem(condition, "compares parameters"):
        return f"{condition!r} {problem}"
    found = _split_tokens(condition)
    if any(after == "(" and (_NAME.fullmatch(before) or before in _PAIRS) for before, after in pairwise(found)):
        return f"{condition!r} calls a function"
    return ""


def macro_problem(macro: str) -> str:
    """What is wrong with a macro that stands for a function of <math.h>; empty if nothing is.

    It computes from its parameters, and calls no functions but those of <math.h>.
    """
    match = _MACRO.fullmatch(macro)
    if match is None:
        return f"{macro!r} is not a macro with parameters, on one line"
    if problem := _find_expression_problem(match["text"].replace(",", "+"), "computes"):
        return f"{macro!r} {problem}"
    parameters = {name.strip() for name in match["parameters"].split(",")}
    found = _split_tokens(match["text"])
    if any(after == "(" and (before in parameters or before in _PAIRS) for before, after in pairwise(found)):
        return f"{macro!r} calls its argument"
    names = {each for each in found if _NAME.fullmatch(each)} - parameters
    if foreign := sorted((names | {match["name"]}) - _MATHEMATICAL):
        return f"{macro!r} uses {', '.join(foreign)}, which is neither a parameter nor a <math.h> function"
    return ""


def read_names(condition: str) -> tuple[str, ...]:
    """The names that a condition reads, each once, in order; no members (`image->mode`), no `IMAGING_*` constants."""
    names = (
        name
        for before, name in pairwise(("", *_split_tokens(condition)))
        if _NAME.fullmatch(name) and before not in (".", "->") and not name.startswith(_CONSTANT)
    )
    return tuple(dict.fromkeys(names))


def _split_tokens(text: str) -> list[str]:
    return [match.group() for match in _TOKEN.finditer(text) if not match.group().isspace()]


def _find_expression_problem(text: str, does: str) -> str:
    """Why a text is no expression that only reads; empty if it is one."""
    if "".join(match.group() for match in _TOKEN.finditer(text)) != text or any(step in text for step in _STEPS):
        return f"is more than a C expression that {does}"
    opened: list[str] = []
    for token in _split_tokens(text):
        if token in _PAIRS.values():
            opened.append(token)
        elif token in _PAIRS and (not opened or opened.pop() != _PAIRS[token]):
            opened = [token]
            break
    return "has an unbalanced bracket" if opened else ""

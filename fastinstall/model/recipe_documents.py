"""Parse and check the text of a recipe, as far as possible without a target. Pure.

A problem is a dotted key with a description. Words, names and paths are checked one by one, by a table that has a rule
for each key; all other rules concern several values.

Recipes may come from anybody, so only listed flags and arguments may be passed to compilers. Compilers can load
plugins, read options from files, start other programs and write any file. Fast code needs none of that. Therefore the
only flags allowed are those known to affect nothing but the generated code.

A macro may only be one C expression over its parameters. The check works without a C parser, and accepts less than C
(no casts, assignments, or quoted literals).
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import PurePath
from typing import TypeVar

from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.codec import decode
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import toml_data
from fastinstall.core.version_numbers import is_specifier, is_version
from fastinstall.model.advisories import AdvisoryList
from fastinstall.model.recipe import PACKAGE_MANAGERS, Recipe

Problem = tuple[str, str]
_T = TypeVar("_T")
_Rule = Callable[[str], str]


def parse_recipe(text: str, file: PurePath | str) -> Recipe:
    """Parse and check a recipe; the caller must load `advisories_from`.

    Args:
        text: the recipe as TOML.
        file: path of the recipe; the file's stem must be the recipe's name.

    Raises:
        DocumentError: the text is not TOML, or has an unknown or missing key or an invalid value; the message names the
            file and the dotted key.
    """
    recipe = _decode(Recipe, text, file)
    _refuse(_list_shared_problems(recipe), file)
    _refuse(_list_problems(recipe, PurePath(file).stem), file)
    return recipe


def parse_advisories(text: str, file: PurePath | str) -> AdvisoryList:
    """Parse and check a file of advisories that recipes share.

    Raises:
        DocumentError: see `parse_recipe`.
    """
    shared = _decode(AdvisoryList, text, file)
    _refuse(_list_shared_problems(shared), file)
    return shared


def find_spelling_problem(key: str, word: str) -> str:
    """Return the problem of a single string in a recipe; empty if it is valid.

    Args:
        key: the string's key, without indices and names: "levels[].cflags[]", "libraries.*.apt[]".
        word: the string.
    """
    if _CONTROL.search(word):  # such characters could control a terminal, or hide other text
        return f"{word!r} has control characters"
    return _RULES[key](word) if key in _RULES else ""


def _decode(kind: type[_T], text: str, file: PurePath | str) -> _T:
    try:
        return decode(kind, toml_data(text), file=file)
    except ValueError as error:
        raise DocumentError(file, "", f"not valid TOML: {error}") from None


def _refuse(problems: Iterable[Problem], file: PurePath | str) -> None:
    for key, problem in problems:
        raise DocumentError(file, key, problem)


def _list_shared_problems(document: Recipe | AdvisoryList) -> Iterator[Problem]:
    if document.schema != 1:
        yield "schema", f"expected 1, found {document.schema}"
    yield from _list_duplicates([advisory.id for advisory in document.advisories], "advisories[{}].id")
    for key, kind, value in _walk(document):
        if isinstance(value, str) and (problem := find_spelling_problem(kind, value)):
            yield key, problem
        elif value == () and kind in _NEVER_EMPTY:
            yield key, f"empty: {_NEVER_EMPTY[kind]}"


def _walk(value: object, key: str = "", kind: str = "") -> Iterator[tuple[str, str, object]]:
    """Yield (key, kind, value) for every value in a document.

    `key` is the dotted key ("levels[0].name"); `kind` is the same key without indices and names ("levels[].name").
    """
    yield key, kind, value
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _walk(item, f"{key}[{index}]", f"{kind}[]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield f"{key}.{name!a}", f"{kind}.*", name
            yield from _walk(item, f"{key}.{name}", f"{kind}.*")
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            below = getattr(value, field.name)
            yield from _walk(below, f"{key}.{field.name}".lstrip("."), f"{kind}.{field.name}".lstrip("."))


def _list_duplicates(names: list[str], key: str) -> Iterator[Problem]:
    """Yield a problem for each repetition of a name; "{}" in `key` is replaced with the index of the repetition."""
    for index, name in enumerate(names):
        if name in names[:index]:
            yield key.format(index), f"{name!r} is there twice"


def _list_problems(recipe: Recipe, stem: str) -> Iterator[Problem]:
    source = recipe.source
    if recipe.name != stem:
        yield "name", f"{recipe.name!r} must be the name of the file, {stem!r}"
    for key, name in (("pypi", source.pypi), ("base_wheel", source.base_wheel)):
        if name not in recipe.replaces:
            yield f"source.{key}", f"{name!r} must also be in replaces: it provides {recipe.package}"
    if not {"-O2", "-O3"} & set(recipe.base_cflags):
        yield "base_cflags", "must contain -O2 or -O3: these flags replace the interpreter's"
    if not any(level.automatic for level in recipe.levels):
        yield "levels", "none is automatic, so level auto could not choose any"
    yield from _list_duplicates([level.name for level in recipe.levels], "levels[{}].name")
    for index, tuning in enumerate(recipe.tuning):
        if not tuning.options and not tuning.macros:
            yield f"tuning[{index}].options", "empty: nothing would be tuned"
        if tuning.macros and not tuning.functions:
            yield f"tuning[{index}].macros", "macros need functions: name them in functions"
    yield from _list_duplicates([kernel.name for kernel in recipe.kernels], "kernels[{}].name")
    code = "a build with the kernels" if recipe.kernels else source.pypi
    if code != source.base_wheel and not recipe.expect.symbols:
        yield "expect.symbols", f"empty: nothing would distinguish {code} from {source.base_wheel}"


def _passing(check: Callable[[str], object], what: str) -> _Rule:
    return lambda word: "" if check(word) else f"{word!r} is not {what}"


def _spelled(pattern: str, what: str) -> _Rule:
    return _passing(re.compile(pattern).fullmatch, what)


def _stays_inside(path: str) -> bool:
    return bool(path) and not path.startswith("/") and ".." not in path.split("/")


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_MACHINES = [each.machine for each in ARCHITECTURES]

# Options that setup.py of Pillow and Pillow-SIMD accepts as `-C OPTION=enable`.
_BUILD_OPTIONS = ("jpeg", "zlib", "tiff", "freetype", "raqm", "lcms", "webp", "jpeg2000", "imagequant", "xcb", "avif")

_GENERATED = (
    r"wrapv|trapv|strict-aliasing|strict-overflow|omit-frame-pointer|common|pic|pie|PIC|PIE|plt|semantic-interposition"
    r"|fp-contract=(?:off|on|fast)|fast-math|[a-z]+-math(?:-optimizations|-only|-errno)?|math-errno|signed-zeros"
    r"|unroll(?:-all)?-loops|peel-loops|split-loops|unswitch-loops|prefetch-loop-arrays|rename-registers"
    r"|(?:tree|ipa|gcse|schedule|sched)(?:-[a-z0-9]+)*|slp-vectorize|vectorize|vect-cost-model=[a-z-]+"
    r"|inline(?:-[a-z]+)*(?:=\d+)?|align-(?:functions|loops|jumps|labels)(?:=[\d:]+)?|lto(?:=(?:auto|thin|full|\d+))?"
    r"|(?:function|data)-sections|visibility=(?:default|hidden)|stack-protector(?:-strong|-all)?"
    r"|stack-clash-protection|cf-protection(?:=(?:full|branch|return|none|check))?"
    r"|exceptions|(?:asynchronous-)?unwind-tables|zero-call-used-regs=[a-z-]+"
)
_CFLAG = (
    rf"-O(?:[0123s]|fast)|-f(?:no-)?(?:{_GENERATED})|-g[0-3]?|-pipe|-std=[a-z]+\d[\dxyz]"
    r"|-D[A-Z][A-Z0-9_]*(?:=\d+)?"  # a macro in capitals whose value is a number cannot rename a function
    r"|-W(?:no-)?[a-z][a-z0-9+-]*(?:=\d+)?"
    r"|-m(?:arch|tune|cpu|fpmath|prefer-vector-width|branch-cost)=[a-z0-9_.+-]+|-m(?!llvm)[a-z][a-z0-9._-]*"
)
_MARKED_LEVELS = (level for each in ARCHITECTURES if each.isa_property for level in each.levels)
_LEVEL_NAMES = "|".join(name for level in _MARKED_LEVELS for name in (level.name, *level.aliases))
_Z = rf"now|relro|defs|noexecstack|nodelete|separate-code|noseparate-code|pack-relative-relocs|{_LEVEL_NAMES}"
_LDFLAG = (
    rf"-Wl,-z,(?:{_Z}|(?:max|common)-page-size=\d+)|-Wl,-O[0-3]|-Wl,--(?:no-)?(?:as-needed|gc-sections|sort-common)"
    r"|-Wl,--hash-style=(?:gnu|both|sysv)|-Wl,--build-id=(?:sha1|none)|-Wl,--exclude-libs,ALL"
    r"|-flto(?:=(?:auto|thin|full|\d+))?|-s"
)

_C_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_LIBRARY = r"[A-Za-z0-9][A-Za-z0-9_.+-]*"
_FEATURE = r"[a-z0-9][a-z0-9_.]*"
_UPWARDS = r"(?:.*/)?\.\.(?:/|:|$)"
_HEADER = rf"(?a:(?!{_UPWARDS}|.*\*\*)[\w.+*-]+(/[\w.+*-]+)*)"

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
_BRACKETS = ("(", ")", "[", "]")


def macro_problem(macro: str) -> str:
    """Return the problem of a macro that replaces a function of <math.h>; empty if it is valid.

    >>> macro_problem("fmod(x, y) ((x) - (y) * trunc((x) / (y)))")
    ''

    A valid macro is an expression over its parameters, and calls only functions of <math.h>.
    """
    match = _MACRO.fullmatch(macro)
    if match is None:
        return f"{macro!r} is not a macro with parameters, on one line"
    if problem := _find_expression_problem(match["text"].replace(",", "+")):
        return f"{macro!r} {problem}"
    parameters = {name.strip() for name in match["parameters"].split(",")}
    found = _split_tokens(match["text"])
    if any(after == "(" and (before in parameters or before in (")", "]")) for before, after in pairwise(found)):
        return f"{macro!r} calls its argument"
    names = {each for each in found if _NAME.fullmatch(each)} - parameters
    if foreign := sorted((names | {match["name"]}) - _MATHEMATICAL):
        return f"{macro!r} uses {', '.join(foreign)}, which is neither a parameter nor a <math.h> function"
    return ""


def _split_tokens(text: str) -> list[str]:
    return [match.group() for match in _TOKEN.finditer(text) if not match.group().isspace()]


def _find_expression_problem(text: str) -> str:
    """Return why a text is not a C expression without side effects; empty if it is one."""
    if "".join(match.group() for match in _TOKEN.finditer(text)) != text or any(step in text for step in _STEPS):
        return "is more than a C expression that computes"
    brackets = "".join(token for token in _split_tokens(text) if token in _BRACKETS)
    for _ in brackets:
        brackets = brackets.replace("()", "").replace("[]", "")
    return "has an unbalanced bracket" if brackets else ""


_RULES_OF: dict[str, _Rule] = {
    "replaces[] advisories_from[] kernels[].name libraries.*.static.pypi": _spelled(
        r"[a-z0-9]+(-[a-z0-9]+)*", "a normalised name (lower case, single dashes: PEP 503)"
    ),
    "source.label": _spelled(r"[a-z0-9]+(\.[a-z0-9]+)*", "a local version label (a-z, 0-9, dots: PEP 440)"),
    "source.versions source.pythons kernels[].versions advisories[].affects libraries.*.static.versions": _passing(
        is_specifier, "a version specifier (PEP 440)"
    ),
    "pixel_changes[].since": _passing(is_version, "a version (PEP 440)"),
    "package": _spelled(_C_NAME, "the name of a package"),
    "expect.symbols[] kernels[].functions[] tuning[].functions[]": _spelled(_C_NAME, "a name in C"),
    "expect.features[]": _spelled(_FEATURE, "a name of PIL.features"),
    "levels[].requires[]": _spelled(_FEATURE, "a feature as the kernel names it"),
    "levels[].name": _spelled(r"[a-z0-9]+([._-][a-z0-9]+)*", "the name of a level (a-z, 0-9, single dots and dashes)"),
    "levels[].architecture": _passing(_MACHINES.__contains__, f"one of {', '.join(_MACHINES)}"),
    "base_cflags[] levels[].cflags[] levels[].fallback[]": _spelled(_CFLAG, "one compiler flag that a recipe may use"),
    "levels[].ldflags[]": _spelled(_LDFLAG, "one linker flag that a recipe may use"),
    "libraries.*.header": _spelled(_HEADER, "a header path relative to an include directory"),
    "libraries.* libraries.*.link": _spelled(_LIBRARY, "the name of a library"),
    "libraries.*.pkgconfig": _spelled(rf"(?:{_LIBRARY})?", "a name for pkg-config"),
    "libraries.*.option": _passing(("", *_BUILD_OPTIONS).__contains__, f"one of {', '.join(_BUILD_OPTIONS)}"),
    # No dash at the end: hints print commands with these names, and for apt, a final dash means removal.
    " ".join(f"libraries.*.{manager}[]" for manager in (*PACKAGE_MANAGERS, "conda")): _spelled(
        r"[a-z0-9]([a-z0-9.+_-]*[a-z0-9+])?", "the name of a package"
    ),
    "libraries.*.static.directory": _passing(_stays_inside, "relative to the sdist's top directory"),
    "libraries.*.static.archive libraries.*.static.headers[]": _passing(
        _stays_inside, "relative to the library's directory"
    ),
    "libraries.*.static.configure[]": _spelled(
        r"--[a-z][a-z0-9-]*(?:=[A-Za-z0-9_.+-]+)?", "one option for configure, without a path"
    ),
    "kernels[].file tuning[].file": _passing(_stays_inside, "relative to the source's top directory"),
    "tuning[].options[]": _spelled(r"[A-Za-z0-9][A-Za-z0-9_=+-]*", "an option of GCC's optimize pragma"),
    "tuning[].macros[]": macro_problem,
}
"""Rules by keys without indices and names; a rule returns the problem of a string, or "" if it is valid."""
_RULES = {key: rule for keys, rule in _RULES_OF.items() for key in keys.split()}

_NEVER_EMPTY = {
    "kernels[].operations": "no failed proof could name it",
    "kernels[].functions": "nothing would be replaced",
    "libraries.*.static.headers": "the library could not be used",
}

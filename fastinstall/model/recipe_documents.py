"""Text of a recipe to a `Recipe`, with everything checked that can be checked without a target. Pure.

A problem is a dotted key and what is wrong there: names, paths, specifiers and words, and the keys about the source's
code (merged kernels, tuning, static libraries).

Flags and words that a recipe may hand to compilers are a closed list, since a recipe may come from anybody. Compilers
load plugins, read further options from files, start other programs and write where they are told. Nothing of that is
needed for speed; whatever is not known to be about the generated code is refused.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath, PurePosixPath
from typing import TypeVar

from fastinstall.cmerge.documents import Kernels, Part, Tuning, condition_problem, macro_problem
from fastinstall.core.errors import DocumentError
from fastinstall.core.parsing import toml_data
from fastinstall.core.values import decode
from fastinstall.core.version_numbers import is_specifier, is_version
from fastinstall.model.recipe import Advisory, AdvisoryList, Level, NativeRequirement, Recipe, StaticSource

Problem = tuple[str, str]
_T = TypeVar("_T")

_NORMALISED = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # PEP 503
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _spelling_problems(word: str, key: str, pattern: str | re.Pattern[str], what: str) -> Iterator[Problem]:
    if not re.fullmatch(pattern, word):
        yield key, f"{word!r} is not {what}"


def name_problems(name: str, key: str) -> Iterator[Problem]:
    """Where a name of a distribution is not normalised."""
    yield from _spelling_problems(name, key, _NORMALISED, "a normalised name (lower case, single dashes: PEP 503)")


def identifier_problems(names: Sequence[str], key: str) -> Iterator[Problem]:
    """Where one of several names is none that C knows."""
    yield from word_problems(names, key, r"[A-Za-z_][A-Za-z0-9_]*", "a name in C")


def path_problems(path: str, key: str, where: str) -> Iterator[Problem]:
    """Where a path leads out of the directory that it is relative to.

    Args:
        path: with slashes.
        key: dotted.
        where: the directory, in words.
    """
    if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        yield key, f"{path!r} is not relative to {where}"


def word_problems(words: Sequence[str], key: str, pattern: str | re.Pattern[str], what: str) -> Iterator[Problem]:
    """Where one of several words is not spelled as it has to be.

    Args:
        words: the value.
        key: dotted, of the list.
        pattern: what a word must match whole.
        what: it should have been, in words.
    """
    for index, word in enumerate(words):
        yield from _spelling_problems(word, f"{key}[{index}]", pattern, what)


def specifier_problems(text: str, key: str) -> Iterator[Problem]:
    """Where a version specifier is none."""
    if not is_specifier(text):
        yield key, f"{text!r} is not a version specifier (PEP 440)"


def control_problems(value: object, key: str = "") -> Iterator[Problem]:
    """Where a text has control characters, which would steer a terminal and hide what stands beside them.

    Args:
        value: of the model.
        key: dotted, of the value; empty for a whole recipe.
    """
    if isinstance(value, str) and _CONTROL.search(value):
        yield key, f"{value!r} has control characters"
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from control_problems(item, f"{key}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from control_problems(name, f"{key}.{name!a}")
            yield from control_problems(item, f"{key}.{name}".lstrip("."))
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from control_problems(getattr(value, field.name), f"{key}.{field.name}".lstrip("."))


def find_duplicate_names(names: Sequence[str], key: str) -> Iterator[Problem]:
    """Where a name stands there a second time.

    Args:
        names: in the order of the file.
        key: with "{}" where the index goes.
    """
    for index, name in enumerate(names):
        if name in names[:index]:
            yield key.format(index), f"{name!r} stands there twice"


# What setup.py of Pillow and Pillow-SIMD takes as `-C OPTION=enable`.
BUILD_OPTIONS = ("jpeg", "zlib", "tiff", "freetype", "raqm", "lcms", "webp", "jpeg2000", "imagequant", "xcb", "avif")

_FEATURE = re.compile(r"[a-z0-9][a-z0-9_.]*")
_LIBRARY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_HEADER = re.compile(r"(?!.*\*\*)[\w.+*-]+(/[\w.+*-]+)*", re.ASCII)


_PACKAGE = re.compile(r"[a-z0-9]([a-z0-9.+_-]*[a-z0-9+])?")  # apt removes what ends with a dash


def parse_recipe(text: str, file: PurePath | str) -> Recipe:
    """Read and check one recipe; `advisories_from` is left for whoever can read files.

    Args:
        text: TOML.
        file: where it came from: its stem must be the recipe's name.

    Raises:
        DocumentError: not TOML, an unknown or missing key, or a value that cannot be right; names
            file and dotted key.
    """
    recipe = _decode(Recipe, text, file)
    _refuse(_list_problems(recipe, PurePath(file).stem), file)
    return recipe


def parse_advisories(text: str, file: PurePath | str) -> tuple[Advisory, ...]:
    """Read and check a file of advisories that recipes share.

    Raises:
        DocumentError: as `parse_recipe`.
    """
    shared = _decode(AdvisoryList, text, file)
    _refuse(_list_shared_problems(shared), file)
    return shared.advisories


def _decode(kind: type[_T], text: str, file: PurePath | str) -> _T:
    try:
        return decode(kind, toml_data(text), file=file)
    except ValueError as error:
        raise DocumentError(file, "", f"not valid TOML: {error}") from None


def _list_shared_problems(document: Recipe | AdvisoryList) -> Iterator[Problem]:
    if document.schema != 1:
        yield "schema", f"expected 1, found {document.schema}"
    yield from control_problems(document)
    yield from find_duplicate_names([advisory.id for advisory in document.advisories], "advisories[{}].id")
    for index, advisory in enumerate(document.advisories):
        yield from specifier_problems(advisory.affects, f"advisories[{index}].affects")


def _refuse(problems: Iterable[Problem], file: PurePath | str) -> None:
    for key, problem in problems:
        raise DocumentError(file, key, problem)


def _list_problems(recipe: Recipe, stem: str) -> Iterator[Problem]:
    yield from _list_shared_problems(recipe)
    if recipe.name != stem:
        yield "name", f"{recipe.name!r} must be the name of the file, {stem!r}"
    yield from _list_source_problems(recipe)
    if not recipe.package.isidentifier() or not recipe.package.isascii():
        yield "package", f"{recipe.package!r} is not the name of a package"
    yield from compiler_flag_problems(recipe.base_cflags, "base_cflags")
    if not {"-O2", "-O3"} & set(recipe.base_cflags):
        yield "base_cflags", "must hold -O2 or -O3: these flags replace those of the interpreter"
    yield from _list_level_problems(recipe.levels)
    yield from _list_library_problems(recipe.libraries)
    if recipe.kernels is not None:
        yield from _list_kernel_problems(recipe.kernels, recipe.replaces)
        yield from _list_parts_problems(recipe.kernels.parts)
    for index, tuning in enumerate(recipe.tuning):
        yield from _list_tuning_problems(tuning, f"tuning[{index}]")
    yield from identifier_problems(recipe.expect.symbols, "expect.symbols")
    yield from word_problems(recipe.expect.features, "expect.features", _FEATURE, "a name of PIL.features")
    code = recipe.kernels.pypi if recipe.kernels else recipe.source.pypi
    if code != recipe.source.chassis and not recipe.expect.symbols:
        yield "expect.symbols", f"empty: nothing would tell {code} from {recipe.source.chassis}"
    for index, name in enumerate(recipe.advisories_from):
        yield from name_problems(name, f"advisories_from[{index}]")


def _list_source_problems(recipe: Recipe) -> Iterator[Problem]:
    source = recipe.source
    for index, name in enumerate(recipe.replaces):
        yield from name_problems(name, f"replaces[{index}]")
    for key, name in (("pypi", source.pypi), ("chassis", source.chassis)):
        if name not in recipe.replaces:
            yield f"source.{key}", f"{name!r} must stand in replaces too: it provides {recipe.package}"
    label = "a local version label (a-z, 0-9, dots: PEP 440)"
    yield from _spelling_problems(source.label, "source.label", r"[a-z0-9]+(\.[a-z0-9]+)*", label)
    yield from specifier_problems(source.versions, "source.versions")
    yield from specifier_problems(source.pythons, "source.pythons")


def _list_level_problems(levels: tuple[Level, ...]) -> Iterator[Problem]:
    if not any(level.automatic for level in levels):
        yield "levels", "none of them is automatic, so that level auto could choose nothing"
    yield from find_duplicate_names([level.name for level in levels], "levels[{}].name")
    for index, level in enumerate(levels):
        key = f"levels[{index}]"
        named = "the name of a level (a-z, 0-9, single dots and dashes)"
        yield from _spelling_problems(level.name, f"{key}.name", r"[a-z0-9]+([._-][a-z0-9]+)*", named)
        yield from word_problems(level.requires, f"{key}.requires", _FEATURE, "a feature as the kernel names it")
        yield from compiler_flag_problems(level.cflags, f"{key}.cflags")
        yield from compiler_flag_problems(level.fallback, f"{key}.fallback")
        yield from linker_flag_problems(level.ldflags, f"{key}.ldflags")


def _list_library_problems(libraries: dict[str, NativeRequirement]) -> Iterator[Problem]:
    for name, library in libraries.items():
        key = f"libraries.{name}"
        yield from path_problems(library.header, f"{key}.header", "an include directory")
        yield from word_problems((library.header,), f"{key}.header", _HEADER, "the name of a header")
        yield from word_problems((name, library.link), key, _LIBRARY, "the name of a library")
        if library.pkgconfig:
            yield from word_problems((library.pkgconfig,), f"{key}.pkgconfig", _LIBRARY, "a name for pkg-config")
        if library.option and library.option not in BUILD_OPTIONS:
            yield f"{key}.option", f"{library.option!r} is not one of {', '.join(BUILD_OPTIONS)}"
        for manager in ("apt", "dnf", "conda"):
            yield from word_problems(getattr(library, manager), f"{key}.{manager}", _PACKAGE, "the name of a package")
        if library.static is not None:
            yield from _list_static_problems(library.static, f"{key}.static")


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
_CFLAG = re.compile(
    rf"-O(?:[0123s]|fast)|-f(?:no-)?(?:{_GENERATED})|-g[0-3]?|-pipe|-std=[a-z]+\d[\dxyz]"
    r"|-D[A-Z][A-Z0-9_]*(?:=\d+)?"  # a word in capitals, and at most a number: no function gets another's name
    r"|-W(?:no-)?[a-z][a-z0-9+-]*(?:=\d+)?"
    r"|-m(?:arch|tune|cpu|fpmath|prefer-vector-width|branch-cost)=[a-z0-9_.+-]+|-m(?!llvm)[a-z][a-z0-9._-]*"
)
_Z = (
    r"now|relro|defs|noexecstack|nodelete|separate-code|noseparate-code|pack-relative-relocs|x86-64-(?:baseline|v[1-4])"
)
_LDFLAG = re.compile(
    rf"-Wl,-z,(?:{_Z}|(?:max|common)-page-size=\d+)|-Wl,-O[0-3]|-Wl,--(?:no-)?(?:as-needed|gc-sections|sort-common)"
    r"|-Wl,--hash-style=(?:gnu|both|sysv)|-Wl,--build-id=(?:sha1|none)|-Wl,--exclude-libs,ALL"
    r"|-flto(?:=(?:auto|thin|full|\d+))?|-s"
)


def compiler_flag_problems(flags: tuple[str, ...], key: str) -> Iterator[Problem]:
    """Where one of several flags is none that only shapes the code that is generated."""
    yield from word_problems(flags, key, _CFLAG, "one flag of a compiler that a recipe may give")


def linker_flag_problems(flags: tuple[str, ...], key: str) -> Iterator[Problem]:
    """Where one of several flags is none that only marks or arranges the binary."""
    yield from word_problems(flags, key, _LDFLAG, "one flag of a linker that a recipe may give")


def configure_problems(words: tuple[str, ...], key: str) -> Iterator[Problem]:
    """Where one of several words for a `configure` is no option, or names a path."""
    option = r"--[a-z][a-z0-9-]*(?:=[A-Za-z0-9_.+-]+)?"
    yield from word_problems(words, key, option, "one option for configure, without a path")


_SOURCE = "the source's top directory"


def _list_kernel_problems(kernels: Kernels, replaces: tuple[str, ...]) -> Iterator[Problem]:
    yield from name_problems(kernels.pypi, "kernels.pypi")
    yield from name_problems(kernels.follows, "kernels.follows")
    if kernels.pypi not in replaces:
        yield "kernels.pypi", f"{kernels.pypi!r} must stand in replaces too: it provides the same package"
    yield from specifier_problems(kernels.versions, "kernels.versions")
    for index, text in enumerate(kernels.proven):
        if not is_version(text):
            yield f"kernels.proven[{index}]", f"{text!r} is not a version (PEP 440)"
    for index, kept in enumerate(kernels.keep):
        key = f"kernels.keep[{index}]"
        yield from path_problems(kept.file, f"{key}.file", _SOURCE)
        if not kept.items:
            yield f"{key}.items", "empty: nothing would be kept"
        yield from identifier_problems(kept.items, f"{key}.items")
    guarded = [f"{guard.file}: {guard.function}" for guard in kernels.guards]
    yield from find_duplicate_names(guarded, "kernels.guards[{}].function")
    for index, guard in enumerate(kernels.guards):
        key = f"kernels.guards[{index}]"
        yield from path_problems(guard.file, f"{key}.file", _SOURCE)
        if not guard.function.isidentifier():
            yield f"{key}.function", f"{guard.function!r} is not a name in C"
        if problem := condition_problem(guard.condition):
            yield f"{key}.condition", problem


def _list_parts_problems(parts: tuple[Part, ...]) -> Iterator[Problem]:
    yield from find_duplicate_names([part.name for part in parts], "kernels.parts[{}].name")
    claimed: dict[str, str] = {}
    for index, part in enumerate(parts):
        key = f"kernels.parts[{index}]"
        yield from name_problems(part.name, f"{key}.name")
        if not part.files and not part.items:
            yield key, "empty: holds neither files nor items"
        if not part.operations:
            yield f"{key}.operations", "empty: no failed proof could name it"
        yield from word_problems(part.items, f"{key}.items", r"[^\s:]+: [A-Za-z_]\w*", "spelled 'FILE: NAME'")
        for kind, named in (("files", part.files), ("items", part.items)):
            for position, file in enumerate(named):
                yield from path_problems(file.partition(": ")[0], f"{key}.{kind}[{position}]", _SOURCE)
        for file in (*part.files, *part.items):
            if claimed.setdefault(file, part.name) != part.name:
                yield key, f"{file!r} belongs to {claimed[file]!r} already"


def _list_tuning_problems(tuning: Tuning, key: str) -> Iterator[Problem]:
    yield from path_problems(tuning.file, f"{key}.file", _SOURCE)
    if not tuning.options and not tuning.macros:
        yield f"{key}.options", "empty: nothing would be tuned"
    option = r"[A-Za-z0-9][A-Za-z0-9_=+-]*"
    yield from word_problems(tuning.options, f"{key}.options", option, "an option of GCC's optimize pragma")
    yield from identifier_problems(tuning.functions, f"{key}.functions")
    for index, macro in enumerate(tuning.macros):
        if problem := macro_problem(macro):
            yield f"{key}.macros[{index}]", problem
    if tuning.macros and not tuning.functions:
        yield f"{key}.macros", "only inside functions: name them in functions"


def _list_static_problems(static: StaticSource, key: str) -> Iterator[Problem]:
    yield from name_problems(static.pypi, f"{key}.pypi")
    yield from specifier_problems(static.versions, f"{key}.versions")
    yield from path_problems(static.directory, f"{key}.directory", "the sdist's top directory")
    yield from path_problems(static.archive, f"{key}.archive", "the library's directory")
    if not static.headers:
        yield f"{key}.headers", "empty: the library could not be used"
    for index, header in enumerate(static.headers):
        yield from path_problems(header, f"{key}.headers[{index}]", "the library's directory")
    yield from configure_problems(static.configure, f"{key}.configure")

"""Text of a recipe to a `Recipe`, with everything checked that can be checked without a target. Pure."""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from fastinstall.errors import DocumentError
from fastinstall.model.advisory import Advisory, AdvisoryList
from fastinstall.model.codec import decode
from fastinstall.model.parsing import toml_data
from fastinstall.model.recipe import Level, NativeRequirement, Recipe
from fastinstall.rules.kernels import source_code_problems
from fastinstall.rules.recipe_flags import compiler_flag_problems, linker_flag_problems
from fastinstall.rules.recipe_values import (
    Problem,
    control_problems,
    identifier_problems,
    name_problems,
    path_problems,
    specifier_problems,
    twice,
    word_problems,
)

# What setup.py of Pillow and Pillow-SIMD takes as `-C OPTION=enable`.
BUILD_OPTIONS = (
    "jpeg",
    "zlib",
    "tiff",
    "freetype",
    "raqm",
    "lcms",
    "webp",
    "jpeg2000",
    "imagequant",
    "xcb",
    "avif",
)

_SCHEMA = 1
_LABEL = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*")  # a local version label, PEP 440
_LEVEL = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_FEATURE = re.compile(r"[a-z0-9][a-z0-9_.]*")
_LIBRARY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_HEADER = re.compile(r"(?!.*\*\*)[\w.+*-]+(/[\w.+*-]+)*", re.ASCII)
_OR_EMPTY = re.compile(rf"(?:{_LIBRARY.pattern})?")
_PACKAGE = re.compile(r"[a-z0-9]([a-z0-9.+_-]*[a-z0-9+])?")  # apt removes what ends with a dash
_OPTIMISED = ("-O2", "-O3")


def parse_recipe(text: str, file: PurePath | str) -> Recipe:
    """Read and check one recipe; `advisories_from` is left for whoever can read files.

    Args:
        text: TOML.
        file: where it came from: its stem must be the recipe's name.

    Raises:
        DocumentError: not TOML, an unknown or missing key, or a value that cannot be right; names
            file and dotted key.
    """
    recipe = decode(Recipe, _toml(text, file), file=file)
    _refuse(_problems(recipe, PurePath(file).stem), file)
    return recipe


def parse_advisories(text: str, file: PurePath | str) -> tuple[Advisory, ...]:
    """Read and check a file of advisories that recipes share.

    Raises:
        DocumentError: as `parse_recipe`.
    """
    shared = decode(AdvisoryList, _toml(text, file), file=file)
    _refuse(_schema_problems(shared.schema), file)
    _refuse(control_problems(shared), file)
    _refuse(_advisory_problems(shared.advisories), file)
    return shared.advisories


def _toml(text: str, file: PurePath | str) -> dict[str, object]:
    try:
        return toml_data(text)
    except ValueError as error:
        raise DocumentError(file, "", f"not valid TOML: {error}") from None


def _refuse(problems: Iterable[Problem], file: PurePath | str) -> None:
    for key, problem in problems:
        raise DocumentError(file, key, problem)


def _problems(recipe: Recipe, stem: str) -> Iterator[Problem]:
    yield from _schema_problems(recipe.schema)
    if recipe.name != stem:
        yield "name", f"{recipe.name!r} must be the name of the file, {stem!r}"
    yield from _source_problems(recipe)
    yield from control_problems(recipe)
    if not recipe.package.isidentifier() or not recipe.package.isascii():
        yield "package", f"{recipe.package!r} is not the name of a package"
    yield from compiler_flag_problems(recipe.base_cflags, "base_cflags")
    if not set(_OPTIMISED) & set(recipe.base_cflags):
        yield "base_cflags", f"must hold {' or '.join(_OPTIMISED)}: these flags replace those of the interpreter"
    yield from _level_problems(recipe.levels)
    yield from _library_problems(recipe.libraries)
    yield from source_code_problems(recipe)
    yield from identifier_problems(recipe.expect.symbols, "expect.symbols")
    yield from word_problems(recipe.expect.features, "expect.features", _FEATURE, "a name of PIL.features")
    code = recipe.kernels.pypi if recipe.kernels else recipe.source.pypi
    if code != recipe.source.chassis and not recipe.expect.symbols:
        yield "expect.symbols", f"empty: nothing would tell {code} from {recipe.source.chassis}"
    yield from _name_problems(recipe.advisories_from, "advisories_from")
    yield from _advisory_problems(recipe.advisories)


def _schema_problems(schema: int) -> Iterator[Problem]:
    if schema != _SCHEMA:
        yield "schema", f"expected {_SCHEMA}, found {schema}"


def _source_problems(recipe: Recipe) -> Iterator[Problem]:
    yield from _name_problems(recipe.replaces, "replaces")
    for key, name in (("pypi", recipe.source.pypi), ("chassis", recipe.source.chassis)):
        if name not in recipe.replaces:
            yield f"source.{key}", f"{name!r} must stand in replaces too: it provides {recipe.package}"
    if not _LABEL.fullmatch(recipe.source.label):
        yield "source.label", f"{recipe.source.label!r} is no local version label (a-z, 0-9, dots: PEP 440)"
    yield from specifier_problems(recipe.source.versions, "source.versions")
    yield from specifier_problems(recipe.source.pythons, "source.pythons")


def _name_problems(names: tuple[str, ...], key: str) -> Iterator[Problem]:
    for index, name in enumerate(names):
        yield from name_problems(name, f"{key}[{index}]")


def _level_problems(levels: tuple[Level, ...]) -> Iterator[Problem]:
    if not any(level.automatic for level in levels):
        yield "levels", "none of them is automatic, so that level auto could choose nothing"
    yield from twice([level.name for level in levels], "levels[{}].name")
    for index, level in enumerate(levels):
        key = f"levels[{index}]"
        if not _LEVEL.fullmatch(level.name):
            yield f"{key}.name", f"{level.name!r} is not the name of a level (a-z, 0-9, single dots and dashes)"
        yield from word_problems(level.requires, f"{key}.requires", _FEATURE, "a feature as the kernel names it")
        yield from compiler_flag_problems(level.cflags, f"{key}.cflags")
        yield from compiler_flag_problems(level.fallback, f"{key}.fallback")
        yield from linker_flag_problems(level.ldflags, f"{key}.ldflags")


def _library_problems(libraries: dict[str, NativeRequirement]) -> Iterator[Problem]:
    for name, library in libraries.items():
        key = f"libraries.{name}"
        yield from path_problems(library.header, f"{key}.header", "an include directory")
        yield from word_problems((library.header,), f"{key}.header", _HEADER, "the name of a header")
        yield from word_problems((name, library.link), key, _LIBRARY, "the name of a library")
        yield from word_problems((library.pkgconfig,), f"{key}.pkgconfig", _OR_EMPTY, "a name for pkg-config")
        if library.option and library.option not in BUILD_OPTIONS:
            yield f"{key}.option", f"{library.option!r} is not one of {', '.join(BUILD_OPTIONS)}"
        for manager in ("apt", "dnf", "conda"):
            yield from word_problems(getattr(library, manager), f"{key}.{manager}", _PACKAGE, "the name of a package")


def _advisory_problems(advisories: tuple[Advisory, ...]) -> Iterator[Problem]:
    yield from twice([advisory.id for advisory in advisories], "advisories[{}].id")
    for index, advisory in enumerate(advisories):
        yield from specifier_problems(advisory.affects, f"advisories[{index}].affects")

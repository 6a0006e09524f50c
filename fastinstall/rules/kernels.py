"""What is wrong with the keys of a recipe that speak of its source's code: merged kernels, tuning, static libraries."""

import re
from collections.abc import Iterator

from fastinstall.model.kernels import GuardedFunction, KeptItems, Kernels, Part, Tuning
from fastinstall.model.recipe import Recipe, StaticSource
from fastinstall.rules.conditions import condition_problem, macro_problem
from fastinstall.rules.recipe_flags import configure_problems
from fastinstall.rules.recipe_values import (
    Problem,
    identifier_problems,
    name_problems,
    path_problems,
    specifier_problems,
    twice,
    version_problems,
    word_problems,
)

_SOURCE = "the source's top directory"
_OPTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_=+-]*")
_ITEM = re.compile(r"([^\s:]+): ([A-Za-z_]\w*)")


def source_code_problems(recipe: Recipe) -> Iterator[Problem]:
    """Everything that is wrong with `kernels`, `tuning` and the libraries' `static`, as dotted key and problem."""
    if recipe.kernels is not None:
        yield from _kernel_problems(recipe.kernels, recipe.replaces)
    for index, tuning in enumerate(recipe.tuning):
        yield from _tuning_problems(tuning, f"tuning[{index}]")
    for name, library in recipe.libraries.items():
        if library.static is not None:
            yield from _static_problems(library.static, f"libraries.{name}.static")


def _kernel_problems(kernels: Kernels, replaces: tuple[str, ...]) -> Iterator[Problem]:
    yield from name_problems(kernels.pypi, "kernels.pypi")
    yield from name_problems(kernels.follows, "kernels.follows")
    if kernels.pypi not in replaces:
        yield "kernels.pypi", f"{kernels.pypi!r} must stand in replaces too: it provides the same package"
    yield from specifier_problems(kernels.versions, "kernels.versions")
    yield from version_problems(kernels.proven, "kernels.proven")
    for index, kept in enumerate(kernels.keep):
        yield from _keep_problems(kept, f"kernels.keep[{index}]")
    for index, guard in enumerate(kernels.guards):
        yield from _guard_problems(guard, f"kernels.guards[{index}]")
    yield from twice([f"{guard.file}: {guard.function}" for guard in kernels.guards], "kernels.guards[{}].function")
    yield from _parts_problems(kernels.parts)


def _keep_problems(kept: KeptItems, key: str) -> Iterator[Problem]:
    yield from path_problems(kept.file, f"{key}.file", _SOURCE)
    yield from _empty(kept.items, f"{key}.items", "nothing would be kept")
    yield from identifier_problems(kept.items, f"{key}.items")


def _guard_problems(guard: GuardedFunction, key: str) -> Iterator[Problem]:
    yield from path_problems(guard.file, f"{key}.file", _SOURCE)
    if not guard.function.isidentifier():
        yield f"{key}.function", f"{guard.function!r} is not a name in C"
    problem = condition_problem(guard.condition)
    if problem:
        yield f"{key}.condition", problem


def _parts_problems(parts: tuple[Part, ...]) -> Iterator[Problem]:
    yield from twice([part.name for part in parts], "kernels.parts[{}].name")
    claimed: dict[str, str] = {}
    for index, part in enumerate(parts):
        key = f"kernels.parts[{index}]"
        yield from name_problems(part.name, f"{key}.name")
        yield from _part_problems(part, key)
        for file in (*part.files, *part.items):
            if claimed.setdefault(file, part.name) != part.name:
                yield key, f"{file!r} belongs to {claimed[file]!r} already"


def _part_problems(part: Part, key: str) -> Iterator[Problem]:
    yield from _empty((*part.files, *part.items), key, "holds neither files nor items")
    yield from _empty(part.operations, f"{key}.operations", "no failed proof could name it")
    for index, file in enumerate(part.files):
        yield from path_problems(file, f"{key}.files[{index}]", _SOURCE)
    for index, item in enumerate(part.items):
        spelled = _ITEM.fullmatch(item)
        if spelled is None:
            yield f"{key}.items[{index}]", f"{item!r} is not spelled 'FILE: NAME'"
        else:
            yield from path_problems(spelled[1], f"{key}.items[{index}]", _SOURCE)


def _tuning_problems(tuning: Tuning, key: str) -> Iterator[Problem]:
    yield from path_problems(tuning.file, f"{key}.file", _SOURCE)
    yield from _empty((*tuning.options, *tuning.macros), f"{key}.options", "nothing would be tuned")
    yield from word_problems(tuning.options, f"{key}.options", _OPTION, "an option of GCC's optimize pragma")
    yield from identifier_problems(tuning.functions, f"{key}.functions")
    for index, macro in enumerate(tuning.macros):
        problem = macro_problem(macro)
        if problem:
            yield f"{key}.macros[{index}]", problem
    if tuning.macros and not tuning.functions:
        yield f"{key}.macros", "only inside functions: name them in functions"


def _static_problems(static: StaticSource, key: str) -> Iterator[Problem]:
    yield from name_problems(static.pypi, f"{key}.pypi")
    yield from specifier_problems(static.versions, f"{key}.versions")
    yield from path_problems(static.directory, f"{key}.directory", "the sdist's top directory")
    yield from path_problems(static.archive, f"{key}.archive", "the library's directory")
    yield from _empty(static.headers, f"{key}.headers", "the library could not be used")
    for index, header in enumerate(static.headers):
        yield from path_problems(header, f"{key}.headers[{index}]", "the library's directory")
    yield from configure_problems(static.configure, f"{key}.configure")


def _empty(values: tuple[str, ...], key: str, consequence: str) -> Iterator[Problem]:
    if not values:
        yield key, f"empty: {consequence}"

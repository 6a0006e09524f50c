"""A kernel of our own stands behind the functions that it replaces, which stay under another name."""

from dataclasses import replace
from pathlib import Path

import pytest

from fastinstall.cmerge.documents import OwnKernel
from fastinstall.core.errors import UsageError
from fastinstall.core.surroundings import recipes_directory
from fastinstall.model.recipe_documents import parse_recipe
from fastinstall.wheelbuild.build_inputs import list_kernel_sources
from fastinstall.wheelbuild.prepare import add_own_kernel

SOURCE = """#include "Imaging.h"

static void
_turn_left(int x) {
    turn_right(x);
}

MAKE(one) MAKE(two) MAKE(three)

    Imaging
    turn_right(int x) {
    return x;
}

int
use(int x) {
    return turn_right(x);
}
"""


def make_kernel(*functions: str) -> OwnKernel:
    return OwnKernel(name="turn", file="a.c", functions=functions, operations=("turn",), reason="measured")


def test_the_source_s_functions_get_other_names_and_the_kernel_stands_behind_the_last() -> None:
    lines = (add_own_kernel(SOURCE, make_kernel("turn_left", "turn_right")) or "").splitlines()
    left, right = (
        lines.index("#define _turn_left _turn_left__source"),
        lines.index("#define turn_right turn_right__source"),
    )
    assert left < lines.index("_turn_left(int x) {") < lines.index("#undef _turn_left") < right
    include = lines.index('#include "turn.h"')
    assert (
        right
        < lines.index("    turn_right(int x) {")
        < lines.index("#undef turn_right")
        < include
        < lines.index("use(int x) {")
    )
    assert [line for line in lines if line and not line.startswith("#")] == [
        line for line in SOURCE.splitlines() if line and not line.startswith("#")
    ]


def test_a_function_inside_an_ifdef_is_replaced_and_the_kernel_stands_behind_the_whole() -> None:
    source = f"#ifdef TURNS\n{SOURCE}#endif\n"
    text = add_own_kernel(source, make_kernel("turn_right")) or ""
    assert text.index("#define turn_right turn_right__source") < text.index("#ifdef TURNS")
    assert text.index("#endif") < text.index("#undef turn_right") < text.index('#include "turn.h"')


def test_a_kernel_follows_a_function_that_upstream_renamed_by_underscores() -> None:
    text = add_own_kernel(SOURCE, make_kernel("turn_left")) or ""
    assert text.index("#define turn_left _turn_left\n#define turn_left__source _turn_left__source\n") < text.index(
        '"turn.h"'
    )


def test_a_function_that_is_not_there_is_told() -> None:
    assert add_own_kernel(SOURCE, make_kernel("turn_right", "gone")) is None


def test_a_recipe_that_names_a_kernel_that_is_not_there_is_refused() -> None:
    file = recipes_directory() / "pillow-merged.toml"
    recipe = parse_recipe(file.read_text(), Path("pillow-merged.toml"))
    assert recipe.kernels is not None
    assert [source.name for source in list_kernel_sources(recipe)][:1] == ["vectors.h"]
    assert all(source.is_file() for source in list_kernel_sources(recipe))
    with pytest.raises(UsageError, match=r"kernels\.own\[0\]\.name: unknown kernel 'turn2'"):
        list_kernel_sources(
            replace(recipe, kernels=replace(recipe.kernels, own=(replace(make_kernel("f"), name="turn2"),)))
        )

"""Our kernels are called in place of Pillow's functions, which are kept under another name."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.values.build_requests import build_recipe, build_request, build_step

from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import UsageError
from fastinstall.model.recipe import Kernel
from fastinstall.model.recipe_documents import parse_recipe
from fastinstall.wheelbuild.headers import Headers
from fastinstall.wheelbuild.prepare import add_kernel, kernels_directory, list_kernel_sources, prepare_source

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


def make_kernel(*functions: str) -> Kernel:
    return Kernel(name="turn", file="a.c", functions=functions, operations=("turn",), reason="measured")


def test_functions_are_renamed_and_the_kernel_follows_the_last() -> None:
    lines = (add_kernel(SOURCE, make_kernel("turn_left", "turn_right")) or "").splitlines()
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


def test_a_function_inside_an_ifdef_is_replaced_inside_it() -> None:
    source = f"#ifdef TURNS\n{SOURCE}#endif\n"
    text = add_kernel(source, make_kernel("turn_right")) or ""
    assert text.index("#ifdef TURNS") < text.index("#define turn_right turn_right__source")
    assert text.index('#include "turn.h"') < text.index("use(int x)") < text.index("#endif")


@pytest.mark.parametrize(
    "definition",
    [
        "Imaging\nturn(Imaging in, int *bounds, double *(*with)(int)) {\n    {\n    }\n}\n",
        "static inline int\nturn(\n    int x,\n    int y\n) {\n    return x;\n}\n",
        "INT32 *turn(void)\n{\n    return 0;\n}\n",
        "static int turn(int x) {\n    if (x) {\n        return 1;\n    }\n    return 0;\n} // turn\n",
    ],
)
def test_a_definition_is_found_from_its_type_to_its_last_brace(definition: str) -> None:
    before = "int turn(int x);\nint there = turn(1);\n#define TURN(x) turn(x)\n/* turn(x) { */\n"
    after = "int\nreturn_it(int x) {\n    return turn(x);\n}\n"
    text = add_kernel(before + definition + after, make_kernel("turn"))
    assert text == f'{before}#define turn turn__source\n{definition}#undef turn\n#include "turn.h"\n{after}'


def test_a_function_defined_in_each_ifdef_branch_is_left_alone() -> None:
    either = "#ifdef A\nint\nturn(int x) {\n    return x;\n}\n#else\nint\nturn(int x) {\n    return 0;\n}\n#endif\n"
    assert add_kernel(either, make_kernel("turn")) is None


def test_a_kernel_follows_upstreams_renaming_by_underscores() -> None:
    text = add_kernel(SOURCE, make_kernel("turn_left")) or ""
    renames = "".join(f"#define {name} _{name}\n" for name in ("turn_left", "turn_left__source"))
    assert text.index(renames) < text.index('"turn.h"')


def test_a_function_that_is_not_there_is_told() -> None:
    assert add_kernel(SOURCE, make_kernel("turn_right", "gone")) is None


def test_a_recipe_naming_an_unknown_kernel_is_refused() -> None:
    file = recipes_directory() / "pillow-fast.toml"
    recipe = parse_recipe(file.read_text(), file)
    sources = list_kernel_sources(recipe)
    assert {source.stem for source in sources if source.suffix == ".c"} == {kernel.name for kernel in recipe.kernels}
    assert {source for source in sources if source.suffix == ".h"} == set(kernels_directory().glob("*.h"))
    with pytest.raises(UsageError, match=r"kernels\[0\]\.name: unknown kernel 'turn2'"):
        list_kernel_sources(replace(recipe, kernels=(replace(make_kernel("f"), name="turn2"),)))


GCC = Headers(digest="", versions={}, directories=(), jpeg_abi="", gcc=True)
TURN = make_kernel("turn_right")


def prepared(directory: Path, headers: Headers, *kernels: Kernel, left_out: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Prepare the source with these kernels; return the names of those that were inserted."""
    (directory / "a.c").write_text(SOURCE)
    (directory / "b.c").write_text("int nothing;\n")
    request = build_request(
        directory, recipe=replace(build_recipe(), kernels=kernels), step=build_step(left_out=left_out)
    )
    return prepare_source(request, headers, directory)


def test_a_kernel_is_copied_beside_its_file_with_all_headers(tmp_path: Path) -> None:
    assert prepared(tmp_path, GCC, TURN) == ("turn",)
    assert (tmp_path / "turn.h").read_bytes() == (kernels_directory() / "turn.c").read_bytes()
    assert {path.name for path in kernels_directory().glob("*.h")} < {path.name for path in tmp_path.glob("*.h")}
    assert '#include "turn.h"' in (tmp_path / "a.c").read_text()


def test_failed_inapplicable_and_orphaned_kernels_are_left_out(
    tmp_path: Path,
) -> None:
    clang = replace(GCC, gcc=False, clang=True)
    only = replace(TURN, clang_only=True)
    assert prepared(tmp_path, GCC, TURN, left_out=("turn",)) == ()
    assert (prepared(tmp_path, GCC, only), prepared(tmp_path, clang, only)) == ((), ("turn",))
    assert prepared(tmp_path, replace(GCC, gcc=False), TURN) == ()
    assert (
        prepared(tmp_path, GCC, replace(TURN, file="b.c")) == prepared(tmp_path, GCC, replace(TURN, file="c.c")) == ()
    )


@pytest.mark.parametrize(("versions", "names"), [("", ("turn",)), (">=12.1", ("turn",)), (">=12.3", ())])
def test_a_kernel_is_for_the_versions_that_it_fits(versions: str, names: tuple[str, ...], tmp_path: Path) -> None:
    source = build_step().source
    assert source is not None
    assert source.version.startswith("12.1.1")
    assert prepared(tmp_path, GCC, replace(TURN, versions=versions)) == names


def test_kernel_file_names_do_not_collide_in_one_directory() -> None:
    """Kernels are put into one directory: an equal name would overwrite another kernel's header."""
    names = [path.stem for path in kernels_directory().iterdir()]
    assert len(names) == len(set(names))

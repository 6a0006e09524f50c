"""Static checks on small sources, each with one injected fault."""

from pathlib import Path

import pytest

from fastinstall.cmerge.diagnostics import check_pairs, check_tree
from fastinstall.cmerge.documents import GuardedFunction
from fastinstall.cmerge.runtime_guards import apply_guards

UPSTREAM = """\
Imaging
split(Imaging im) {
    ImagingSectionEnter(&cookie);
    MUTEX_LOCK(&im->mutex);
    for (y = 0; y < im->ysize; y++) {
        copy(im, y);
    }
    MUTEX_UNLOCK(&im->mutex);
    ImagingSectionLeave(&cookie);
    return im;
}
"""
MERGED = UPSTREAM.replace("copy(im, y);", "shuffle(im, y);")
FAST = """\
static void
shuffle(Imaging im, int y) {
    MUTEX_LOCK(&im->mutex);
    if (y < 0) {
        MUTEX_UNLOCK(&im->mutex);
        return;
    }
    switch (y) {
        case 1:
            break;
        default:
            goto out;
    }
    while (y--) {
        if (y == 3) {
            break;
        }
    }
out:
    MUTEX_UNLOCK(&im->mutex);
}
"""


def problems(merged: str, upstream: str = UPSTREAM) -> tuple[str, ...]:
    return check_pairs(upstream, merged, "src/Bands.c")


def test_a_right_merge_has_no_problems() -> None:
    assert problems(MERGED) == ()


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("MUTEX_LOCK(&im->mutex);", "", "split: MUTEX_LOCK 0 times (upstream 1), MUTEX_UNLOCK 1 times (upstream 1)"),
        ("MUTEX_UNLOCK(&im->mutex);", "", "split: MUTEX_LOCK 1 times (upstream 1), MUTEX_UNLOCK 0 times (upstream 1)"),
        (
            "MUTEX_LOCK(&im->mutex);",
            "MUTEX_LOCK(&im->mutex); MUTEX_LOCK(&im->mutex);",
            "split: MUTEX_LOCK 2 times (upstream 1), MUTEX_UNLOCK 1 times (upstream 1)",
        ),
        (
            "ImagingSectionLeave(&cookie);",
            "",
            "split: ImagingSectionEnter 1 times (upstream 1), ImagingSectionLeave 0 times (upstream 1)",
        ),
    ],
)
def test_a_pair_that_is_not_upstream_s_is_refused(right: str, wrong: str, problem: str) -> None:
    assert problems(MERGED.replace(right, wrong)) == (f"src/Bands.c: {problem}",)


def test_a_pair_that_is_commented_out_is_refused() -> None:
    assert problems(MERGED.replace("MUTEX_LOCK(&im->mutex);", "/* MUTEX_LOCK(&im->mutex); */"))


def test_a_return_between_lock_and_unlock_is_refused() -> None:
    early = MERGED.replace("shuffle(im, y);", "if (!shuffle(im, y)) { return NULL; }")
    assert problems(early) == tuple(
        f"src/Bands.c: split: {opens} is left open on a path on which it is not in upstream's"
        for opens in ("MUTEX_LOCK", "ImagingSectionEnter")
    )


def test_a_return_that_upstream_has_there_too_is_none_of_ours() -> None:
    early = ("copy(im, y);", "if (!copy(im, y)) { return NULL; }")
    assert problems(MERGED.replace("y);", "y); x++;").replace(*early), UPSTREAM.replace(*early)) == ()


def test_a_lock_that_moved_behind_its_unlock_is_refused() -> None:
    swapped = (
        MERGED.replace("MUTEX_LOCK", "MUTEX_X").replace("MUTEX_UNLOCK", "MUTEX_LOCK").replace("MUTEX_X", "MUTEX_UNLOCK")
    )
    assert problems(swapped) == (
        "src/Bands.c: split: MUTEX_LOCK follows its counterpart on a path where it does not upstream",
    )


def test_a_lock_inside_a_condition_is_refused() -> None:
    sometimes = MERGED.replace("MUTEX_LOCK(&im->mutex);", "if (im->ysize) { MUTEX_LOCK(&im->mutex); }")
    assert problems(sometimes) == (
        "src/Bands.c: split: MUTEX_LOCK follows its counterpart on a path where it does not upstream",
    )


def test_a_function_of_the_fork_s_own_must_be_even_on_every_path() -> None:
    assert problems(FAST + MERGED) == ()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("        MUTEX_UNLOCK(&im->mutex);\n        return;", "        return;"),
        ("            goto out;", "            return;"),
        ("        case 1:\n            break;", "        case 1:\n            return;"),
        ("        if (y == 3) {\n            break;", "        if (y == 3) {\n            return;"),
        ("    MUTEX_LOCK(&im->mutex);\n    if", "    MUTEX_LOCK(&im->mutex);\n    MUTEX_LOCK(&im->mutex);\n    if"),
    ],
)
def test_a_function_of_the_fork_s_own_that_is_not_even_is_refused(right: str, wrong: str) -> None:
    assert right in FAST
    assert problems(FAST.replace(right, wrong) + MERGED)


def test_a_branch_of_the_preprocessor_counts_as_a_path() -> None:
    fast = """\
int shuffle(Imaging im) {
#ifdef __AVX2__
    Py_BEGIN_ALLOW_THREADS;
#else
    Py_BEGIN_ALLOW_THREADS;
#endif
    Py_END_ALLOW_THREADS;
    Py_END_ALLOW_THREADS;
    return 0;
}
"""
    (problem,) = problems(fast, "")
    assert problem.startswith("src/Bands.c: shuffle: Py_BEGIN_ALLOW_THREADS follows its counterpart on a path")


def test_a_conflict_marker_is_refused() -> None:
    assert problems(f"<<<<<<< ours\n{MERGED}") == ("src/Bands.c: holds a conflict marker",)


def guarded(merged: str) -> str:
    rule = GuardedFunction(file="src/Bands.c", function="split", condition="im->ysize > 1", reason="a test")
    return apply_guards(UPSTREAM, merged, (rule,)).text


def test_the_dispatcher_of_a_guard_needs_no_locks() -> None:
    assert problems(guarded(MERGED)) == ()


@pytest.mark.parametrize("name", ["split__simd", "split__scalar"])
def test_both_forms_of_a_guarded_function_are_held_to_upstream_s(name: str) -> None:
    text = guarded(MERGED)
    place = text.index("MUTEX_LOCK", text.index(f"{name}(Imaging"))
    (problem,) = problems(text[:place] + text[place:].replace("MUTEX_LOCK(&im->mutex);", "", 1))
    assert problem.startswith(f"src/Bands.c: {name}: MUTEX_LOCK 0 times (upstream 1)")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


HELPERS = "static int clip(int a) { return a; }\nint copy(int a) { return clip(a); }\n"


def tree_problems(tmp_path: Path, upstream: dict[str, str], merged: dict[str, str]) -> tuple[str, ...]:
    changed = [name for name, text in merged.items() if upstream.get(name) != text]
    return check_tree(write(tmp_path / "upstream", upstream), write(tmp_path / "merged", merged), changed)


def test_a_function_that_its_own_file_still_calls_is_lost(tmp_path: Path) -> None:
    upstream = {"src/Bands.c": HELPERS}
    merged = {"src/Bands.c": HELPERS.replace("static int clip(int a) { return a; }\n", "")}
    assert tree_problems(tmp_path, upstream, merged) == (
        "src/Bands.c: calls clip, which the merge lost: upstream defines it there",
    )


def test_a_function_that_another_file_calls_is_lost(tmp_path: Path) -> None:
    caller = {"src/_imaging.c": "int copy(int);\nint use(void) { return copy(1); }\n"}
    found = tree_problems(tmp_path, {"src/Bands.c": HELPERS, **caller}, {"src/Bands.c": "int x;\n", **caller})
    assert found == ("src/_imaging.c: calls copy, which is lost: upstream defines it in src/Bands.c",)


def test_a_function_that_only_moved_is_not_lost(tmp_path: Path) -> None:
    clip, copy = HELPERS.splitlines(keepends=True)
    merged = {"src/Bands.c": f'#include "Clip.c"\n{copy}', "src/Clip.c": clip}
    assert tree_problems(tmp_path, {"src/Bands.c": HELPERS}, merged) == ()


def test_a_static_function_of_another_file_does_not_replace_a_lost_one(tmp_path: Path) -> None:
    clip, copy = HELPERS.splitlines(keepends=True)
    merged = {"src/Bands.c": copy, "src/Clip.c": clip}
    assert tree_problems(tmp_path, {"src/Bands.c": HELPERS}, merged)


def test_a_macro_that_is_still_used_is_lost(tmp_path: Path) -> None:
    upstream = "#define CLIP(a) (a)\nint copy(int a) { return CLIP(a); }\n"
    merged = upstream.replace("#define CLIP(a) (a)\n", "")
    assert tree_problems(tmp_path, {"src/Bands.c": upstream}, {"src/Bands.c": merged})


def test_a_copy_that_a_guard_needs_is_lost(tmp_path: Path) -> None:
    merged = guarded(MERGED).replace("split__scalar(Imaging im) {", "split_scalar(Imaging im) {")
    found = tree_problems(tmp_path, {"src/Bands.c": UPSTREAM}, {"src/Bands.c": merged})
    assert "src/Bands.c: calls split__scalar, which is lost: a guard needs it" in found

"""Whole trees: what is written, what is left out together, and what the report says."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from merging import function

from fastinstall.cmerge.documents import (
    GuardedFunction,
    KeptItems,
    Kernels,
    MergeReport,
    NotAccelerated,
    Part,
    TextOrigin,
)
from fastinstall.cmerge.trees import Trees, merge_trees
from fastinstall.core import values
from fastinstall.core.errors import UsageError

BLUR = function("a(n);", "b(n);", "return n;", head="int blur(int n)")
SIZE = '#include "all.h"\n' + function("a(n);", "return n;", head="int size(int n)")
TABLE = function("prepare(n);", "return n;", head="static int table(int n)")
HEADER = "#define WIDE 4\nint size(int n);\n"
BASE = {"src/blur.c": BLUR, "src/size.c": SIZE, "src/main.c": TABLE, "src/all.h": HEADER, "setup.py": "old"}
FAST = {
    **BASE,
    "src/blur.c": BLUR.replace("a(n)", "fast(n)"),
    "src/size.c": SIZE.replace('"all.h"\n', '"all.h"\n#include "simd.c"\n').replace("a(n)", "simd(n)"),
    "src/simd.c": "static int simd(int n) {\n    return n;\n}\n",
    "setup.py": "the fork's",
}

Files = Mapping[str, str]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def unpack(top: Path, files: Files, *, name: str, version: str) -> Path:
    for file, text in {**files, "PKG-INFO": f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"}.items():
        (top / file).parent.mkdir(parents=True, exist_ok=True)
        (top / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    return top


def make_trees(place: Path, upstream: Files, kernels: Files = FAST, base: Files = BASE) -> Trees:
    return Trees(
        base=unpack(place / "base", base, name="Pillow", version="1.0"),
        kernels=unpack(place / "fork", kernels, name="pillow-simd", version="1.0.post0"),
        target=unpack(place / "target", upstream, name="pillow", version="2.0"),
    )


def rules(*parts: Part, keep: tuple[KeptItems, ...] = (), guards: tuple[GuardedFunction, ...] = ()) -> Kernels:
    return Kernels(pypi="pillow-simd", follows="pillow", keep=keep, guards=guards, parts=parts)


def part(name: str, *files: str, items: tuple[str, ...] = ()) -> Part:
    return Part(name=name, files=files, items=items, operations=(name,))


def contents(trees: Trees) -> dict[str, str]:
    found = {}
    for path in sorted(trees.target.rglob("*")):
        if path.is_file() and path.name != "PKG-INFO":
            raw = path.read_bytes()
            found[path.relative_to(trees.target).as_posix()] = raw.decode("utf-8", "surrogateescape")
    return found


def origins(report: MergeReport) -> dict[str, TextOrigin]:
    return {item.name: item.origin for item in report.items}


RESIZE = part("resize", "src/size.c", "src/simd.c")
IN_CONFLICT = {**BASE, "src/size.c": SIZE.replace("a(n)", "a(n + 1)")}


def test_the_forks_c_files_are_merged_and_nothing_else(place: Path) -> None:
    upstream = {**BASE, "src/blur.c": BLUR.replace("b(n)", "b(n + 1)"), "setup.py": "upstream's"}
    trees = make_trees(place, upstream)
    report = merge_trees(trees, rules(RESIZE))
    merged = contents(trees)
    assert "fast" in merged["src/blur.c"]
    assert "n + 1" in merged["src/blur.c"]
    assert {name: merged[name] for name in ("src/size.c", "src/simd.c")} == {
        name: FAST[name] for name in ("src/size.c", "src/simd.c")
    }
    assert (merged["setup.py"], merged["src/main.c"]) == ("upstream's", TABLE)
    assert report == MergeReport(
        base="pillow 1.0",
        upstream="pillow 2.0",
        kernels="pillow-simd 1.0.post0",
        items=report.items,
        files=("src/blur.c", "src/size.c"),
        new_files=("src/simd.c",),
    )
    assert origins(report) == {
        "blur": TextOrigin.MERGED,
        '#include "simd.c"': TextOrigin.KERNELS,
        "size": TextOrigin.KERNELS,
        "simd.c": TextOrigin.KERNELS,
    }


def test_a_report_can_be_saved_and_read(place: Path) -> None:
    report = merge_trees(make_trees(place, IN_CONFLICT), rules(RESIZE))
    assert values.decode(MergeReport, values.encode(report), file="report") == report


def test_a_fork_that_changed_no_c_file_changes_nothing(place: Path) -> None:
    trees = make_trees(place, IN_CONFLICT, kernels={**BASE, "setup.py": "the fork's", "src/note.txt": "x"})
    report = merge_trees(trees, rules())
    assert contents(trees) == IN_CONFLICT
    assert (report.items, report.files, report.new_files) == ((), (), ())


def test_a_conflict_leaves_its_whole_part_as_upstream_has_it(place: Path) -> None:
    trees = make_trees(place, IN_CONFLICT)
    report = merge_trees(trees, rules(RESIZE))
    merged = contents(trees)
    assert merged == {**IN_CONFLICT, "src/blur.c": FAST["src/blur.c"]}
    assert origins(report) == {
        "blur": TextOrigin.KERNELS,
        '#include "simd.c"': TextOrigin.REVERTED,
        "size": TextOrigin.CONFLICT,
        "simd.c": TextOrigin.REVERTED,
    }
    assert report.not_accelerated == (NotAccelerated(what="resize", reason="size: both changed `a ( n ) ;`"),)


def test_a_conflict_without_a_part_leaves_the_whole_file(place: Path) -> None:
    trees = make_trees(place, IN_CONFLICT)
    report = merge_trees(trees, rules())
    assert contents(trees)["src/size.c"] == IN_CONFLICT["src/size.c"]
    assert [each.what for each in report.not_accelerated] == ["src/size.c"]


def test_a_conflict_in_one_file_of_a_part_reverts_its_items_in_others(place: Path) -> None:
    kernels = {**FAST, "src/main.c": TABLE.replace("prepare(n)", "scale(n)") + "int more;\n"}
    trees = make_trees(place, IN_CONFLICT, kernels)
    report = merge_trees(trees, rules(part("resize", "src/size.c", items=("src/main.c: table",))))
    assert contents(trees)["src/main.c"] == TABLE + "int more;\n"
    assert origins(report)["table"] is TextOrigin.REVERTED
    assert origins(report)["more"] is TextOrigin.KERNELS


def test_a_conflict_in_an_item_of_a_part_reverts_its_files(place: Path) -> None:
    kernels = {**FAST, "src/main.c": TABLE.replace("prepare(n)", "scale(n)")}
    upstream = {**BASE, "src/main.c": TABLE.replace("prepare(n)", "prepare(n + 1)")}
    trees = make_trees(place, upstream, kernels)
    report = merge_trees(trees, rules(part("resize", "src/size.c", items=("src/main.c: table",))))
    assert contents(trees) == {**upstream, "src/blur.c": FAST["src/blur.c"], "src/simd.c": FAST["src/simd.c"]}
    assert [each.what for each in report.not_accelerated] == ["resize"]


def test_a_file_left_out_takes_every_part_along_that_has_an_item_in_it(place: Path) -> None:
    kernels = {**FAST, "src/main.c": TABLE.replace("prepare(n)", "scale(n)") + BLUR.replace("a(n)", "fast(n)")}
    base = {**BASE, "src/main.c": TABLE + BLUR}
    upstream = {**base, "src/main.c": TABLE + BLUR.replace("a(n)", "a(n + 1)")}
    trees = make_trees(place, upstream, kernels, base)
    report = merge_trees(trees, rules(part("resize", "src/size.c", items=("src/main.c: table",))))
    assert contents(trees)["src/main.c"] == upstream["src/main.c"]
    assert contents(trees)["src/size.c"] == upstream["src/size.c"]
    assert [each.what for each in report.not_accelerated] == ["src/main.c", "resize"]


def test_what_uses_something_that_was_left_out_is_left_out_too(place: Path) -> None:
    """The fork's header cannot be merged, and one of its macros is used by a file that can."""
    kernels = {**FAST, "src/all.h": HEADER.replace("WIDE 4", "WIDE 8") + "#define LANES 2\n"}
    kernels["src/blur.c"] = BLUR.replace("a(n)", "fast(n, LANES)")
    upstream = {**BASE, "src/all.h": HEADER.replace("WIDE 4", "WIDE 6")}
    trees = make_trees(place, upstream, kernels)
    report = merge_trees(trees, rules(part("blur", "src/blur.c")))
    assert contents(trees)["src/all.h"] == upstream["src/all.h"]
    assert contents(trees)["src/blur.c"] == BLUR
    assert contents(trees)["src/size.c"] == FAST["src/size.c"]
    assert report.not_accelerated[1] == NotAccelerated(
        what="blur", reason="it uses LANES of src/all.h, which is left out"
    )


def test_what_includes_a_file_that_uses_something_left_out_is_left_out_too(place: Path) -> None:
    kernels = {**FAST, "src/all.h": HEADER.replace("WIDE 4", "WIDE 8") + "#define LANES 2\n"}
    kernels["src/simd.c"] = FAST["src/simd.c"].replace("return n", "return LANES")
    upstream = {**BASE, "src/all.h": HEADER.replace("WIDE 4", "WIDE 6")}
    trees = make_trees(place, upstream, kernels)
    merge_trees(trees, rules())
    assert contents(trees)["src/size.c"] == SIZE


def test_a_part_that_is_not_wanted_stays_upstreams(place: Path) -> None:
    trees = make_trees(place, BASE)
    report = merge_trees(trees, rules(RESIZE), without=["resize"])
    assert contents(trees) == {**BASE, "src/blur.c": FAST["src/blur.c"]}
    assert origins(report)["size"] is TextOrigin.REVERTED
    assert report.not_accelerated == (NotAccelerated(what="resize", reason="left out on request"),)


def test_all_parts_left_out_give_upstreams_tree(place: Path) -> None:
    trees = make_trees(place, BASE)
    report = merge_trees(trees, rules(RESIZE, part("blur", "src/blur.c")), without=["resize", "blur"])
    assert contents(trees) == BASE
    assert (report.files, report.new_files) == ((), ())


def test_a_part_that_does_not_exist_is_an_error_that_names_those_that_do(place: Path) -> None:
    trees = make_trees(place, BASE)
    with pytest.raises(UsageError, match="no part 'lanczos'") as raised:
        merge_trees(trees, rules(RESIZE), without=["lanczos"])
    assert raised.value.hint == "its parts: resize"
    assert contents(trees) == BASE


def test_a_file_that_upstream_has_no_more_is_reported(place: Path) -> None:
    upstream = {name: text for name, text in BASE.items() if name != "src/blur.c"}
    trees = make_trees(place, upstream)
    report = merge_trees(trees, rules())
    assert "src/blur.c" not in contents(trees)
    assert report.not_accelerated == (NotAccelerated(what="src/blur.c", reason="upstream no longer has this file"),)


def test_a_file_that_both_brought_is_upstreams(place: Path) -> None:
    upstream = {**BASE, "src/simd.c": "static long simd(int n);\n"}
    trees = make_trees(place, upstream)
    merge_trees(trees, rules(RESIZE))
    assert contents(trees) == {**upstream, "src/blur.c": FAST["src/blur.c"]}


def test_kept_items_stay_and_say_why(place: Path) -> None:
    trees = make_trees(place, BASE)
    keep = KeptItems(file="src/blur.c", items=("blur",), reason="upstream's is faster")
    report = merge_trees(trees, rules(keep=(keep,)))
    assert contents(trees)["src/blur.c"] == BLUR
    (item,) = (item for item in report.items if item.file == "src/blur.c")
    assert (item.origin, item.reason) == (TextOrigin.KEPT, "upstream's is faster")
    assert report.unused_rules == ()


def test_a_guarded_function_has_both_forms(place: Path) -> None:
    trees = make_trees(place, BASE)
    guard = GuardedFunction(file="src/blur.c", function="blur", condition="n > 1", reason="it reads out of bounds")
    report = merge_trees(trees, rules(guards=(guard,)))
    assert report.guards == ("src/blur.c: blur",)
    assert "if (n > 1)" in contents(trees)["src/blur.c"]


def test_kernels_that_cannot_be_fenced_are_left_out(place: Path) -> None:
    """The condition reads a parameter that upstream's function has not."""
    trees = make_trees(place, BASE)
    guard = GuardedFunction(file="src/blur.c", function="blur", condition="k > 1", reason="it reads out of bounds")
    report = merge_trees(trees, rules(guards=(guard,)))
    assert contents(trees)["src/blur.c"] == BLUR
    assert [each.what for each in report.not_accelerated] == ["src/blur.c"]
    assert "cannot add the guard" in report.not_accelerated[0].reason


def test_kernels_whose_guarded_function_is_gone_are_left_out(place: Path) -> None:
    trees = make_trees(place, BASE)
    guard = GuardedFunction(file="src/blur.c", function="blur_rows", condition="n > 1", reason="it reads out of bounds")
    report = merge_trees(trees, rules(part("blur", "src/blur.c"), guards=(guard,)))
    assert contents(trees)["src/blur.c"] == BLUR
    assert report.not_accelerated == (NotAccelerated(what="blur", reason="upstream has no blur_rows to guard"),)
    assert report.unused_rules == ("guard src/blur.c: blur_rows: the file is left as upstream has it",)


def test_rules_that_find_nothing_are_reported(place: Path) -> None:
    trees = make_trees(place, BASE)
    found = rules(
        part("other", "src/other.c", items=("src/main.c: table", "src/blur.c: no_such")),
        keep=(
            KeptItems(file="src/gone.c", items=("a",), reason="-"),
            KeptItems(file="src/blur.c", items=("b",), reason="-"),
        ),
        guards=(GuardedFunction(file="src/main.c", function="table", condition="n", reason="-"),),
    )
    assert merge_trees(trees, found).unused_rules == (
        "keep src/gone.c: a: the fork does not change it, or upstream no longer has it",
        "keep src/blur.c: b: the fork does not change it, or upstream no longer has it",
        "guard src/main.c: table: the fork does not change this file",
        "part other: src/other.c: the fork does not change it, or no longer has it",
        "part other: src/main.c: table: the fork does not change it, or no longer has it",
        "part other: src/blur.c: no_such: the fork does not change it, or no longer has it",
    )


def test_bytes_that_are_no_utf8_are_written_as_they_were(place: Path) -> None:
    raw = b"/* \xe9 */\n".decode("utf-8", "surrogateescape")
    base = {**BASE, "src/blur.c": raw + BLUR}
    upstream = {**base, "src/blur.c": raw + BLUR.replace("b(n)", "b(n + 1)")}
    trees = make_trees(place, upstream, {**FAST, "src/blur.c": raw + BLUR.replace("a(n)", "fast(n)")}, base)
    merge_trees(trees, rules())
    written = (trees.target / "src/blur.c").read_bytes()
    assert written.startswith(b"/* \xe9 */\n")
    assert b"fast" in written


def test_a_tree_that_does_not_name_itself_is_called_by_its_directory(place: Path) -> None:
    trees = make_trees(place, BASE)
    (trees.target / "PKG-INFO").unlink()
    assert merge_trees(trees, rules()).upstream == "target"

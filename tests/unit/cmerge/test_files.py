"""Whole files: which items come from where, and what stays to the byte."""

import pytest
from merging import expect_conflict, function, outcomes

from fastinstall.cmerge.documents import TextOrigin
from fastinstall.cmerge.file_merge import merge_texts
from fastinstall.cmerge.syntax import tokens

CLIP = "static int clip(int v) {\n    return v < 0 ? 0 : v;\n}\n"
FAST_CLIP = CLIP.replace("v < 0 ? 0 : v", "lookup[v]")
RUN = function("a(n);", "return clip(n);", head="int run(int n)")
FAST_RUN = function("a(n);", "return fast(clip(n));", head="int run(int n)")


def test_nothing_changed_gives_upstreams_text_to_the_byte() -> None:
    upstream = "/* a */\r\nint a; \r\n\r\n\r\n" + RUN
    merged = merge_texts(RUN, upstream, RUN + "// the fork says so\n")
    assert (merged.text, merged.outcomes) == (upstream, ())


VERSIONS = [CLIP + RUN, FAST_CLIP + FAST_RUN, RUN + "int more;\n" + CLIP, "", "}} broken ((", "#if A\n" + CLIP]


@pytest.mark.parametrize("base", VERSIONS)
@pytest.mark.parametrize("changed", VERSIONS)
def test_one_sided_changes_give_that_side_to_the_byte(base: str, changed: str) -> None:
    assert merge_texts(base, changed, base).text == changed
    assert merge_texts(base, base, changed).text == changed
    assert merge_texts(base, changed, changed).text == changed


@pytest.mark.parametrize("text", ["", "\n", "/* empty */"])
def test_an_empty_file_is_no_trouble(text: str) -> None:
    assert merge_texts("", text, "").text == text
    assert merge_texts("", "", text).text == ""
    assert tokens(merge_texts(text, text, "int a;\n").text) == ("int", "a", ";")


def test_a_file_that_upstream_left_alone_becomes_the_forks_with_its_comments() -> None:
    kernels = "/* fast */\n" + FAST_CLIP + RUN
    merged = merge_texts(CLIP + RUN, CLIP + RUN, kernels)
    assert merged.text == kernels
    assert outcomes(merged) == {"clip": TextOrigin.KERNELS}


def test_items_of_one_side_come_from_that_side() -> None:
    merged = merge_texts(CLIP + RUN, CLIP + RUN.replace("a(n)", "a(n + 1)"), FAST_CLIP + RUN)
    assert merged.text == FAST_CLIP + RUN.replace("a(n)", "a(n + 1)")
    assert outcomes(merged) == {"clip": TextOrigin.KERNELS}


def test_what_the_fork_added_stands_behind_what_it_stood_behind_there() -> None:
    upstream = "int first;\nint between;\n" + CLIP + "int last;\n"
    merged = merge_texts("int first;\n" + CLIP, upstream, '#include "simd.h"\nint first;\n' + CLIP + "#define WIDE 8\n")
    assert merged.text == ('#include "simd.h"\nint first;\nint between;\n' + CLIP + "#define WIDE 8\n\nint last;\n")


def test_what_the_fork_removed_is_removed_where_upstream_left_it_alone() -> None:
    merged = merge_texts(CLIP + RUN, CLIP + RUN + "int more;\n", RUN)
    assert tokens(merged.text) == tokens(RUN + "int more;\n")


def test_a_macro_is_one_item_with_its_comments_and_continuations() -> None:
    base = "#define BITS 8 /* of a byte */\n#define UP(a) \\\n    ((a) << BITS)\nint n;\n"
    upstream = base.replace("int n", "long n")
    kernels = base.replace("8 /* of a byte */", "7 // less one").replace("((a) << BITS)", "((a) << BITS) /* up */")
    merged = merge_texts(base, upstream, kernels)
    assert merged.text == upstream.replace("8 /* of a byte */", "7 // less one")
    assert outcomes(merged) == {"BITS": TextOrigin.KERNELS}


def test_a_function_that_upstream_renamed_is_followed() -> None:
    body = ["int y;", "for (y = 0; y < n; y++) { a(im, y); b(im, y); }", "return 0;"]
    old, renamed = "int ResampleRows(image *im, int n)", "int _ResampleRows(image *im, int n)"
    kernels = [body[0], body[1].replace("a(im, y)", "fast(im, y)"), body[2]]
    merged = merge_texts(function(*body, head=old), function(*body, head=renamed), function(*kernels, head=old))
    assert tokens(merged.text) == tokens(function(*kernels, head=renamed))
    assert outcomes(merged) == {"_ResampleRows": TextOrigin.MERGED}


def test_another_function_is_not_taken_for_a_renamed_one() -> None:
    base = function("a(n);", "b(n);", "c(n);", head="int resample_rows(int n)")
    upstream = function("while (n) { n = other(n + 1, n * 2, x[n], y[n], z[n]); }", head="int resample_row2(int n)")
    conflict = expect_conflict((base, upstream, base.replace("a(n)", "fast(n)")))
    assert conflict.reason == "upstream removed what the fork changed"


def test_what_both_added_each_in_its_own_way_is_a_conflict() -> None:
    conflict = expect_conflict(("int a;\n", "int a;\n#define WIDE 4\n", "int a;\n#define WIDE 8\n"))
    assert (conflict.kind, conflict.name) == ("define", "WIDE")


def test_what_both_added_alike_is_there_once() -> None:
    assert merge_texts("int a;\n", "int a;\n" + CLIP, CLIP + "int a;\n").text == "int a;\n" + CLIP


def test_what_the_fork_removed_and_upstream_changed_is_a_conflict() -> None:
    conflict = expect_conflict((CLIP + RUN, CLIP.replace("0 : v", "1 : v") + RUN, RUN))
    assert conflict.reason == "the fork removed what upstream changed"


def test_blocks_of_one_condition_are_told_apart_by_what_they_hold() -> None:
    """Upstream puts one more in front: by their order alone the fork's change would go into another block."""
    one, two, more = (f"#ifdef FAST\nint {name};\n#endif\n" for name in ("one", "two", "more"))
    kernels = one + two.replace("two", "two, three")
    assert merge_texts(one + two, more + one + two, kernels).text == more + kernels


def test_a_kept_item_stays_upstreams_and_the_rest_is_merged() -> None:
    merged = merge_texts(CLIP + RUN, CLIP + RUN + "int more;\n", FAST_CLIP + FAST_RUN, keep=["clip"])
    assert merged.text == CLIP + FAST_RUN + "int more;\n"
    assert outcomes(merged) == {"clip": TextOrigin.KEPT, "run": TextOrigin.KERNELS}


def test_a_kept_item_that_the_fork_added_is_left_out() -> None:
    merged = merge_texts(RUN, RUN, RUN + "#define WIDE 8\n" + "int k;\n", keep=["WIDE"])
    assert tokens(merged.text) == tokens(RUN + "int k;\n")


def test_a_kept_item_in_conflict_is_no_conflict() -> None:
    merged = merge_texts("#define A 1\n", "#define A 2\n", "#define A 3\n", keep=["A"])
    assert (merged.text, outcomes(merged)) == ("#define A 2\n", {"A": TextOrigin.KEPT})


def test_what_cannot_be_parsed_is_taken_from_the_side_that_changed_it() -> None:
    broken = "typedef struct {{ HEAD int {}; }} object;\n".format
    merged = merge_texts(broken("a") + RUN, broken("a") + RUN.replace("a(n)", "b(n)"), broken("fast") + RUN)
    assert merged.text == broken("fast") + RUN.replace("a(n)", "b(n)")


def test_what_cannot_be_parsed_and_both_changed_is_a_conflict() -> None:
    broken = "typedef struct {{ HEAD int {}; }} object;\n".format
    assert "cannot be parsed" in expect_conflict((broken("a"), broken("b"), broken("c"))).reason


def test_upstream_code_that_has_come_to_use_a_helper_that_the_fork_changed_is_a_conflict() -> None:
    more = function("return clip(n) + 1;", head="int more(int n)")
    merged = merge_texts(CLIP + RUN, CLIP + RUN + more, FAST_CLIP + FAST_RUN)
    (conflict,) = (outcome for outcome in merged.outcomes if outcome.origin is TextOrigin.CONFLICT)
    assert (conflict.name, conflict.reason) == ("more", "upstream now uses clip, which the fork changed")


def test_upstream_code_that_has_come_to_use_a_macro_that_the_fork_removed_is_a_conflict() -> None:
    macro = "#define HALF(a) ((a) / 2)\n"
    upstream = macro + RUN.replace("a(n);", "a(HALF(n));")
    assert outcomes(merge_texts(macro + RUN, upstream, RUN))["run"] is TextOrigin.CONFLICT


def test_a_use_that_upstream_moved_into_another_function_is_no_conflict() -> None:
    moved = RUN.replace("int run", "static int run_inner") + function("return run_inner(n);", head="int run(int n)")
    merged = merge_texts(CLIP + RUN, CLIP + moved, FAST_CLIP + RUN)
    assert merged.text == FAST_CLIP + moved


def test_what_other_files_call_may_be_used_by_upstream_in_more_places() -> None:
    run = RUN.replace("clip(n)", "n")
    more = function("return run(n) + 1;", head="int more(int n)")
    assert merge_texts(run, run + more, run.replace("a(n)", "fast(n)")).text == run.replace("a(n)", "fast(n)") + more


def test_lines_end_as_upstreams_do() -> None:
    upstream = (CLIP + RUN).replace("a(n)", "a(n + 1)").replace("\n", "\r\n")
    merged = merge_texts(CLIP + RUN, upstream, FAST_CLIP + FAST_RUN.replace("fast", "slow") + "int k;\n")
    assert "\n" not in merged.text.replace("\r\n", "")
    assert {"FAST_CLIP", "k"} - set(tokens(merged.text)) == {"FAST_CLIP"}


def test_names_and_comments_that_are_no_ascii_come_through() -> None:
    base = "/* façade */\nint größe = 'é';\n" + RUN
    merged = merge_texts(base, base.replace("a(n)", "b(n)"), base.replace("'é'", "'ü'"))
    assert merged.text == base.replace("a(n)", "b(n)").replace("'é'", "'ü'")


def test_bytes_that_are_no_utf8_come_through() -> None:
    base = (b"/* \xe9 */ int a;\n" + RUN.encode()).decode("utf-8", "surrogateescape")
    merged = merge_texts(base, base.replace("a(n)", "b(n)"), base.replace("int a;", "int a, k;"))
    assert merged.text.encode("utf-8", "surrogateescape").startswith(b"/* \xe9 */ int a, k;\n")


def test_comments_of_an_item_that_both_changed_are_lost_and_its_lead_is_not() -> None:
    base = "// what run does\nint run(int n) {\n    a(n); // why\n    b(n);\n}\n"
    merged = merge_texts(base, base.replace("a(n)", "a(n + 1)"), base.replace("b(n)", "fast(n)"))
    assert merged.text == "// what run does\nint run (int n) {\n    a (n + 1);\n    fast (n);\n}\n"


def test_a_string_with_the_text_of_a_comment_is_no_comment() -> None:
    base = 'const char *a = "/*"; int b; const char *c = "*/";\n'
    merged = merge_texts(base, base + "int d;\n", base.replace("int b", "int b, e"))
    assert tokens(merged.text) == tokens(base.replace("int b", "int b, e") + "int d;\n")

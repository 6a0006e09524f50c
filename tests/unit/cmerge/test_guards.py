"""Guards on small sources; where behaviour is at stake, on what the C code says."""

import re

import pytest

from fastinstall.cmerge.documents import GuardedFunction
from fastinstall.cmerge.runtime_guards import GuardedText, apply_guards
from fastinstall.core.errors import ExitCode, RefusedError

UPSTREAM = """\
#include "Imaging.h"

#define SCALE 3

/* Adds; see filter(). */
static inline int
helper(int a) {
    return a + SCALE;
}

static int
shared(int a) {
    return a;
}

int
filter(int a, const char *mode) {
    return helper(a) + shared(a) + in->helper; // helper
}

void
other(void) {
    filter(1, "helper(1)");
}
"""
MERGED = UPSTREAM.replace("return a + SCALE;", "return fast(a);").replace("shared(a) +", "1 +")


def rule(function: str = "filter", condition: str = "a > 0") -> GuardedFunction:
    return GuardedFunction(file="src/Filter.c", function=function, condition=condition, reason="a test")


def guarded(upstream: str, merged: str, *rules: GuardedFunction) -> GuardedText:
    return apply_guards(upstream, merged, rules or (rule(),))


def plain(text: str) -> str:
    """One blank wherever there is white space."""
    return " ".join(text.split())


def test_a_function_chooses_between_the_merge_and_upstream_s_own() -> None:
    text = plain(guarded(UPSTREAM, MERGED).text)
    assert "int filter__simd(int a, const char *mode) { return helper(a) + 1 + in->helper;" in text
    assert "int filter__scalar(int a, const char *mode) { return helper__scalar(a) + shared(a) + in->helper;" in text
    assert (
        "int filter(int a, const char *mode) { if (a > 0) { return filter__simd(a, mode); }"
        " else { return filter__scalar(a, mode); } }"
    ) in text


def test_what_the_merge_changed_stays_with_it_and_the_rest_is_shared() -> None:
    text = guarded(UPSTREAM, MERGED).text
    assert "static inline int\nhelper__scalar(int a) {\n    return a + SCALE;\n}" in text
    assert "shared__scalar" not in text
    assert "SCALE__scalar" not in text


def test_members_comments_and_strings_keep_their_words() -> None:
    text = guarded(UPSTREAM, MERGED).text
    assert "in->helper; // helper" in text
    assert 'filter(1, "helper(1)")' in text
    assert "/* Adds; see filter(). */" in text


def test_a_function_that_only_calls_changed_code_is_guarded_too() -> None:
    merged = UPSTREAM.replace("return a + SCALE;", "return fast(a);")
    text = plain(guarded(UPSTREAM, merged).text)
    assert "filter__scalar(int a, const char *mode) { return helper__scalar(a)" in text


def test_a_changed_macro_type_and_table_stay_with_their_users() -> None:
    upstream = """\
#define SHIFT 8
typedef struct { int value; } pixel;
static int table[4] = {SHIFT, 1, 2, 3};
int filter(int a) { pixel p; p.value = table[a]; return p.value >> SHIFT; }
#undef SHIFT
"""
    merged = upstream.replace("SHIFT 8", "SHIFT 15").replace("int value; }", "short value; }")
    text = guarded(upstream, merged).text
    for kept in (
        "#define SHIFT__scalar 8",
        "#undef SHIFT__scalar",
        "} pixel__scalar;",
        "table__scalar[4] = {SHIFT__scalar",
    ):
        assert kept in text
    assert "pixel__scalar p; p.value = table__scalar[a]; return p.value >> SHIFT__scalar;" in text


def test_each_kept_item_stands_where_it_sees_what_upstream_s_saw() -> None:
    upstream = """\
int first(int a) { return a; }
#define LATER 2
static int helper(int a) { return a * LATER; }
int second(int a) { return helper(a); }
"""
    merged = upstream.replace("{ return a; }", "{ return fast(a); }").replace("a * LATER", "fast(a)")
    text = guarded(upstream, merged, rule("first"), rule("second")).text
    assert text.index("#define LATER") < text.index("helper__scalar(int a) { return a * LATER; }")
    assert text.index("helper__scalar(int a)") < text.index("second__scalar(int a)")


def test_two_rules_of_a_file_share_what_both_need() -> None:
    upstream = """\
static int helper(int a) { return a; }
int first(int a) { return helper(a); }
int second(int a) { return helper(a) + 1; }
"""
    merged = upstream.replace("{ return a; }", "{ return fast(a); }")
    found = guarded(upstream, merged, rule("first"), rule("second"))
    assert found.applied == ("first", "second")
    assert found.text.count("helper__scalar(int a) {") == 1


def test_a_forward_declaration_is_kept_with_its_function() -> None:
    upstream = """\
static int helper(int a);
int filter(int a) { return helper(a); }
static int helper(int a) { return a; }
"""
    merged = upstream.replace("{ return a; }", "{ return fast(a); }")
    text = guarded(upstream, merged).text
    assert text.index("static int helper__scalar(int a);") < text.index("filter__scalar")


def test_a_function_that_a_header_declares_is_declared_before_its_use() -> None:
    upstream = """\
int filter(int a) { return helper(a); }
int helper(int a) { return a; }
"""
    merged = upstream.replace("{ return a; }", "{ return fast(a); }")
    text = guarded(upstream, merged).text
    assert text.index("int helper__scalar(int a);") < text.index("filter__scalar(int a) {")


def test_what_the_merge_took_away_stays_for_upstream_s_own_code() -> None:
    upstream = "static int helper(int a) { return a; }\nint filter(int a) { return helper(a); }\n"
    merged = "int filter(int a) { return fast(a); }\n"
    text = guarded(upstream, merged).text
    assert text.index("helper__scalar(int a) { return a; }") < text.index(
        "filter__scalar(int a) { return helper__scalar(a)"
    )


def test_a_name_in_two_branches_of_the_preprocessor_is_kept_in_both() -> None:
    upstream = """\
#ifdef WIDE
#define STEP 8
#else
#define STEP 4
#endif
int filter(int a) { return a + STEP; }
"""
    merged = upstream.replace("STEP 4", "STEP 2")
    text = guarded(upstream, merged).text
    assert "#define STEP__scalar 8" in text
    assert "#define STEP__scalar 4" in text


@pytest.mark.parametrize(
    ("signature", "dispatcher"),
    [
        ("void filter(int a)", "void filter(int a) { if (a > 0) { filter__simd(a); } else { filter__scalar(a); } }"),
        ("void static inline filter(int a)", "{ filter__simd(a); }"),
        ("void *filter(int a)", "{ return filter__simd(a); }"),
        ("static Imaging filter(int a, float box[4])", "{ return filter__simd(a, box); }"),
        ("double filter(double (*kernel)(double x), int a)", "{ return filter__simd(kernel, a); }"),
        ("int filter(Imaging *restrict images, unsigned a)", "{ return filter__simd(images, a); }"),
        ("int (*filter(int a))(int)", "{ return filter__simd(a); }"),
    ],
)
def test_every_kind_of_function_is_called_as_before(signature: str, dispatcher: str) -> None:
    upstream, merged = f"{signature} {{ slow(); }}\n", f"{signature} {{ fast(); }}\n"
    text = plain(guarded(upstream, merged).text)
    assert dispatcher in text
    assert f"{signature} {{ if (a > 0)" in text


def test_a_function_without_parameters_may_have_a_constant_condition() -> None:
    text = plain(
        guarded("int filter(void) { return 1; }\n", "int filter(void) { return 2; }\n", rule(condition="0")).text
    )
    assert "int filter(void) { if (0) { return filter__simd(); } else { return filter__scalar(); } }" in text


def test_recursion_comes_through_the_dispatcher_again() -> None:
    upstream = "int filter(int a) { return a; }\n"
    text = guarded(upstream, "int filter(int a) { return filter(a - 1); }\n").text
    assert "int filter__simd(int a) { return filter(a - 1); }" in text


def test_a_function_that_the_merge_left_alone_is_not_guarded() -> None:
    found = guarded(UPSTREAM, UPSTREAM.replace("filter(1", "filter(2"))
    assert (found.applied, found.unused) == ((), ("filter",))
    assert "__simd" not in found.text


@pytest.mark.parametrize(("spelled", "there"), [("filter", "_filter"), ("_filter", "filter")])
def test_a_leading_underscore_may_come_and_go(spelled: str, there: str) -> None:
    upstream = f"int {there}(int a) {{ return a; }}\n"
    found = guarded(upstream, upstream.replace("return a", "return 2"), rule(spelled))
    assert found.applied == (there,)
    assert f"{there}__simd(a)" in found.text


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("size > 0", "reads size, and the function's parameters are: a, mode"),
        ("a > 0 && mode->size > limit", "reads limit"),
        ("fast(a)", "calls a function"),
        ("a = 1", "more than a C expression"),
        ("a) || (a", "bracket"),
        ("", "is empty"),
        ("a; abort()", "more than a C expression"),
    ],
)
def test_a_condition_over_anything_but_parameters_is_refused(condition: str, problem: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(problem)) as caught:
        guarded(UPSTREAM, MERGED, rule(condition=condition))
    assert caught.value.message.startswith("src/Filter.c: filter: ")
    assert caught.value.details == (f"its condition: {condition}",)
    assert caught.value.exit_code is ExitCode.REFUSED


@pytest.mark.parametrize(
    "condition", ["mode->a.limit != IMAGING_TYPE_UINT8", "!mode[0] || (a & 0xff) == 1", "a ? 1 : 0"]
)
def test_members_constants_and_operators_are_allowed(condition: str) -> None:
    assert f"if ({condition}) {{" in guarded(UPSTREAM, MERGED, rule(condition=condition)).text


def test_a_rule_for_a_function_that_is_gone_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"src/Filter\.c: sharpen: .*upstream's file has no such function"):
        guarded(UPSTREAM, MERGED, rule("sharpen"))


@pytest.mark.parametrize("parameters", ["int a, ...", "long a", "int a, int b", "int *a"])
def test_a_function_that_is_called_otherwise_after_the_merge_is_refused(parameters: str) -> None:
    upstream = "int filter(int a) { return a; }\n"
    with pytest.raises(RefusedError, match="the merge changed how the function is called"):
        guarded(upstream, f"int filter({parameters}) {{ return fast(a); }}\n")


def test_a_function_with_any_number_of_arguments_is_refused() -> None:
    upstream = "int filter(int a, ...) { return a; }\n"
    with pytest.raises(RefusedError, match="its parameters cannot be passed on"):
        guarded(upstream, upstream.replace("return a", "return 2"))


def test_a_type_that_the_merge_changed_cannot_go_through_a_dispatcher() -> None:
    upstream = "typedef int pixel;\nint filter(pixel a) { return a; }\n"
    with pytest.raises(RefusedError, match="the merge changed pixel, which it takes or returns"):
        guarded(upstream, upstream.replace("typedef int", "typedef short"))


def test_a_name_that_the_merge_brings_must_not_meet_upstream_s_code() -> None:
    upstream = "int filter(int a) { return CLIP(a); }\n"
    with pytest.raises(RefusedError, match="upstream's code uses CLIP, which the merge redefines"):
        guarded(upstream, "#define CLIP(a) fast(a)\nint filter(int a) { return CLIP(a) + 1; }\n")


def test_a_function_whose_body_cannot_be_parsed_is_guarded_all_the_same() -> None:
    upstream = "int filter(int a) { FOREACH(x, a) { a--; } break }\n"
    text = plain(guarded(upstream, upstream.replace("a--", "a -= 2")).text)
    assert "int filter(int a) { if (a > 0) { return filter__simd(a); }" in text


@pytest.mark.parametrize(
    ("strange", "named"),
    [
        ("#ifdef WIDE\nint wide(int a) { return a; }\n)\n#endif\n", "#ifdef WIDE"),
        ("DEFINE(wide, return a);\n", "DEFINE"),
    ],
)
def test_a_change_that_cannot_be_read_stops_a_guard(strange: str, named: str) -> None:
    upstream = f"{strange}int filter(int a) {{ return wide(a); }}\n"
    with pytest.raises(RefusedError, match=f"the merge changed what cannot be read: {named}"):
        guarded(upstream, upstream.replace("return a", "return 2").replace("wide(a)", "wide(2)"))

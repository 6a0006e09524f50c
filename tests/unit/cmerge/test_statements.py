"""Functions that both sides changed: (base, upstream, kernels) and what comes out, or that it is a conflict."""

from collections.abc import Sequence

import pytest
from merging import expect_conflict, expect_merge, function

from fastinstall.cmerge.documents import TextOrigin

Body = Sequence[str]

MERGED: dict[str, tuple[Body, Body, Body, Body]] = {
    "changes of different statements": (
        ["a = 1;", "b = 2;", "c = 3;"],
        ["a = 9;", "b = 2;", "c = 3;"],
        ["a = 1;", "b = 2;", "c = fast(3);"],
        ["a = 9;", "b = 2;", "c = fast(3);"],
    ),
    "insertions at different places": (
        ["a = 1;", "b = 2;"],
        ["check(a);", "a = 1;", "b = 2;"],
        ["a = 1;", "b = 2;", "free(b);"],
        ["check(a);", "a = 1;", "b = 2;", "free(b);"],
    ),
    "the same insertion": (
        ["a = 1;", "b = 2;"],
        ["a = 1;", "check(a);", "b = 3;"],
        ["a = 1;", "check(a);", "b = 2;", "c = 4;"],
        ["a = 1;", "check(a);", "b = 3;", "c = 4;"],
    ),
    "a statement removed far from an insertion": (
        ["a = 1;", "b = 2;", "c = 3;"],
        ["b = 2;", "c = 3;"],
        ["a = 1;", "b = 2;", "c = 3;", "d = 4;"],
        ["b = 2;", "c = 3;", "d = 4;"],
    ),
    "the body by one, the condition by the other": (
        ["if (a) { b = 1; c = 2; }"],
        ["if (a && n) { b = 1; c = 2; }"],
        ["if (a) { b = 1; c = fast(2); }"],
        ["if (a && n) { b = 1; c = fast(2); }"],
    ),
    "an else that upstream added": (
        ["if (a) { b = 1; }", "c = 1;"],
        ["if (a) { b = 1; } else { b = 2; }", "c = 1;"],
        ["if (a) { b = fast(1); }", "c = 1;"],
        ["if (a) { b = fast(1); } else { b = 2; }", "c = 1;"],
    ),
    "inside a loop in a loop": (
        ["for (y = 0; y < h; y++) { for (x = 0; x < w; x++) { a(x); b(x); } c(y); }"],
        ["for (y = 0; y < h; y++) { for (x = 0; x < w; x++) { a(x); b(x); } c(y + 1); }"],
        ["for (y = 0; y < h; y++) { for (x = 0; x < w; x++) { fast(x); b(x); } c(y); }"],
        ["for (y = 0; y < h; y++) { for (x = 0; x < w; x++) { fast(x); b(x); } c(y + 1); }"],
    ),
    "cases of a switch": (
        ["switch (n) { case 1: a(); break; case 2: b(); break; }"],
        ["switch (n) { case 1: a(1); break; case 2: b(); break; }"],
        ["switch (n) { case 1: a(); break; case 2: fast(); break; }"],
        ["switch (n) { case 1: a(1); break; case 2: fast(); break; }"],
    ),
    "under #if": (
        ["#ifdef A", "a = 1;", "b = 2;", "#endif", "c = 3;"],
        ["#ifdef A", "a = 1;", "b = 4;", "#endif", "c = 3;"],
        ["#ifdef A", "a = fast(1);", "b = 2;", "#endif", "c = 3;"],
        ["#ifdef A", "a = fast(1);", "b = 4;", "#endif", "c = 3;"],
    ),
    "under #else": (
        ["#ifdef A", "a = 1;", "#else", "b = 2;", "#endif", "c = 3;"],
        ["#ifdef A", "a = 1;", "#else", "b = 4;", "#endif", "c = 3;"],
        ["#ifdef A", "a = 1;", "#else", "b = 2;", "#endif", "c = fast(3);"],
        ["#ifdef A", "a = 1;", "#else", "b = 4;", "#endif", "c = fast(3);"],
    ),
    "a lock goes before what the fork put, its release behind": (
        ["int y;", "work(im);", "return 0;"],
        ["int y;", "MUTEX_LOCK(&im->mutex);", "work(im);", "MUTEX_UNLOCK(&im->mutex);", "return 0;"],
        ["int y;", "__m128i mask;", "mask = load();", "work(im);", "store(mask);", "return 0;"],
        [
            "int y;",
            "__m128i mask;",
            "MUTEX_LOCK(&im->mutex);",
            "mask = load();",
            "work(im);",
            "store(mask);",
            "MUTEX_UNLOCK(&im->mutex);",
            "return 0;",
        ],
    ),
    "strings that look like comments": (
        ['a("/* x  y */");', "b = 1;"],
        ['a("/* x y */");', "b = 1;"],
        ['a("/* x  y */");', 'b = c("// no");'],
        ['a("/* x y */");', 'b = c("// no");'],
    ),
}

CONFLICTS: dict[str, tuple[Body, Body, Body]] = {
    "one expression changed by both": (["a = b + 1;"], ["a = b + 2;"], ["a = fast(b);"]),
    "a condition changed by both": (["if (a) { b(); }"], ["if (a > 1) { b(); }"], ["if (!a) { b(); }"]),
    "other statements at one place": (["a();", "b();"], ["a();", "x();", "b();"], ["a();", "y();", "b();"]),
    "removed by one, changed by the other": (["a = 1;", "b = 2;"], ["b = 2;"], ["a = fast(1);", "b = 2;"]),
    "replaced by one, an insertion there by the other": (
        ["a();", "b();", "c();"],
        ["a();", "x();", "b();", "c();"],
        ["a();", "while (n) { y(); }", "c();"],
    ),
    "replaced by both": (["a();", "b();", "c();"], ["a();", "x = 1;", "c();"], ["a();", "return 2;", "c();"]),
    "a cast that prevents an overflow": (
        ["p = malloc(w * h);"],
        ["p = malloc((size_t)w * h);"],
        ["p = malloc(w * h + 16);"],
    ),
    "parentheses that bind otherwise": (["a = b + c * d;"], ["a = (b + c) * d;"], ["a = fast(b + c * d);"]),
    "a lock, and code of the fork that leaves": (
        ["a();", "b();"],
        ["a();", "MUTEX_LOCK(&m);", "b();", "MUTEX_UNLOCK(&m);"],
        ["a();", "if (n) { return 1; }", "b();"],
    ),
    "a lock and its release at one place": (
        ["a();", "b();"],
        ["a();", "MUTEX_LOCK(&m);", "MUTEX_UNLOCK(&m);", "b();"],
        ["a();", "x();", "b();"],
    ),
    "the same name for different things": (
        ["a();", "b(n);"],
        ["a();", "float left = n;", "b(n);"],
        ["a();", "int left = 2;", "b(n);"],
    ),
    "numbers of a table that stand by position": (
        ["static int t[] = {1, 2};", "a(t);"],
        ["static int t[] = {1, 2, 3};", "a(t);"],
        ["static int t[] = {1, 2, 4};", "a(t);"],
    ),
    "a directive changed by both": (
        ["#define A 1", "a(A);", "#undef A"],
        ["#define A 2", "a(A);", "#undef A"],
        ["#define A 3", "a(A);", "#undef A"],
    ),
}


@pytest.mark.parametrize("case", MERGED)
def test_both_changes_are_merged(case: str) -> None:
    base, upstream, kernels, expected = MERGED[case]
    expect_merge((function(*base), function(*upstream), function(*kernels)), function(*expected))


@pytest.mark.parametrize("case", CONFLICTS)
def test_upstreams_stays_where_the_changes_exclude_each_other(case: str) -> None:
    base, upstream, kernels = (function(*body) for body in CONFLICTS[case])
    assert expect_conflict((base, upstream, kernels)).reason


def test_parameters_that_both_changed_are_a_conflict() -> None:
    base, upstream, kernels = (function(head=f"int run({kind} n)") for kind in ("int", "long", "short"))
    expect_conflict((base, upstream, kernels))


def test_entries_of_a_table_of_names_are_merged_in_upstreams_order_first() -> None:
    table = 'static struct method methods[] = {{"a", a}, HERE {NULL, NULL}};\n'
    texts = (table.replace("HERE", ""), table.replace("HERE", '{"up", up},'), table.replace("HERE", '{"simd", simd},'))
    expect_merge(texts, table.replace("HERE", '{"up", up}, {"simd", simd},'))


def test_an_else_does_not_change_its_if() -> None:
    """Upstream adds an else to the outer `if`, the fork puts an `if` where the statement stood."""
    base = function("if (a) b();", "c();")
    expect_conflict((base, function("if (a) b(); else d();", "c();"), function("if (a) if (n) b();", "c();")))


def test_whitespace_changes_of_upstream_do_not_meet_the_forks() -> None:
    base = function("a = b + 1;", "c();")
    upstream = "static int\nrun(image *im,\n    int n)\n{\n  a=b+1; /* why */\n  c();\n}\n"
    expect_merge(
        (base, upstream, function("a = fast(b);", "c();")), function("a = fast(b);", "c();"), TextOrigin.KERNELS
    )

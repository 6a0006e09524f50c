"""Functions whose upstream was reworded: what the canonical form undoes, and where undoing would change the meaning."""

import re
from collections.abc import Sequence

import pytest
from merging import expect_conflict, expect_merge, function

from fastinstall.cmerge.documents import TextOrigin

Body = Sequence[str]

CANONICAL: dict[str, tuple[Body, Body, Body, Body]] = {
    "a name for a field": (
        ["for (x = 0; x < im->xsize; x++) { a(x); }"],
        ["int xsize = im->xsize;", "for (x = 0; x < xsize; x++) { a(x); }"],
        ["mask = load();", "for (x = 0; x < im->xsize; x++) { fast(x, mask); }"],
        ["mask = load();", "for (x = 0; x < im->xsize; x++) { fast(x, mask); }"],
    ),
    "a name for a row of bytes": (
        ["for (x = 0; x < n; x++) { s += (UINT8)im->image[y][x * 4]; t(s); }"],
        ["UINT8 *line = (UINT8 *)im->image[y];", "for (x = 0; x < n; x++) { s += line[x * 4]; t(s); }"],
        ["mask = load();", "for (x = 0; x < n; x++) { s += (UINT8)im->image[y][x * 4]; t(s, mask); }"],
        ["mask = load();", "for (x = 0; x < n; x++) { s += (UINT8)im->image[y][x * 4]; t(s, mask); }"],
    ),
    "restrict": (
        ["UINT8 *p = q;", "a(p);"],
        ["UINT8 *restrict p = q;", "a(p);", "b(p);"],
        ["UINT8 *p = q + n;", "a(p);"],
        ["UINT8 *p = q + n;", "a(p);", "b(p);"],
    ),
    "an assertion where the fork put something": (
        ["a(im);", "b(im);"],
        ["a(im);", "assert(im->image8 != NULL);", "b(im);"],
        ["a(im);", "mask = load();", "b(im);"],
        ["a(im);", "mask = load();", "b(im);"],
    ),
    "a counter declared in its loop": (
        ["int x;", "for (x = 0; x < n; x++) { a(x); b(x); }"],
        ["for (int x = 0; x < n; x++) { a(x); b(x + 1); }"],
        ["int x;", "__m128i mask;", "for (x = 0; x < n; x += 4) { a(x); mask = b2(x); b(x); }"],
        ["__m128i mask;", "int x;", "for (x = 0; x < n; x += 4) { a(x); mask = b2(x); b(x + 1); }"],
    ),
    "plain declarations are a set": (
        ["int x, y;", "UINT8 *p;", "a(x, y, p);", "b(x);"],
        ["UINT8 *p;", "int y, z;", "int x;", "a(x, y, p);", "b(x + z);"],
        ["int x;", "const UINT8 *p;", "int y, k;", "a(x, y, p, k);", "b(x);"],
        ["const UINT8 * p;", "int k;", "int x;", "int y;", "int z;", "a(x, y, p, k);", "b(x + z);"],
    ),
}


@pytest.mark.parametrize("case", CANONICAL)
def test_rewording_is_undone(case: str) -> None:
    base, upstream, kernels, expected = (function(*body) for body in CANONICAL[case])
    expect_merge((base, upstream, kernels), expected, TextOrigin.CANONICAL)


HOSTILE: dict[str, tuple[Body, Body, Body]] = {
    "a name that is assigned later": (
        ["a(im->xsize);", "b(im->xsize);"],
        ["int w = im->xsize;", "a(w);", "w = 4;", "b(w);"],
        ["mask = load();", "a(im->xsize);", "b(im->xsize, mask);"],
    ),
    "a name that is counted up in a condition": (
        ["while (im->xsize) { a(im->xsize); }", "b();"],
        ["int w = im->xsize;", "while (w--) { a(w); }", "b();"],
        ["mask = load();", "while (im->xsize) { fast(im->xsize); }", "b();"],
    ),
    "a name whose address is taken": (
        ["a(im->xsize);", "b(im->xsize);"],
        ["int w = im->xsize;", "change(&w);", "a(w);", "b(w);"],
        ["mask = load();", "a(im->xsize);", "b(im->xsize, mask);"],
    ),
    "a name that a macro may change": (
        ["a(im->xsize);", "b(im->xsize);"],
        ["int w = im->xsize;", "HALVE(w);", "a(w);", "b(w);"],
        ["mask = load();", "a(im->xsize);", "b(im->xsize, mask);"],
    ),
    "a name that is declared again in a block": (
        ["a(im->xsize);", "{ b(im->xsize); }"],
        ["int w = im->xsize;", "a(w);", "{ int w = 3; b(w); }"],
        ["mask = load();", "a(im->xsize);", "{ b(im->xsize, mask); }"],
    ),
    "a name in a directive": (
        ["a(im->xsize);", "b(im->xsize);"],
        ["int w = im->xsize;", "a(w);", "#define W (w + 1)", "b(w);", "c(W);"],
        ["mask = load();", "a(im->xsize);", "b(im->xsize, mask);"],
    ),
    "a value whose parts change later": (
        ["a(y + 1);", "y = 5;", "b(y + 1);"],
        ["int next = y + 1;", "a(next);", "y = 5;", "b(next);"],
        ["mask = load();", "a(y + 1);", "y = 5;", "b(y + 1, mask);"],
    ),
    "a field that is written later": (
        ["a(im->xsize);", "im->xsize = 0;", "b(im->xsize);"],
        ["int w = im->xsize;", "a(w);", "im->xsize = 0;", "b(w);"],
        ["mask = load();", "a(im->xsize);", "im->xsize = 0;", "b(im->xsize, mask);"],
    ),
    "an element that is written later": (
        ["a(t[0]);", "t[0] = 1;", "b(t[0]);"],
        ["int w = t[0];", "a(w);", "t[0] = 1;", "b(w);"],
        ["mask = load();", "a(t[0]);", "t[0] = 1;", "b(t[0], mask);"],
    ),
    "a value that a call yields": (
        ["a(next(im));", "b(next(im));"],
        ["int w = next(im);", "a(w);", "b(w);"],
        ["mask = load();", "a(next(im));", "b(next(im), mask);"],
    ),
    "a value that the name's type cuts off": (
        ["a(n * 1.5);", "b(n * 1.5);"],
        ["UINT8 w = n * 1.5;", "a(w);", "b(w);"],
        ["mask = load();", "a(n * 1.5);", "b(n * 1.5, mask);"],
    ),
    "a name for something else than the base has": (
        ["a(im->xsize);", "b(im->xsize);"],
        ["int w = im->xsize - 1;", "a(w);", "b(w);"],
        ["mask = load();", "a(im->xsize);", "b(im->xsize, mask);"],
    ),
    "elements of another size": (
        ["a(im->image[y][0]);", "b(n);"],
        ["INT32 *line = (INT32 *)im->image[y];", "a(line[0]);", "b(n);"],
        ["mask = load();", "a(im->image[y][0]);", "b(n, mask);"],
    ),
    "a byte that is read with another sign": (
        ["a(im->image[y][0]);", "b(n);"],
        ["UINT8 *line = (UINT8 *)im->image[y];", "a(line[0]);", "b(n);"],
        ["mask = load();", "a(im->image[y][0]);", "b(n, mask);"],
    ),
    "an assertion that does something, where the fork put something": (
        ["a(im);", "b(im);"],
        ["a(im);", "assert(n++ < 3);", "b(im);"],
        ["a(im);", "mask = load();", "b(im);"],
    ),
    "a counter that is used behind its loop": (
        ["int x;", "for (x = 0; x < n; x++) { a(x); }", "b(x);"],
        ["for (int x = 0; x < n; x++) { a(x + 1); }", "b(x);"],
        ["int x;", "__m128i m;", "for (x = 0; x < n; x += 4) { a(x); m = fast(x); }", "b(x);"],
    ),
    "a counter of upstream's loop that the fork uses behind it": (
        ["int x;", "for (x = 0; x < n; x++) { a(x); }", "b(n);"],
        ["for (UINT8 x = 0; x < n; x++) { a(x); }", "b(n + 1);"],
        ["int x;", "for (x = 0; x < n; x++) { a(x); }", "tail(x);", "b(n);"],
    ),
    "a name that upstream declares anew around the fork's code": (
        ["int v = 1;", "if (n) { a(v); b(n); }"],
        ["int v = 1;", "if (n) { int v = 3; a(v); b(n); }"],
        ["int v = 1;", "if (n) { a(v); b(n); fast(v); }"],
    ),
    "a name that the fork declares anew around upstream's code": (
        ["int v = 1;", "if (n) { a(v); b(n); }"],
        ["int v = 1;", "if (n) { a(v); b(n); c(v); }"],
        ["int v = 1;", "if (n) { __m128i v = load(); a(v); b(n); }"],
    ),
    "one name for two things": (
        ["a(n);", "b(n);", "c(n);"],
        ["int k = next(n);", "a(k);", "b(n);", "c(k);"],
        ["a(n);", "b(n);", "c(n);", "float k = 1;", "fast(k);"],
    ),
    "a type that one side changed, and a name that the other added to it": (
        ["static int a = 1;", "b(a);"],
        ["static short a = 1;", "b(a);"],
        ["static int a = 1, c = 2;", "b(a, c);"],
    ),
    "a variable that both gave another type": (
        ["int s;", "s = 0;", "a(s);", "b(n);"],
        ["ptrdiff_t s;", "s = 0;", "a(s);", "b(n + 1);"],
        ["float s;", "s = 0;", "fast(s);", "b(n);"],
    ),
}


SCOPES: dict[str, tuple[Body, Body, Body]] = {
    "what the fork uses is no longer declared": (
        ["int v = 1;", "a(n);", "b(n);"],
        ["a(n + 1);", "b(n);"],
        ["int v = 1;", "a(n);", "b(n);", "fast(v);"],
    ),
    "what upstream takes from outside is declared by the fork": (
        ["a(n);", "b(n);", "c(n);"],
        ["a(n);", "b(n);", "c(total);"],
        ["int total = 0;", "a(total);", "b(n);", "c(n);"],
    ),
    "both declare it in blocks of their own": (
        ["if (n) { a(n); b(n); }", "if (!n) { c(n); d(n); }"],
        ["if (n) { a(n); int k = next(); b(k); }", "if (!n) { c(n); d(n); }"],
        ["if (n) { a(n); b(n); }", "if (!n) { c(n); int k = fast(); d(k); }"],
    ),
}


@pytest.mark.parametrize("case", SCOPES)
def test_names_that_would_mean_another_thing_are_a_conflict(case: str) -> None:
    base, upstream, kernels = (function(*body) for body in SCOPES[case])
    assert re.search("declared|mean something else", expect_conflict((base, upstream, kernels)).reason)


def test_declarations_under_if_hold_behind_it() -> None:
    base = function("#ifdef A", "int v = 1;", "#else", "int v = 2;", "#endif", "a(v);", "b(n);")
    texts = (base, base.replace("b(n)", "b(n + 1)"), base.replace("a(v)", "fast(v)"))
    expect_merge(texts, base.replace("b(n)", "b(n + 1)").replace("a(v)", "fast(v)"))


@pytest.mark.parametrize("case", HOSTILE)
def test_what_would_change_the_meaning_is_a_conflict(case: str) -> None:
    base, upstream, kernels = (function(*body) for body in HOSTILE[case])
    expect_conflict((base, upstream, kernels))


def test_a_name_that_a_macro_of_the_file_uses_by_itself_stays() -> None:
    """`STEP` reads `w` without being handed it: without the name it would read something else."""
    head = "#define STEP(a) ((a) + w)\n"
    base = head + function("a(im->xsize);", "b(STEP(1));")
    upstream = head + function("int w = im->xsize;", "a(w);", "b(STEP(1));")
    expect_conflict((base, upstream, head + function("mask = load();", "a(im->xsize);", "b(STEP(1), mask);")))


def test_a_declaration_that_only_a_macro_uses_stays() -> None:
    head = "#define STEP() (total += n)\n"
    base = function("int v, total;", "a(v);", "STEP();", "b(n);")
    upstream = function("int total;", "int v;", "a(v);", "STEP();", "b(n + 1);")
    kernels = function("int v, k, total;", "a(v, k);", "STEP();", "b(n);")
    expected = function("int k;", "int total;", "int v;", "a(v, k);", "STEP();", "b(n + 1);")
    expect_merge((head + base, head + upstream, head + kernels), head + expected, TextOrigin.CANONICAL)


def test_upstreams_wider_type_holds_in_the_forks_code() -> None:
    base = function("int i, s;", "s = 0;", "a(s, i);", "b(n);")
    upstream = function("int i;", "ptrdiff_t s;", "s = 0;", "a(s, i);", "b(n + 1);")
    kernels = function("int i, s, k;", "s = 0;", "fast(s, i, k);", "b(n);")
    expected = function("int i;", "int k;", "ptrdiff_t s;", "s = 0;", "fast(s, i, k);", "b(n + 1);")
    expect_merge((base, upstream, kernels), expected, TextOrigin.CANONICAL)

import pytest

from fastinstall.cmerge.file_merge import emit, is_read_back
from fastinstall.cmerge.syntax import ATOMIC, Item, parse_items

SOURCE = """\
/* licence */
#include "one.h"
#define HALF(a) \\
    ((a) / 2) // rounds down
typedef struct { int a; } pair;
struct point { int x; };
extern int (*hook)(int), count;
#ifdef FAST /* or not */
static int fast(void) { return 1; }
#else
static int fast(void) { return 0; }
#endif

static const char *
name(int i) {
    switch (i) { case 0: return "a  b"; default: break; }
    for (int k = 0; k < i; k++) if (k) { continue; } else i--;
    do { i /= 2; } while (i);
    return (char *)0;
}
// the end
"""


def only(text: str) -> Item:
    (item,) = parse_items(text).items
    return item


def test_items_are_named_by_what_they_define() -> None:
    keys = [(item.key.kind, item.key.name) for item in parse_items(SOURCE).items]
    assert keys == [
        ("include", '#include "one.h"'),
        ("define", "HALF"),
        ("type", "pair"),
        ("struct", "point"),
        ("declaration", "hook"),
        ("conditional", "#ifdef FAST"),
        ("function", "name"),
    ]


@pytest.mark.parametrize(
    "source",
    [SOURCE, SOURCE.replace("\n", "\r\n"), "", ";", "/* only this */", "int a", "é = 'ü'; // ö\n", "}}}{", "#if A\n"],
)
def test_no_byte_of_a_source_is_lost(source: str) -> None:
    parsed = parse_items(source)
    assert "".join(item.lead + item.text for item in parsed.items) + parsed.tail == source


def test_bytes_that_are_no_utf8_come_out_as_they_were() -> None:
    raw = b"/* caf\xe9 */ int a; /* \xff */ int b;\n"
    parsed = parse_items(raw.decode("utf-8", "surrogateescape"))
    text = "".join(item.lead + item.text for item in parsed.items) + parsed.tail
    assert text.encode("utf-8", "surrogateescape") == raw
    assert [item.key.name for item in parsed.items] == ["a", "b"]


def test_items_of_one_name_are_counted() -> None:
    occurrences = [item.key.occurrence for item in parse_items("#ifdef A\n#endif\n#ifdef A\nint a;\n#endif\n").items]
    assert occurrences == [0, 1]


def test_a_semicolon_belongs_to_what_it_ends() -> None:
    assert [item.text for item in parse_items("struct a { int b; };\nint c;").items] == [
        "struct a { int b; };",
        "int c;",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "typedef struct { HEAD int a; } object;",
        "int f(void) { return 1 + ; }",
        "UNPACK(a, b)\nUNPACK(c, d)\n",
        "int f(int a) { if (a { return 1; } }",
        "int f(void) { return " + "(" * 400 + "1" + ")" * 400 + "; }",
    ],
)
def test_what_cannot_be_parsed_is_compared_by_its_tokens(source: str) -> None:
    items = parse_items(source).items
    assert any(item.node.type == ATOMIC for item in items)
    again = parse_items(source.replace(";", " /* here */ ;")).items
    assert [item.signature for item in items] == [item.signature for item in again]


def test_comments_and_layout_make_no_other_item() -> None:
    assert (
        only("int f(int a){return a+1;}").signature
        == only("int\nf(int a) {\n  // one more\n  return a + 1;\n}").signature
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = (a + b) * c;", "x = ((a + b)) * (c);"),
        ("x = (UINT8)p[i];", "x = ((UINT8 *)p)[i];"),
        ("copy(p + i, q);", "copy((UINT8 *)p + i, q);"),
        ("return (x);", "return x;"),
    ],
)
def test_loosely_the_same(one: str, other: str) -> None:
    assert only(f"int f(void) {{ {one} }}").node.loose == only(f"int f(void) {{ {other} }}").node.loose


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = (a + b) * c;", "x = a + b * c;"),
        ("x = -(a + b);", "x = -a + b;"),
        ("x = (size_t)a * b;", "x = a * b;"),
        ("x = (UINT8)p[i];", "x = p[i];"),
        ("x = (UINT8)(a + b);", "x = a + b;"),
        ("x = ((INT32 *)p)[i];", "x = p[i];"),
        ("x = *((UINT8 *)p);", "x = *p;"),
        ("copy((INT32 *)p + i, q);", "copy(p + i, q);"),
        ("x = a ? b : (c = d);", "x = (a ? b : c) = d;"),
        ("x = !(a == b);", "x = !a == b;"),
    ],
)
def test_what_can_change_a_value_is_not_loosely_the_same(one: str, other: str) -> None:
    assert only(f"int f(void) {{ {one} }}").node.loose != only(f"int f(void) {{ {other} }}").node.loose


def test_what_is_written_from_a_tree_is_read_as_the_same_tree() -> None:
    for item in parse_items(SOURCE).items:
        assert is_read_back(item.node, emit(item.node)), emit(item.node)


def test_a_text_that_binds_otherwise_does_not_read_back() -> None:
    meant = only("int f(int a, int b) { if (a) { if (b) g(); } else h(); }").node
    assert not is_read_back(meant, "int f(int a, int b) { if (a) if (b) g(); else h(); }")


def test_written_source_is_indented_by_its_blocks() -> None:
    assert emit(only("int f(int a){if(a){return g(a,1);}\n#if A\nh();\n#endif\nreturn 0;}").node) == (
        "int f (int a) {\n    if (a) {\n        return g (a, 1);\n    }\n#if A\n    h ();\n#endif\n    return 0;\n}\n"
    )

import pytest

from fastinstall.cmerge.syntax import tokens

SAME = [
    ("a /* one */ + b // two", "a+b"),
    ("#  define A(x) \\\n  ((x) + 1) /* c */", "#define A(x) ((x)+1)"),
    ("#define A 1 // why", "#define A 1"),
    ("int a;\r\nint b;\r\n", "int a;\nint b;\n"),
    ("#define A \\\r\n 1\r\n", "#define A 1\n"),
    ("a = b; /* never closed", "a = b;"),
    ("x /* a\n # b */ y", "x y"),
]

DIFFERENT = [
    ("a - -b", "a--b"),
    ("a + +b", "a ++b"),
    ("#define A (x)", "#define A(x)"),
    ('s = "a  b"', 's = "a b"'),
    ('s = "//"; x', 's = "'),
    ('s = "/* */";', 's = "";'),
    ("'\\''+a", "'\\''+b"),
    ("#define A\nint x;", "#define A int\nx;"),
    ("#ifdef A\nB\n#endif", "#ifdef A B\n#endif"),
    ("1.5e-3", "1.5e - 3"),
    ("a < < b", "a << b"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_comments_and_white_space_are_no_tokens(one: str, other: str) -> None:
    assert tokens(one) == tokens(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_a_compiler_tells_apart_has_other_tokens(one: str, other: str) -> None:
    assert tokens(one) != tokens(other)


def test_a_directive_is_one_word_and_ends_with_its_line() -> None:
    assert tokens("#define F(a) #a\nx") == ("#define()", "F", "(", "a", ")", "#", "a", "\n", "x")


def test_nothing_has_no_tokens() -> None:
    assert tokens("") == tokens(" \n/* nothing */\n") == ()

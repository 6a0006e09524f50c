import pytest

from fastinstall.cmerge.documents import condition_problem, read_names


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("!imIn->image8", ("imIn",)),
        ("im->type == IMAGING_TYPE_UINT8 && (xsize == 5 || !im->image8)", ("im", "xsize")),
        ("box[0] < box . width", ("box",)),
        ("a ? b : 0x10u", ("a", "b")),
        ("-1.5e3 < a", ("a",)),
        ("1", ()),
    ],
)
def test_a_condition_reads_names_at_the_roots_of_its_expressions(condition: str, names: tuple[str, ...]) -> None:
    assert condition_problem(condition) == ""
    assert read_names(condition) == names


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        (" ", "is empty"),
        ("a == 'x'", "more than"),
        ("a++", "more than"),
        ("a += 1", "more than"),
        ("a, b", "more than"),
        ("a #if", "more than"),
        ("f (a)", "calls a function"),
        ("(f)(a)", "calls a function"),
        ("(a]", "bracket"),
        ("((a)", "bracket"),
    ],
)
def test_what_could_do_more_than_compare_is_refused(condition: str, problem: str) -> None:
    assert problem in condition_problem(condition)

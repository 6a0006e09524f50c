from whole_proof.compiler_warnings import ComparableWarning, parse_warnings

GCC = """\
In file included from src/a.c:9:
src/b.c: In function 'blur':
src/b.c:12:7: warning: unused variable 'row12' [-Wunused-variable]
   12 |   int row12;
src/b.c: At top level:
src/b.c: In function 'turn__source':
src/b.c:30:1: warning: unused parameter 'turn' [-Wunused-parameter]
src/b.c: At top level:
src/b.c:40:1: warning: 'help__source' defined but not used [-Wunused-function]
src/b.c:41:9: note: declared here
"""


def test_a_warning_is_known_by_function_kind_and_text_not_line() -> None:
    assert parse_warnings(GCC) == {
        ComparableWarning(file="src/b.c", function="blur", kind="-Wunused-variable", text="unused variable 'row12'"),
        ComparableWarning(file="src/b.c", function="turn", kind="-Wunused-parameter", text="unused parameter 'turn'"),
        ComparableWarning(file="src/b.c", function="", kind="-Wunused-function", text="'help' defined but not used"),
    }
    moved = GCC.replace("src/b.c:12:", "src/b.c:99:").replace("__source", "")
    assert parse_warnings(moved) == parse_warnings(GCC)

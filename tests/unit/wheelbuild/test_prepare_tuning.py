"""A tuning rule applies to the code that it names, and to no other."""

from fastinstall.model.recipe import Tuning
from fastinstall.wheelbuild.prepare import apply_tuning_rule

SOURCE = """#include <math.h>

static double
remainder_of(double x) {
    return fmod(x, 1.0);
}

/* what follows is not tuned */
double
other(double x) {
    return fmod(x, 2.0);
}
"""


def rule(**values: tuple[str, ...]) -> Tuning:
    return Tuning(file="a.c", reason="measured", **values)


def test_options_without_functions_stand_before_the_file() -> None:
    assert apply_tuning_rule(SOURCE, rule(options=("O2", "no-tree-vectorize"))) == (
        f'#pragma GCC optimize ("O2", "no-tree-vectorize")\n{SOURCE}'
    )


def test_options_of_a_function_end_behind_it() -> None:
    lines = (apply_tuning_rule(SOURCE, rule(options=("O2",), functions=("remainder_of",))) or "").splitlines()
    start = lines.index("static double")
    assert lines[start - 2 : start] == ["#pragma GCC push_options", '#pragma GCC optimize ("O2")']
    assert lines[start + 4] == "#pragma GCC pop_options"
    code = [line for line in lines if line and not line.startswith("#pragma")]
    assert code == [line for line in SOURCE.splitlines() if line]


def test_a_macro_is_defined_for_its_function_only() -> None:
    macro = "fmod(x, y) ((y) == 1.0 ? (x) - trunc(x) : fmod(x, y))"
    lines = (apply_tuning_rule(SOURCE, rule(macros=(macro,), functions=("remainder_of",))) or "").splitlines()
    defined, ended = lines.index(f"#define {macro}"), lines.index("#undef fmod")
    assert lines[defined + 1 : ended] == SOURCE.splitlines()[2:6]
    assert not any(line.startswith("#pragma") for line in lines)


def test_a_function_that_is_not_there_is_told() -> None:
    assert apply_tuning_rule(SOURCE, rule(options=("O2",), functions=("remainder_of", "gone"))) is None

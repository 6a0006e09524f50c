import pytest

from fastinstall.proof.cases import operation_of
from fastinstall.proof.judge import EQUAL, TOLERANCES, tolerance_of
from fastinstall.proof.matrix_cases import matrix_cases


def test_only_tables_of_wide_values_may_differ_over_three_steps() -> None:
    largest = {name: tolerance.largest for name, tolerance in TOLERANCES.items()}
    assert largest.pop("colour-table/wide") == 4
    assert all(0 < bound <= 3 for bound in largest.values())


def test_every_bound_has_a_reason_and_an_operation_that_exists() -> None:
    operations = {operation_of(case) for case in matrix_cases(sizes=((5, 5),))}
    assert {operation_of(name) for name in TOLERANCES} <= operations
    assert all("measured" in tolerance.reason for tolerance in TOLERANCES.values())


@pytest.mark.parametrize(
    "case",
    ["transpose/RGB/17x13/1", "box-blur/RGB/17x13/3:0", "split/RGBA/5x5/", "chops/L/5x5/add", "decode-jpeg/rgb/whole"],
)
def test_results_have_to_be_equal_where_nothing_is_stated(case: str) -> None:
    assert tolerance_of(case) is EQUAL
    assert (EQUAL.largest, EQUAL.bias) == (0, 0)


def test_a_parameter_of_its_own_comes_before_the_operation() -> None:
    assert tolerance_of("reduce/RGB/17x13/1:3").bias > tolerance_of("reduce/RGB/17x13/2").bias
    assert tolerance_of("colour-table/RGB/17x13/2,3,RGB").bias > tolerance_of("colour-table/RGB/17x13/17,3,RGB").bias


def test_a_lost_half_step_is_allowed_only_if_the_reason_says_so() -> None:
    assert {name for name, tolerance in TOLERANCES.items() if tolerance.bias >= 0.4} == {
        "reduce/1:3",
        "colour-table/2",
    }

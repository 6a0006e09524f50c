from fastinstall.proof.cases import operation_of, pixels_of
from fastinstall.proof.matrix_cases import FEW_SIZES, MODES, matrix_cases


def test_every_case_has_a_name_of_its_own() -> None:
    cases = matrix_cases()
    assert len(set(cases)) == len(cases)
    assert all(len(case.split("/")) == 4 for case in cases)


def test_single_pixels_single_axes_and_16_bits_are_there_however_little_is_tried() -> None:
    cases = set(matrix_cases(sizes=FEW_SIZES))
    assert {
        "box-blur/L/1x1/0.5",
        "box-blur/RGB/35x13/3:0",
        "gaussian-blur/RGBA/35x13/0:3",
        "filter-3x3/I;16/5x4/smooth,,0",
        "filter-5x5/I;16B/35x13/mean,,0",
        "reduce/RGB/35x13/1:3",
    } <= cases


def test_every_mode_is_converted_to_every_other_that_the_core_converts() -> None:
    pairs = {tuple(case.split("/")[1::2]) for case in matrix_cases(sizes=((1, 1),)) if case.startswith("convert/")}
    core = [mode for mode in MODES if mode != "LAB"]
    assert pairs == {(source, target) for source in core for target in core} | {("LAB", "LAB")}


def test_a_case_tells_its_operation_and_how_much_it_works_on() -> None:
    assert operation_of("resize/RGB/17x13/lanczos,3x2") == "resize"
    assert pixels_of("resize/RGB/17x13/lanczos,3x2") == 221
    assert pixels_of("decode-png/rgb/cut:500") == 0

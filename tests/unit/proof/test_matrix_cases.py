from fastinstall.proof.cases import operation_of, pixels_of
from fastinstall.proof.matrix_cases import FEW_SIZES, MODES, PILLOW_13, matrix_cases


def test_every_case_has_a_name_of_its_own() -> None:
    cases = matrix_cases()
    assert len(set(cases)) == len(cases)
    assert all(len(case.split("/")) == 4 for case in cases)


def test_few_sizes_keep_single_pixels_single_axes_and_16_bits() -> None:
    cases = set(matrix_cases(sizes=FEW_SIZES))
    assert {
        "box-blur/L/1x1/0.5",
        "box-blur/RGB/35x13/3:0",
        "gaussian-blur/RGBA/35x13/0:3",
        "filter-3x3/I;16/5x4/smooth,,0",
        "filter-5x5/I;16B/35x13/mean,,0",
        "reduce/RGB/35x13/1:3",
    } <= cases


def test_every_mode_pair_that_the_core_converts_is_converted() -> None:
    cases = (case.split("/") for case in matrix_cases(sizes=((1, 1),)))
    pairs = {(mode, target) for operation, mode, size, target in cases if (operation, size) == ("convert", "1x1")}
    core = [mode for mode in MODES if mode != "LAB"]
    assert pairs == {(source, target) for source in core for target in core} | {("LAB", "LAB")}


def test_a_case_tells_its_operation_and_how_much_it_works_on() -> None:
    assert operation_of("resize/RGB/17x13/lanczos,3x2") == "resize"
    assert pixels_of("resize/RGB/17x13/lanczos,3x2") == 221
    assert pixels_of("decode-png/rgb/cut:500") == 0


def test_another_pillow_has_cases_of_its_own_members() -> None:
    members = {**PILLOW_13, "Resampling": ("nearest", "mks2030"), "Quantize": ("libimagequant",), "MODES": ("L", "XYZ")}
    cases = matrix_cases(sizes=((5, 4),), members=members)
    assert {case.split("/")[3].partition(",")[0] for case in cases if case.startswith("resize/L/5x4/")} == {
        "nearest",
        "mks2030",
    }
    assert "split/XYZ/5x4/" in cases
    assert not [case for case in cases if case.startswith("quantize/")]


def test_refused_arguments_are_cases() -> None:
    assert {
        "resize/RGB/70x40/lanczos,20x30,0:nan:70:40",
        "reduce/L/70x40/core=reduce:(2;2);(5;5;5;9)",
        "box-blur/RGBA/70x40/nan",
        "median/L/70x40/core=rankfilter:3;9",
    } <= set(matrix_cases())


def test_what_earlier_versions_die_of_is_no_case_of_theirs() -> None:
    cases = set(matrix_cases(members={**PILLOW_13, "VERSION": ("12.3.0",)}))
    assert "box-blur/RGBA/70x40/nan" not in cases
    assert "box-blur/RGBA/70x40/-1" in cases

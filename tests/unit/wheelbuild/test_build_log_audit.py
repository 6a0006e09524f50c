"""What the log of a build shows: wrong compile lines, missing kernels, and the summary of Pillow's setup.py."""

import pytest
from support.suite.golden import Golden

from fastinstall.wheelbuild.build_log import audit_compile_lines, parse_compiled_file, parse_setup_summary

CFLAGS = ("-O3", "-fwrapv", "-march=x86-64-v3")


GIVEN = " ".join(CFLAGS)


def _line(flags: str, file: str = "src/libImaging/Resample.c") -> str:
    return f'  gcc {flags} -fPIC -DPILLOW_VERSION=\\"12.1.1\\" -I/usr/include -c {file} -o build/temp/{file}.o -msse4'


def test_a_right_build_passes_the_audit() -> None:
    lines = [
        _line(GIVEN),
        _line(GIVEN, "src/_imaging.c"),
        f"  gcc -shared {GIVEN} build/a.o -o _imaging.so",
        "running build_ext",
    ]
    assert audit_compile_lines(lines, CFLAGS) == ()


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ("-fwrapv -march=x86-64-v3", "compiled without optimisation (no -O flag)"),
        (f"{GIVEN} -O0", "compiled without optimisation (-O0): src/libImaging/Resample.c"),
        (f"{GIVEN} -Os", "compiled without optimisation (-Os)"),
        ("-O3 -fwrapv", "-march=x86-64-v3 did not reach the compiler: src/libImaging/Resample.c"),
        ("-O3 -march=x86-64-v3", "-fwrapv did not reach the compiler"),
        (f"{GIVEN} -march=x86-64", "-march=x86-64-v3 is overridden by -march=x86-64"),
    ],
)
def test_a_wrong_compile_line_is_named(flags: str, problem: str) -> None:
    problems = audit_compile_lines([_line(GIVEN, "src/_imaging.c"), _line(flags)], CFLAGS)
    assert any(problem in each for each in problems), problems


def test_one_slow_file_among_many_is_named() -> None:
    lines = [_line(GIVEN, f"src/{name}.c") for name in "abcd"] + [_line(GIVEN), _line(f"{GIVEN} -O1", "src/slow.c")]
    assert audit_compile_lines(lines, CFLAGS) == ("compiled without optimisation (-O1): src/slow.c",)


def test_a_log_without_the_kernels_is_a_problem() -> None:
    assert audit_compile_lines([_line(GIVEN, "src/_imaging.c")], CFLAGS) == ("Resample.c was not compiled",)


def test_a_log_without_compile_lines_is_a_problem(golden: Golden) -> None:
    (problem,) = audit_compile_lines(["Successfully built pillow-simd"], CFLAGS)
    golden(problem)


def test_compile_lines_are_told_from_others() -> None:
    assert parse_compiled_file(_line(GIVEN)) == "src/libImaging/Resample.c"
    assert parse_compiled_file("gcc -shared a.o -o b.so") is None
    assert parse_compiled_file("python -c 'print(1)'") is None
    assert parse_compiled_file("it's here: gcc -c a.c") == "a.c"


def test_the_setup_summary_is_read() -> None:
    output = """
      --------------------------------------------------------------------
      PIL SETUP SUMMARY
      --------------------------------------------------------------------
      version      Pillow 12.1.1.post0
      --- JPEG support available
      *** OPENJPEG (JPEG2000) support not available
      --- ZLIB (PNG/ZIP) support available
      --- RAQM (Text shaping) support available (bundled, FriBiDi shim)
      *** LIBIMAGEQUANT support not available
    """
    assert parse_setup_summary(output) == {
        "JPEG": "",
        "OPENJPEG (JPEG2000)": None,
        "ZLIB (PNG/ZIP)": "",
        "RAQM (Text shaping)": "bundled, FriBiDi shim",
        "LIBIMAGEQUANT": None,
    }


def test_an_output_without_a_summary_gives_nothing() -> None:
    assert parse_setup_summary("building 'PIL._imaging' extension") == {}

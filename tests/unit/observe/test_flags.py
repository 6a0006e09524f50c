from pathlib import Path

import pytest

from fastinstall.compilers.flags import compile_flags, list_probed_flags
from fastinstall.core.errors import RefusedError
from fastinstall.model.recipe_documents import parse_recipe
from fastinstall.wheelbuild.log_audit import audit_compile_lines, parse_compiled_file, parse_setup_summary

FILE = Path(__file__).parents[2] / "cases" / "recipes" / "fork.toml"
RECIPE = parse_recipe(FILE.read_text(encoding="utf-8"), FILE)


V4, V3, V2 = RECIPE.levels
CFLAGS = ("-O3", "-fwrapv", "-march=x86-64-v3")
GIVEN = " ".join(CFLAGS)


def _line(flags: str, file: str = "src/libImaging/Resample.c") -> str:
    return f'  gcc {flags} -fPIC -DPILLOW_VERSION=\\"12.1.1\\" -I/usr/include -c {file} -o build/temp/{file}.o -msse4'


def test_the_flags_of_a_level_follow_full_optimisation() -> None:
    cflags, ldflags = compile_flags(RECIPE, V3, ["-march=x86-64-v3", "-Wl,-z,x86-64-v3", "-mavx2", "-mfma"])
    assert cflags == ("-O3", "-fwrapv", "-march=x86-64-v3")
    assert ldflags == ("-Wl,-z,x86-64-v3",)


def test_an_older_compiler_gets_the_fallback_and_no_note() -> None:
    cflags, ldflags = compile_flags(RECIPE, V3, ["-mavx2", "-mfma"])
    assert cflags == ("-O3", "-fwrapv", "-mavx2", "-mfma")
    assert ldflags == ()


def test_switches_are_recorded_where_the_compiler_can() -> None:
    cflags, _ = compile_flags(RECIPE, V3, ["-march=x86-64-v3", "-frecord-gcc-switches"])
    assert cflags[-1] == "-frecord-gcc-switches"


def test_half_a_fallback_is_refused() -> None:
    with pytest.raises(RefusedError, match="accepts neither -march=x86-64-v3 nor -mavx2 -mfma"):
        compile_flags(RECIPE, V3, ["-mavx2"])


def test_a_level_without_a_fallback_is_refused_when_its_flags_are() -> None:
    with pytest.raises(RefusedError, match="does not accept -march=x86-64-v4"):
        compile_flags(RECIPE, V4, ["-mavx2", "-mfma"])


def test_a_compiler_that_is_too_old_is_named_with_the_flag() -> None:
    with pytest.raises(RefusedError, match=r"the C compiler \(gcc 4\.8\.5\) does not accept -march=x86-64-v4"):
        compile_flags(RECIPE, V4, [], compiler="gcc 4.8.5")


def test_every_flag_of_every_level_is_to_be_probed_once() -> None:
    probed = list_probed_flags(RECIPE)
    assert len(probed) == len(set(probed))
    assert {*V4.cflags, *V3.cflags, *V3.fallback, *V3.ldflags, *V2.cflags} <= set(probed)


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


def test_a_log_without_compile_lines_is_a_problem() -> None:
    assert audit_compile_lines(["Successfully built pillow-simd"], CFLAGS) == (
        "cannot audit the flags: the log has no compile line",
    )


def test_compile_lines_are_told_from_others() -> None:
    assert parse_compiled_file(_line(GIVEN)) == "src/libImaging/Resample.c"
    assert parse_compiled_file("gcc -shared a.o -o b.so") is None
    assert parse_compiled_file("python -c 'print(1)'") is None
    assert parse_compiled_file("it's here: gcc -c a.c -o a.o") == "a.c"


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

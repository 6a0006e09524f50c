"""Recipes from untrusted authors can shape the code that is built, and cause nothing else."""

from pathlib import Path
from typing import Any

import pytest

from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import DocumentError
from fastinstall.model.recipe_documents import find_spelling_problem, macro_problem, parse_recipe
from fastinstall.observe.recipes import load_recipes

FILE = Path(__file__).parents[2] / "cases" / "recipes" / "fork.toml"
FORK = FILE.read_text(encoding="utf-8")

HARMFUL = [
    *("-fplugin=/tmp/x.so", "-fplugin=x", "-fplugin-arg-x-y", "-specs=x.specs", "--specs=x", "-wrapper", "-B/x", "-B."),
    *("@file", "-include", "-include/etc/shadow", "-imacros", "-I/x", "-I.", "-isystem", "-iquote.", "--sysroot=/x"),
    *("-o", "-ox", "-x", "-xc++", "-save-temps", "-save-temps=obj", "-dumpdir", "-aux-info", "-MF", "-MD", "-MMD"),
    *("-fdump-tree-all", "-fdump-rtl-all=x", "-fprofile-use=/x", "-fprofile-generate", "-fprofile-dir=x"),
    *("-fopt-info=x", "-fstack-usage", "-ftest-coverage", "-fcallgraph-info", "-fsave-optimization-record"),
    *(
        "-fuse-ld=x",
        "-fdiagnostics-format=sarif-file",
        "-fpass-plugin=x",
        "-load",
        "-Xclang",
        "-Xlinker",
        "-Xassembler",
    ),
    *(
        "-mllvm",
        "-mllvm=-load",
        "-Wl,-rpath,/x",
        "-Wa,-a=x",
        "-Wp,-MD,x",
        "-Wl,@x",
        "-T",
        "-Tx",
        "-L/x",
        "-lx",
        "-l:x.so",
    ),
    *("-Dfree=system", "-DX=system", "-Dmalloc(x)=y", "-DNDEBUG=$(id)", "-U_FORTIFY_SOURCE", "-nostdlib", "-static"),
    *(
        "-O3 -g",
        "-O3\n",
        "",
        "-",
        "--",
        "-O9",
        "-fwrapv;id",
        "-march=native -B.",
        "-march=$(id)",
        "-march=`id`",
        "-###",
    ),
    *(
        "-fcompare-debug",
        "-frandom-seed=x",
        "-finstrument-functions",
        "-fsanitize=address",
        "-E",
        "-S",
        "-c",
        "-v",
        "-pg",
    ),
]
HARMLESS = [
    *("-O2", "-O3", "-Ofast", "-DNDEBUG", "-DLEVEL=3", "-fwrapv", "-ffp-contract=off", "-falign-functions=64"),
    *("-fno-semantic-interposition", "-fno-math-errno", "-fno-trapping-math", "-ffast-math", "-funroll-loops"),
    *(
        "-fno-tree-vectorize",
        "-fvisibility=hidden",
        "-flto",
        "-flto=auto",
        "-fomit-frame-pointer",
        "-fPIC",
        "-g",
        "-pipe",
    ),
    *("-march=x86-64-v3", "-march=native", "-mtune=znver4", "-msse4.2", "-mavx2", "-mno-avx512f", "-std=gnu11"),
    *("-mprefer-vector-width=256", "-Wno-unused", "-finline-limit=300", "-fvect-cost-model=cheap"),
]


@pytest.mark.parametrize("flag", HARMFUL)
def test_a_flag_that_runs_reads_or_writes_is_refused_in_a_recipe(flag: str) -> None:
    assert find_spelling_problem("base_cflags[]", flag)
    assert find_spelling_problem("levels[].ldflags[]", flag)


@pytest.mark.parametrize("flag", HARMLESS)
def test_a_flag_that_shapes_the_code_is_one(flag: str) -> None:
    assert find_spelling_problem("base_cflags[]", flag) == ""


@pytest.mark.parametrize("flag", ["-Wl,-z,x86-64-v3", "-Wl,-z,now", "-Wl,--as-needed", "-Wl,-O1", "-flto", "-s"])
def test_a_flag_that_marks_the_binary_is_one(flag: str) -> None:
    assert find_spelling_problem("levels[].ldflags[]", flag) == ""


@pytest.mark.parametrize(
    "flag", ["-Wl,-z,execstack", "-Wl,--dynamic-linker=/x", "-Wl,-rpath,/x", "-Wl,-T,x", "-Wl,-z,now,-lx"]
)
def test_a_flag_that_leads_the_loader_elsewhere_is_none(flag: str) -> None:
    assert find_spelling_problem("levels[].ldflags[]", flag)


@pytest.mark.parametrize("word", ["--zlib-compat", "--static", "--with-x=1.2"])
def test_configure_gets_plain_options(word: str) -> None:
    assert find_spelling_problem("libraries.*.static.configure[]", word) == ""


@pytest.mark.parametrize("word", ["--prefix=/x", "CC=sh", "--with-x=../y", "-n", "--static && ls", "--x=$(id)", "@x"])
def test_configure_gets_options_alone(word: str) -> None:
    assert find_spelling_problem("libraries.*.static.configure[]", word)


@pytest.mark.parametrize(
    "macro",
    [
        *("fmod(x, y) system(x)", "fmod(x, y) (x = y)", 'fmod(x, y) "a"', "fmod(x, y) x; y", "fmod(x, y) { x }"),
        *("fmod(x, y) x #y", "fmod(x, y) x++", "free(x) floor(x)", "ImagingNew(x) floor(x)", "fmod(x, y) z", "fmod x"),
        *(
            "fmod(x, y) (*x)()",
            "fmod(x, y) x(y)",
            "fmod(x, y) __asm__(x)",
            "fmod(x, y) x\ny",
            "fmod(x, y) (x",
            "fmod(x) \\",
        ),
    ],
)
def test_a_macro_only_computes(macro: str) -> None:
    assert macro_problem(macro)


@pytest.mark.parametrize(
    "macro", ["fmod(x, y) ((y) == 1.0 ? (x) - trunc(x) : fmod(x, y))", "fmaxf(x, y) (x < y ? y : x)"]
)
def test_a_macro_that_computes_is_accepted(macro: str) -> None:
    assert macro_problem(macro) == ""


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ('name = "x86-64-v2"', 'name = "../../x"', "levels[2].name"),
        ('name = "x86-64-v2"', 'name = "-v2"', "levels[2].name"),
        ('["libjpeg-dev"]', '["libjpeg-dev-"]', "libraries.jpeg.apt[0]"),
        ('["libjpeg-dev"]', '["-oDpkg::Pre-Invoke=id"]', "libraries.jpeg.apt[0]"),
        ('["libjpeg-dev"]', '["libjpeg-dev=1"]', "libraries.jpeg.apt[0]"),
        ('["libjpeg-dev"]', '["./x.deb"]', "libraries.jpeg.apt[0]"),
        ('["libjpeg-dev"]', '[]\npacman = ["x; id"]', "libraries.jpeg.pacman[0]"),
        ('["libjpeg-dev"]', '[]\nzypper = ["`id`"]', "libraries.jpeg.zypper[0]"),
        ('["libjpeg-dev"]', '[]\napk = ["$(id)"]', "libraries.jpeg.apk[0]"),
        ('"jpeglib.h"', '"**/jpeglib.h"', "libraries.jpeg.header"),
        ('"jpeglib.h"', "'jpeglib.h>\\n#include </etc/passwd'", "libraries.jpeg.header"),
        ('package = "PIL"', 'package = "PIL; import os"', "package"),
        ('symbols = ["ImagingFast"]', 'symbols = ["Imaging Fast"]', "expect.symbols[0]"),
        ('summary = "a fork"', 'summary = "a \\u001b[2Jfork"', "summary"),
        ('summary = "a fork"', 'summary = "a \\u202efork"', "summary"),
    ],
)
def test_a_recipe_that_means_more_is_refused_with_file_and_key(right: str, wrong: str, key: str) -> None:
    assert right in FORK
    with pytest.raises(DocumentError) as refusal:
        parse_recipe(FORK.replace(right, wrong, 1), FILE)
    assert refusal.value.key == key
    assert refusal.value.message.startswith(f"{FILE}: ")


def test_our_own_recipes_say_no_more_than_anybody_may() -> None:
    found: dict[str, Any] = dict(load_recipes((recipes_directory(),)))
    assert {"pillow", "pillow-fast", "pillow-simd"} <= found.keys()

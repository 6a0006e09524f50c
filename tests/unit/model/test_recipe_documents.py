from pathlib import Path

import pytest

from fastinstall.core.errors import DocumentError, ExitCode
from fastinstall.model.advisories import Severity
from fastinstall.model.recipe_documents import parse_advisories, parse_recipe

FILE = Path(__file__).parents[2] / "cases" / "recipes" / "fork.toml"
FORK = FILE.read_text(encoding="utf-8")
RECIPE = parse_recipe(FORK, FILE)


ADVISORIES = """\
schema = 1

[[advisories]]
id = "CVE-1"
severity = "high"
affects = "<13"
summary = "overflow"
source = "notes"
dated = 2026-11-21
"""


def test_a_good_recipe_is_read_whole() -> None:
    recipe = RECIPE
    assert [level.name for level in recipe.levels] == ["x86-64-v4", "x86-64-v3", "x86-64-v2"]
    assert recipe.libraries["jpeg"].apt == ("libjpeg-dev",)
    assert recipe.advisories[0].kernels_only


@pytest.mark.parametrize(
    ("right", "wrong", "key", "problem"),
    [
        ("schema = 1", "schema = 2", "schema", "expected 1, found 2"),
        ('name = "fork"', 'name = "spoon"', "name", "must be the name of the file"),
        ('package = "PIL"', 'package = "PIL"\nshell = "make"', "shell", "unknown key"),
        ('summary = "a fork"\n', "", "summary", "missing"),
        ('base_cflags = ["-O3"', "base_cflags = [3", "base_cflags[0]", "expected a string, found an integer"),
        ('base_cflags = ["-O3"', 'base_cflags = ["-g"', "base_cflags", "must contain -O2 or -O3"),
        ('base_cflags = ["-O3"', 'base_cflags = ["-O3 -g"', "base_cflags[0]", "not one "),
        ('["pillow", "fork"]', '["pillow", "Fork", "fork"]', "replaces[1]", "not a normalised name"),
        ('["pillow", "fork"]', '["pillow"]', "source.pypi", "must also be in replaces"),
        ('["-O3", "-fwrapv"]', '["-O3"]\nadvisories_from = ["../x"]', "advisories_from[0]", "not a normalised name"),
        ('label = "simd"', 'label = "SIMD-1"', "source.label", "not a local version label"),
        ('versions = ">=10"', 'versions = "ten"', "source.versions", "not a version specifier"),
        ('versions = ">=10"', 'versions = ">=10"\npythons = "three"', "source.pythons", "not a version specifier"),
        ('name = "x86-64-v2"', 'name = "x86-64-v3"', "levels[2].name", "twice"),
        ('name = "x86-64-v2"', 'name = "v2"\narchitecture = "s390"', "levels[2].architecture", "x86_64, aarch64"),
        ('["-Wl,-z,x86-64-v3"]', '["-Wl,$(id)"]', "levels[1].ldflags[0]", "not one "),
        ('option = "jpeg"', 'option = "jpg"', "libraries.jpeg.option", "not one of jpeg, zlib"),
        ('"jpeglib.h"', '"/usr/include/jpeglib.h"', "libraries.jpeg.header", "not a header path"),
        ('"jpeglib.h"', '"../jpeglib.h"', "libraries.jpeg.header", "not a header path"),
        ('["libjpeg-dev"]', '["--purge"]', "libraries.jpeg.apt[0]", "not the name of a package"),
        (
            'symbols = ["ImagingFast"]',
            "symbols = []",
            "expect.symbols",
            "nothing would distinguish fork from pillow",
        ),
        ('affects = "==12.1.1"', 'affects = "12.1.1 and older"', "advisories[0].affects", "not a version specifier"),
        ('severity = "unrated"', 'severity = "bad"', "advisories[0].severity", "not one of low"),
        ("dated = 2026-11-21", 'dated = "today"', "advisories[0].dated", "expected a date"),
    ],
)
def test_a_wrong_recipe_is_refused_with_file_and_key(right: str, wrong: str, key: str, problem: str) -> None:
    assert right in FORK
    with pytest.raises(DocumentError) as caught:
        parse_recipe(FORK.replace(right, wrong, 1), FILE)
    assert caught.value.key == key
    assert problem in caught.value.problem
    assert caught.value.message.startswith(f"{FILE}: {key}: ")
    assert caught.value.exit_code is ExitCode.USAGE


def test_broken_toml_is_refused_with_its_line() -> None:
    with pytest.raises(DocumentError, match="line 2") as caught:
        parse_recipe("schema = 1\nname = \n", FILE)
    assert caught.value.file == FILE


def test_a_recipe_without_an_automatic_level_is_refused() -> None:
    manual = FORK.replace("automatic = false\n", "").replace("requires =", "automatic = false\nrequires =")
    with pytest.raises(DocumentError, match="levels: none is automatic"):
        parse_recipe(manual, FILE)


def test_a_source_build_of_what_it_replaces_needs_no_symbols() -> None:
    stock = FORK.replace('pypi = "fork"', 'pypi = "pillow"').replace('symbols = ["ImagingFast"]', "symbols = []")
    assert parse_recipe(stock, FILE).expect.symbols == ()


def test_shared_advisories_are_read() -> None:
    (advisory,) = parse_advisories(ADVISORIES, "pillow.toml").advisories
    assert (advisory.id, advisory.severity) == ("CVE-1", Severity.HIGH)


def test_an_advisory_that_stands_there_twice_is_refused() -> None:
    second = ADVISORIES.removeprefix("schema = 1\n")
    with pytest.raises(DocumentError, match="twice") as caught:
        parse_advisories(ADVISORIES + second, "pillow.toml")
    assert (caught.value.file, caught.value.key) == ("pillow.toml", "advisories[1].id")


KERNELS = """
[[kernels]]
name = "turn"
file = "src/Turn.c"
functions = ["ImagingTranspose"]
operations = ["transpose"]
reason = "faster"

[[kernels]]
name = "blur"
file = "src/Blur.c"
functions = ["ImagingBlur"]
operations = ["blur"]
reason = "faster"

[[tuning]]
file = "src/Geometry.c"
options = ["O2", "no-tree-vectorize"]
reason = "measured"

[libraries.zlib.static]
pypi = "zlib-ng"
directory = "zlib-ng"
configure = ["--zlib-compat", "--static"]
archive = "libz.a"
headers = ["."]
reason = "faster"

[libraries.zlib]
header = "zlib.h"
link = "z"
"""
WITH_KERNELS = FORK.replace('pypi = "fork"', 'pypi = "pillow"') + KERNELS


def test_a_recipe_with_kernels_is_read_whole() -> None:
    recipe = parse_recipe(WITH_KERNELS, FILE)
    assert [kernel.name for kernel in recipe.kernels] == ["turn", "blur"]
    assert recipe.tuning[0].options == ("O2", "no-tree-vectorize")


def test_only_a_build_of_the_official_wheels_source_is_exact() -> None:
    assert (parse_recipe(WITH_KERNELS, FILE).is_exact, parse_recipe(FORK, FILE).is_exact) == (True, False)


@pytest.mark.parametrize(
    ("right", "wrong", "key", "problem"),
    [
        ('name = "turn"', 'name = "../turn"', "kernels[0].name", "not a normalised name"),
        ('name = "blur"', 'name = "turn"', "kernels[1].name", "twice"),
        ('"src/Turn.c"', '"/src/Turn.c"', "kernels[0].file", "not relative"),
        ('["ImagingTranspose"]', "[]", "kernels[0].functions", "empty"),
        ('["ImagingTranspose"]', '["Imaging.*"]', "kernels[0].functions[0]", "not a name in C"),
        ('["transpose"]', "[]", "kernels[0].operations", "empty"),
        ('["transpose"]', '["transpose"]\nversions = "12.3"', "kernels[0].versions", "not a version specifier"),
        ('"src/Geometry.c"', '""', "tuning[0].file", "not relative"),
        ('"O2"', "'O2\")'", "tuning[0].options[0]", "not an option of GCC's optimize pragma"),
        ('directory = "zlib-ng"', 'directory = ".."', "libraries.zlib.static.directory", "not relative"),
        ('"libz.a"', '"/usr/lib/libz.a"', "libraries.zlib.static.archive", "not relative"),
        ('headers = ["."]', "headers = []", "libraries.zlib.static.headers", "empty"),
        ('"--static"', '"--static && ls"', "libraries.zlib.static.configure[1]", "not one option"),
        ('["ImagingFast"]', "[]", "expect.symbols", "nothing would distinguish a build with the kernels from pillow"),
    ],
)
def test_bad_kernels_tuning_and_statics_are_refused_with_the_key(
    right: str, wrong: str, key: str, problem: str
) -> None:
    assert right in WITH_KERNELS
    with pytest.raises(DocumentError) as caught:
        parse_recipe(WITH_KERNELS.replace(right, wrong, 1), FILE)
    assert (caught.value.key, problem in caught.value.problem) == (key, True), caught.value.problem

"""A kernel that does not compile is left out and named; if Pillow's own code does not compile, nothing changes."""

import json
import re
from zipfile import ZipFile

import pytest
from support.environments.interpreters import running
from support.index.releases import NEWEST
from support.sandbox import ONE_LEVEL, Sandbox, Venv, tree_hash
from support.suite import extent

from fastinstall.core.directories import recipes_directory

pytestmark = pytest.mark.slow
ALL = extent.every_row
FILTER = "src/libImaging/filter.h"
BROKEN_KERNEL = ('functions = ["ImagingFilter"]', 'functions = ["ImagingExpand"]')
"""A change of the recipe that names the wrong function for a kernel, so that its real function is defined twice."""


@pytest.fixture
def venv(sandbox: Sandbox) -> Venv:
    return sandbox.venv(running(), pip=False)


@pytest.mark.skipif(not ALL, reason="two builds of its own and a whole proof: --every-row")
def test_a_kernel_that_does_not_compile_is_left_out_and_reported(sandbox: Sandbox, venv: Venv) -> None:
    variables = sandbox.recipe("lame", BROKEN_KERNEL)
    words = ("--prefix", venv.prefix, "--recipe", "lame", *ONE_LEVEL)
    done = sandbox.cli("setup", "--yes", *words, "--json", env=variables)
    assert done.exit_code == 0, done.text
    (warning,) = (line for line in done.stderr.splitlines() if re.match(rf"warning: {NEWEST} ", line))
    assert FILTER in warning
    assert warning.endswith(" for filter")
    assert done.document["left_out"] == ["filter"]
    assert re.fullmatch(rf"{NEWEST}\+simd\.v2", done.document["version"])

    doctor = sandbox.cli("doctor", "--prefix", venv.prefix, "--json", env=variables)
    assert doctor.exit_code == 0, doctor.text
    (simd,) = (finding for finding in doctor.document["findings"] if finding["check"] == "simd-active")
    assert simd["status"] == "hint", simd
    assert [line for line in simd["evidence"] if line.endswith(": ImagingFilter__source")] != []
    told = json.loads(next(venv.site_packages.glob("pillow-*.dist-info/fastinstall.json")).read_text())
    assert told["left_out"] == ["filter"]
    assert "filter" not in told["kernels"]

    again = sandbox.cli("setup", "--yes", *words, env=variables)
    assert "nothing to do" in again.stdout, again.text


@pytest.mark.parametrize("version", ["12.1.1", "12.3.0"])
def test_the_oldest_pillow_and_the_newest_on_3_10_lose_no_kernel(sandbox: Sandbox, version: str) -> None:
    directory = sandbox.root / "wheels"
    done = sandbox.cli("build", "-o", directory, "--version", version, *ONE_LEVEL)
    assert done.exit_code == 0, done.text
    with ZipFile(next(directory.glob("*.whl"))) as wheel:
        told = json.loads(wheel.read(next(name for name in wheel.namelist() if name.endswith("/fastinstall.json"))))
    assert told.get("left_out", []) == []
    assert {"resize", "split", "premultiply"} <= {*told["kernels"]}


def test_a_fatal_compile_error_is_named_and_changes_nothing(sandbox: Sandbox, venv: Venv) -> None:
    before = tree_hash(venv.prefix)
    variables = _without_way_out(sandbox, from_version="13")
    failed = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--recipe", "broken", *ONE_LEVEL, env=variables)
    assert failed.exit_code == 6, failed.text
    (error,) = (line for line in failed.stderr.splitlines() if line.startswith("error: "))
    assert error.endswith(": src/libImaging/Resample.c")
    (hint,) = (line for line in failed.stderr.splitlines() if "hint: " in line)
    assert "--recipe pillow " in hint
    assert tree_hash(venv.prefix) == before


@pytest.mark.skipif(not ALL, reason="compiles for a refusal that test_e2e_setup shows: --every-row")
def test_falling_back_to_an_older_version_needs_advisory_consent(sandbox: Sandbox, venv: Venv) -> None:
    before = tree_hash(venv.prefix)
    variables = _without_way_out(sandbox, from_version="12.3")
    refused = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--recipe", "broken", *ONE_LEVEL, env=variables)
    assert refused.exit_code == 5, refused.text
    assert re.search(rf"\nwarning: {NEWEST} with our kernels", refused.stderr)
    assert re.search(rf": {NEWEST} is not installed", refused.stderr)
    assert "\nerror: 2 critical advisories affect" in refused.stderr
    assert tree_hash(venv.prefix) == before


def _without_way_out(sandbox: Sandbox, *, from_version: str) -> dict[str, str]:
    """Create a recipe without the kernel for Resample.c, and a compiler that still rejects that file.

    Returns:
        Environment variables that select the recipe and the compiler.
    """
    text = (recipes_directory() / "pillow-fast.toml").read_text(encoding="utf-8")
    resize = text[text.index("[[kernels]]") : text.index('[[kernels]]\nname = "reduce"')]
    symbols = ('  "ImagingResampleInner__source",\n', "")
    covered = ('versions = ">=12.1.1" # the', f'versions = ">={from_version}" # the')
    compiler = sandbox.compiler("echo 'src/libImaging/Resample.c:7:1: error: refused' >&2; exit 1")
    return {"CC": str(compiler), **sandbox.plain_recipe("broken", covered, (resize, ""), symbols)}

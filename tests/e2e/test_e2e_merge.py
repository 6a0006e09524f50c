"""A merge that does not work out: what does not compile is left out by name, or nothing is changed at all."""

import json

import extent
import pytest
from interpreters import running
from sandbox import ONE_LEVEL, Sandbox, Venv, tree_hash

from fastinstall.core.surroundings import recipes_directory

pytestmark = pytest.mark.slow
ALL = extent.every_row
FILTER = "src/libImaging/Filter.c"
BROKEN_GUARD = (
    'condition = "im->type == IMAGING_TYPE_UINT8 && (xsize == 5 || !im->image8)"',
    'condition = "im->no_such_member && xsize == 5"',
)
"""A guard that reads like one, and that no compiler takes."""


@pytest.fixture
def venv(sandbox: Sandbox) -> Venv:
    return sandbox.venv(running(), pip=False)


@pytest.mark.skipif(not ALL, reason="two builds of its own and a whole proof: --every-row")
def test_a_part_that_does_not_compile_is_left_out_and_everybody_says_so(sandbox: Sandbox, venv: Venv) -> None:
    variables = sandbox.recipe("lame", BROKEN_GUARD)
    words = ("--prefix", venv.prefix, "--recipe", "lame", *ONE_LEVEL)
    done = sandbox.cli("setup", "--yes", *words, "--json", env=variables)
    assert done.exit_code == 0, done.text
    told = f"the merged source of 13.0.0 does not compile: {FILTER}; built again without the kernels for filter"
    assert f"warning: {told}" in done.stderr
    assert "no_such_member" in done.stderr
    assert done.document["left_out"] == ["filter"]
    assert done.document["version"] == "13.0.0+simd.v2"

    doctor = sandbox.cli("doctor", "--prefix", venv.prefix, "--json", env=variables)
    assert doctor.exit_code == 0, doctor.text
    (simd,) = (finding for finding in doctor.document["findings"] if finding["check"] == "simd-active")
    assert simd["status"] == "hint", simd
    assert "not built by the setup: ImagingFilter3x3f_4u8" in simd["evidence"]
    explained = json.loads(next(venv.site_packages.glob("pillow-*.dist-info/fastinstall-merge.json")).read_text())
    left_out = {each["what"] for each in explained["not_accelerated"]}
    assert any("filter" in what for what in left_out), left_out
    assert {item["origin"] for item in explained["items"] if item["file"] == FILTER} == {"reverted"}

    again = sandbox.cli("setup", "--yes", *words, env=variables)
    assert "nothing to do" in again.stdout, again.text


def test_where_nothing_can_be_left_out_what_does_not_compile_is_named_and_nothing_changed(
    sandbox: Sandbox, venv: Venv
) -> None:
    before = tree_hash(venv.prefix)
    variables = _without_parts(sandbox, from_version="13")
    failed = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--recipe", "broken", *ONE_LEVEL, env=variables)
    assert failed.exit_code == 6, failed.text
    assert f"\nerror: the merged source of 13.0.0 does not compile: {FILTER}\n" in failed.stderr
    assert "hint: it was not installed; --recipe pillow builds today's Pillow without the kernels" in failed.stderr
    assert tree_hash(venv.prefix) == before


@pytest.mark.skipif(not ALL, reason="compiles for a refusal that test_e2e_setup shows: --every-row")
def test_the_version_before_is_planned_and_said_so_and_its_vulnerabilities_need_consent(
    sandbox: Sandbox, venv: Venv
) -> None:
    before = tree_hash(venv.prefix)
    variables = _without_parts(sandbox, from_version="12.3")
    refused = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--recipe", "broken", *ONE_LEVEL, env=variables)
    assert refused.exit_code == 5, refused.text
    assert f"warning: the merged source of 13.0.0 does not compile: {FILTER}: 13.0.0 is not installed" in refused.stderr
    assert "looking for the newest version before it" in refused.stderr
    assert "error: 2 critical advisories affect Pillow 12.3.0" in refused.stderr
    assert tree_hash(venv.prefix) == before


def _without_parts(sandbox: Sandbox, *, from_version: str) -> dict[str, str]:
    """A recipe whose merge does not compile and knows no way to do without some kernels.

    Returns:
        Variables that lead to it, and to a compiler that finds out soon.
    """
    text = (recipes_directory() / "pillow-fast.toml").read_text(encoding="utf-8")
    parts = text[text.index("[[kernels.parts]]") : text.index("\n[bench]\n")]
    covered = ('versions = ">=12.1.1" # the', f'versions = ">={from_version}" # the')
    return {"CC": str(sandbox.compiler()), **sandbox.plain_recipe("broken", BROKEN_GUARD, covered, (parts, ""))}

"""Another distribution beside fastinstall: its check and its recipe, through the program itself."""

import re
from pathlib import Path

import pytest
from support.elf.extension_package import LICENCES, make_check, make_distribution
from support.environments.interpreters import running
from support.environments.site_packages import PIL_FILES, install
from support.sandbox import STOCK, Sandbox

import fastinstall
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import ExitCode

BROKEN = "def check(context):\n    raise RuntimeError('the licence server is away')\n"
POINTS = {
    "fastinstall.checks": {"licences": "acme.licences", "servers": "acme.servers", "swapped": "acme.swapped"},
    "fastinstall.recipes": {"acme": "acme.recipes"},
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory with one distribution that brings something of each kind, a broken check and names of ours."""
    stock = (recipes_directory() / "pillow.toml").read_text(encoding="utf-8")
    files = {
        "acme/__init__.py": "",
        "acme/licences.py": LICENCES,
        "acme/servers.py": BROKEN,
        "acme/swapped.py": BROKEN,
        "acme/recipes/acme-pillow.toml": stock.replace('name = "pillow"\n', 'name = "acme-pillow"\n'),
        "acme/recipes/pillow.toml": stock,
    }
    return make_distribution(tmp_path / "site", "acme-images", files=files, points=POINTS)


@pytest.fixture
def beside(site: Path) -> dict[str, str | None]:
    """Variables that put it beside fastinstall."""
    return {"PYTHONPATH": f"{site}:{Path(fastinstall.__file__).parents[1]}"}


def test_doctor_runs_its_checks_and_survives_them(sandbox: Sandbox, beside: dict[str, str | None]) -> None:
    target = sandbox.venv(running(), tool="uv", pip=False)
    install(target.site_packages, "pillow", "13.0.0", PIL_FILES)
    asked = ("doctor", "--json", "--prefix", target.prefix)
    told = sandbox.cli(*asked, env=beside)
    assert told.exit_code == ExitCode.FINDINGS, told.text
    findings = {finding["check"]: finding for finding in told.document["findings"]}
    assert findings["licences"]["status"] == "hint"
    assert str(target.prefix) in findings["licences"]["message"]
    assert findings["servers"]["status"] == "crashed"
    failed = findings["servers"]["message"]
    assert "acme-images 1.0" in failed
    assert "RuntimeError: the licence server" in failed
    assert findings["swapped"]["status"] != "crashed"
    assert "'swapped' of acme-images 1.0" in findings["extensions"]["message"]

    quick = {finding["check"] for finding in sandbox.cli(*asked, "--quick", env=beside).document["findings"]}
    assert quick == findings.keys() - {"licences", "servers", "extensions"}
    named = sandbox.cli(*asked, "--quick", "licences", env=beside)
    assert [finding["check"] for finding in named.document["findings"]] == ["licences"]
    listed = sandbox.cli("doctor", "--list", env=beside).stdout
    assert re.search(r"^ *licences ", listed, re.MULTILINE)


def test_its_recipe_is_one_of_the_recipes(sandbox: Sandbox, beside: dict[str, str | None]) -> None:
    told = sandbox.cli("recipes", "list", env=beside)
    assert re.match(r"acme-pillow +stock Pillow", told.stdout)
    assert "'pillow' of acme-images 1.0" in told.stderr
    assert sandbox.cli("recipes", "check", "acme-pillow", env=beside).exit_code == ExitCode.OK
    assert sandbox.cli("recipes", "check", "acme-pillow").exit_code == ExitCode.USAGE


def test_a_setup_is_undone_where_its_check_says_so(sandbox: Sandbox, tmp_path: Path) -> None:
    site = make_check(tmp_path / "site", LICENCES.replace("Status.HINT", "Status.ERROR"))
    beside = {"PYTHONPATH": f"{site}:{Path(fastinstall.__file__).parents[1]}"}
    target = sandbox.venv(running(), tool="uv", pip=False)
    before = sorted(path.name for path in target.site_packages.iterdir())
    told = sandbox.cli("setup", *STOCK, "--no-guard", "--yes", "--prefix", target.prefix, env=beside)
    assert told.exit_code == ExitCode.FAILED_UNCHANGED, told.text
    (found,) = [line for line in told.stderr.splitlines() if "licences: " in line]
    assert str(target.prefix) in found
    assert sorted(path.name for path in target.site_packages.iterdir()) == before

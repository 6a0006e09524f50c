"""Editable Pillows installed by a real pip, and leftovers of interrupted removals, are recognised as such."""

from pathlib import Path

from support.environments.interpreters import running
from support.environments.verdicts import examined
from support.sandbox import Sandbox

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
[project]
name = "pillow"
version = "12.1.1"
[tool.setuptools.packages.find]
where = ["src"]
"""


def _make_checkout(directory: Path) -> Path:
    package = directory / "src/PIL"
    package.mkdir(parents=True)
    (directory / "pyproject.toml").write_text(PROJECT)
    for name, text in (("__init__", ""), ("_version", '__version__ = "12.1.1"\n'), ("Image", "")):
        (package / f"{name}.py").write_text(text)
    return directory


def test_an_editable_pillow_is_named_and_its_removal_announced(sandbox: Sandbox) -> None:
    venv, checkout = sandbox.venv(running()), _make_checkout(sandbox.root / "my pillow")
    assert venv.pip("install", "--quiet", "--editable", str(checkout)).exit_code == 0
    for options in ((), ("--quick",)):
        findings = examined(sandbox, "pillow-owner", "pillow-importable", *options, "--prefix", venv.prefix)
        assert "error" not in {each["status"] for each in findings}
        (owner,) = (each for each in findings if each["check"] == "pillow-owner")
        assert (owner["status"], owner["message"]) == (
            "hint",
            f"pillow 12.1.1 is an editable installation of {checkout}",
        )
    plan = sandbox.cli("plan", "--json", "--prefix", venv.prefix)
    (warning,) = (each for each in plan.document["warnings"] if "editable" in each)
    assert str(checkout) in warning
    assert not [each for each in plan.document["warnings"] if each.startswith("programs import")]


def test_an_empty_metadata_directory_is_a_left_over_and_no_owner(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    assert venv.pip("install", "--quiet", "--only-binary", ":all:", "pillow==13.0.0").exit_code == 0
    (venv.site_packages / "pillow-11.0.0.dist-info").mkdir()
    findings = examined(sandbox, "--quick", "pillow-owner", "interrupted", "--prefix", venv.prefix)
    assert {each["check"]: each["status"] for each in findings} == {"pillow-owner": "ok", "interrupted": "error"}
    (left,) = (each for each in findings if each["check"] == "interrupted")
    assert "pillow-11.0.0.dist-info" in left["message"]

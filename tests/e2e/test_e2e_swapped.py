"""Another tool replaces ours: doctor names it, the guard warns once, and the repair comes from the cache."""

from collections.abc import Callable
from typing import Any

import pytest
from interpreters import running
from sandbox import UNREACHABLE, Result, Sandbox, Venv, tree_hash

from fastinstall.system.files import sha256

WARNING = "fastinstall: "
SWAPS: dict[str, Callable[[Venv], Result]] = {
    "pip": lambda venv: venv.pip("install", "--force-reinstall", "pillow"),
    "uv": lambda venv: venv.uv("install", "--reinstall", "pillow"),
}


@pytest.fixture
def venv(sandbox: Sandbox) -> Venv:
    made = sandbox.venv(running())
    result = sandbox.cli("setup", "--yes", "--prefix", made.prefix)
    assert result.exit_code == 0, result.text
    return made


@pytest.mark.parametrize("tool", SWAPS)
def test_a_swap_is_named_warned_about_once_and_repaired_offline(sandbox: Sandbox, venv: Venv, tool: str) -> None:
    core = sha256(venv.core)
    swap = SWAPS[tool](venv)
    assert swap.exit_code == 0, swap.text
    told = swap if tool == "pip" else venv.run("-c", "import PIL.Image, PIL.ImageDraw")
    assert _warnings(told) == 1, told.stderr
    assert f"by {tool}" in told.stderr

    report = sandbox.cli("doctor", "--prefix", venv.prefix, "--json")
    assert report.exit_code == 3, report.text
    swapped = _finding(report, "swapped")
    assert swapped["status"] == "error"
    assert tool in swapped["message"]
    assert swapped["remedy"]["command"] == f"fastinstall doctor --fix --prefix {venv.prefix}"

    fixed = sandbox.cli("doctor", "--fix", "--yes", "--prefix", venv.prefix, env=UNREACHABLE)
    assert fixed.exit_code == 0, fixed.text
    assert sha256(venv.core) == core
    assert _warnings(venv.run("-c", "import PIL.Image")) == 0
    assert venv.pip("check").exit_code == 0


def test_everything_is_undone_to_the_byte_behind_a_removal_and_a_repair(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    before = tree_hash(venv.prefix)
    assert sandbox.cli("setup", "--yes", "--prefix", venv.prefix).exit_code == 0
    assert venv.pip("uninstall", "-y", "pillow").exit_code == 0
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 3
    assert sandbox.cli("doctor", "--fix", "--yes", "--prefix", venv.prefix).exit_code == 0
    undone = sandbox.cli("rollback", "--yes", "--to", _oldest(sandbox, venv), "--prefix", venv.prefix)
    assert undone.exit_code == 0, undone.text
    assert tree_hash(venv.prefix) == before


def test_a_rollback_over_what_another_tool_has_put_there_needs_that_risk_allowed(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    before = tree_hash(venv.prefix)
    assert sandbox.cli("setup", "--yes", "--prefix", venv.prefix).exit_code == 0
    assert venv.pip("install", "--force-reinstall", "pillow").exit_code == 0
    swapped = tree_hash(venv.prefix)
    refused = sandbox.cli("rollback", "--yes", "--prefix", venv.prefix)
    assert refused.exit_code == 5, refused.text
    assert "--allow force-remove" in refused.stderr
    assert tree_hash(venv.prefix) == swapped

    assert sandbox.cli("doctor", "--fix", "--yes", "--prefix", venv.prefix).exit_code == 0
    repaired = tree_hash(venv.prefix / "lib")
    words = ("rollback", "--yes", "--to", _oldest(sandbox, venv), "--prefix", venv.prefix)
    halfway = sandbox.cli(*words)
    assert halfway.exit_code == 5, halfway.text
    assert "undone before that: " in halfway.stderr
    assert tree_hash(venv.prefix / "lib") != repaired
    assert sandbox.cli(*words, "--allow", "force-remove").exit_code == 0
    kept = venv.prefix / "share" / "fastinstall" / "kept"
    assert list(kept.glob("*/lib/python3*/site-packages/PIL/Image.py"))
    after = tree_hash(venv.prefix)
    assert {path: value for path, value in after.items() if not path.startswith("share")} == before


def test_pip_uninstall_leaves_our_guard_and_our_records_only(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running())
    before = set(tree_hash(venv.prefix))
    assert sandbox.cli("setup", "--yes", "--prefix", venv.prefix).exit_code == 0
    assert venv.pip("uninstall", "-y", "pillow").exit_code == 0
    site = venv.site_packages.relative_to(venv.prefix)
    ours = (str(site / "_fastinstall_guard"), str(site / "fastinstall_guard."), "share")
    assert [path for path in set(tree_hash(venv.prefix)) - before if not path.startswith(ours)] == []
    assert not (venv.site_packages / "PIL").exists()
    assert not (venv.site_packages / "pillow.libs").exists()


def _oldest(sandbox: Sandbox, venv: Venv) -> str:
    listed = sandbox.cli("rollback", "--list", "--prefix", venv.prefix, "--json").document["transactions"]
    assert len(listed) == 2
    return str(listed[-1]["id"])


def _finding(report: Result, check: str) -> Any:
    return next(finding for finding in report.document["findings"] if finding["check"] == check)


def _warnings(result: Result) -> int:
    return sum(line.startswith(WARNING) for line in result.stderr.splitlines())

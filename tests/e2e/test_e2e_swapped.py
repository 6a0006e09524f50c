"""Another tool replaces the stack: doctor names the tool, the guard warns once, and the repair uses the cache."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.environments.interpreters import running
from support.sandbox import UNREACHABLE, NewSandbox, Result, Sandbox, Venv, tree_hash

from fastinstall.core.files import sha256

WARNING = "fastinstall: "
SWAPS: dict[str, Callable[[Venv], Result]] = {
    "pip": lambda venv: venv.pip("install", "--force-reinstall", "pillow"),
    "uv": lambda venv: venv.uv("install", "--reinstall", "pillow"),
}


@dataclass(frozen=True, kw_only=True)
class Ours:
    """An environment that was set up once, and is restored to that state for each test.

    Attributes:
        sandbox: the sandbox that contains the environment.
        venv: the environment.
        before: hashes of the environment's files before the setup.
        pristine: a copy of the environment after the setup.
    """

    sandbox: Sandbox
    venv: Venv
    before: Mapping[str, str]
    pristine: Path

    def cli(self, verb: str, *words: str, unreachable: bool = False) -> Result:
        """Run fastinstall on this environment."""
        return self.sandbox.cli(verb, *words, "--prefix", self.venv.prefix, env=UNREACHABLE if unreachable else None)


@pytest.fixture(scope="module")
def made(new_sandbox: NewSandbox) -> Iterator[Ours]:
    with new_sandbox() as sandbox:
        venv = sandbox.venv(running())
        before = tree_hash(venv.prefix)
        result = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
        assert result.exit_code == 0, result.text
        pristine = venv.prefix.rename(sandbox.root / "pristine")
        yield Ours(sandbox=sandbox, venv=venv, before=before, pristine=pristine)


@pytest.fixture
def ours(made: Ours) -> Ours:
    shutil.rmtree(made.venv.prefix, ignore_errors=True)
    shutil.copytree(made.pristine, made.venv.prefix, symlinks=True)
    return made


@pytest.mark.main
@pytest.mark.parametrize("tool", SWAPS)
def test_a_swap_is_named_warned_about_once_and_repaired_offline(ours: Ours, tool: str) -> None:
    venv = ours.venv
    core = sha256(venv.core)
    swap = SWAPS[tool](venv)
    assert swap.exit_code == 0, swap.text
    told = swap if tool == "pip" else venv.run("-c", "import PIL.Image, PIL.ImageDraw")
    assert _warnings(told) == 1, told.stderr
    assert f"by {tool}" in told.stderr

    report = ours.cli("doctor", "--json")
    assert report.exit_code == 3, report.text
    swapped = _finding(report, "swapped")
    assert swapped["status"] == "error"
    assert tool in swapped["message"]
    assert swapped["remedy"]["command"] == f"fastinstall doctor --fix --prefix {venv.prefix}"

    fixed = ours.cli("doctor", "--fix", "--yes", unreachable=True)
    assert fixed.exit_code == 0, fixed.text
    assert sha256(venv.core) == core
    assert _warnings(venv.run("-c", "import PIL.Image")) == 0
    assert venv.pip("check").exit_code == 0


@pytest.mark.main
def test_rollback_past_a_removal_and_a_repair_is_byte_exact(ours: Ours) -> None:
    venv = ours.venv
    assert venv.pip("uninstall", "-y", "pillow").exit_code == 0
    assert ours.cli("doctor").exit_code == 3
    assert ours.cli("doctor", "--fix", "--yes").exit_code == 0
    undone = ours.cli("rollback", "--yes", "--to", _oldest(ours))
    assert undone.exit_code == 0, undone.text
    assert tree_hash(venv.prefix) == ours.before


def test_rollback_over_another_tools_files_needs_consent(ours: Ours) -> None:
    venv = ours.venv
    assert venv.pip("install", "--force-reinstall", "pillow").exit_code == 0
    swapped = tree_hash(venv.prefix)
    refused = ours.cli("rollback", "--yes")
    assert refused.exit_code == 5, refused.text
    assert "--allow force-remove" in refused.stderr
    assert tree_hash(venv.prefix) == swapped

    assert ours.cli("doctor", "--fix", "--yes").exit_code == 0
    repair, setup = _newest(ours), _oldest(ours)
    back = ours.cli("rollback", "--yes", "--to", repair)
    assert f"fastinstall rollback --to {setup}" in back.stderr, "doctor will call it an error; the way on is named"
    assert (back.exit_code, tree_hash(venv.prefix)) == (0, swapped), back.text
    assert f"rolled back: {_pillow(venv)} is installed, though pillow 1" in back.stdout, back.text

    assert ours.cli("doctor", "--fix", "--yes").exit_code == 0
    straight = ours.cli("rollback", "--yes")
    assert straight.exit_code == 0, straight.text
    after = tree_hash(venv.prefix)
    assert {path: value for path, value in after.items() if not path.startswith("share")} == ours.before
    kept = venv.prefix / "share" / "fastinstall" / "kept"
    assert {path for path in after if path.startswith("share/fastinstall/")} == {
        path.relative_to(venv.prefix).as_posix() for path in kept.rglob("*")
    } | {"share/fastinstall/kept"}
    for path in kept.glob("*/lib/python3*/site-packages/*"):
        assert f"moved aside, not fastinstall's: {path}\n" in straight.stdout


def test_pip_uninstall_leaves_our_guard_and_our_records_only(ours: Ours) -> None:
    venv = ours.venv
    assert venv.pip("uninstall", "-y", "pillow").exit_code == 0
    site = venv.site_packages.relative_to(venv.prefix)
    expected = (str(site / "_fastinstall_guard"), str(site / "fastinstall_guard."), "share")
    left = set(tree_hash(venv.prefix)) - set(ours.before)
    assert [path for path in left if not path.startswith(expected)] == []
    assert not (venv.site_packages / "PIL").exists()
    assert not (venv.site_packages / "pillow.libs").exists()


def _oldest(ours: Ours) -> str:
    listed = ours.cli("rollback", "--list", "--json").document["transactions"]
    assert len(listed) == 2
    return str(listed[-1]["id"])


def _newest(ours: Ours) -> str:
    return str(ours.cli("rollback", "--list", "--json").document["transactions"][0]["id"])


def _finding(report: Result, check: str) -> Any:
    return next(finding for finding in report.document["findings"] if finding["check"] == check)


def _warnings(result: Result) -> int:
    return sum(line.startswith(WARNING) for line in result.stderr.splitlines())


def _pillow(venv: Venv) -> str:
    return str(next(venv.site_packages.glob("pillow-*.dist-info")).name.removesuffix(".dist-info").replace("-", " "))

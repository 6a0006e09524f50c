"""The plugin inside a real conda: it warns when it should, and conda works as without it."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel
from support.conda.real_conda import RealConda, plugged
from support.conda.replaceable_stack import STACK, STOCK, stacked, swappable_channel
from support.sandbox import NewSandbox, Result, run

from fastinstall import __version__
from fastinstall.journal.layout import RECEIPT

pytest_plugins = ("support.conda.fixtures",)

ENTRY_POINT = "fastinstall = fastinstall.conda_plugin"
DECLINED = """
import sys
from fastinstall.conda_hooks import fix

def confirm(question):
    print(question)
    sys.exit("declined")

fix(sys.argv[1], confirm)
"""
"""Does what `conda doctor --fix` of later condas does, for a person who declines."""

NAME = f"the fast Pillow {STACK}"


@dataclass(frozen=True, kw_only=True)
class Plugged:
    """A conda with the plugin, and a way to make environments with our stack.

    Attributes:
        conda: the conda installation; its own method `run` does not load the plugin.
        variables: environment variables that make conda find the plugin.
        make: a function that makes an environment, from a directory's name and additional specs.
    """

    conda: RealConda
    variables: Mapping[str, str]
    make: Callable[..., Path]

    def run(self, *words: str | Path, **changes: str) -> Result:
        """Run conda with the plugin."""
        return self.conda.run(*words, changes={**self.variables, **changes})

    def on(self, prefix: Path, *words: str, **changes: str) -> Result:
        """Run a conda command on an environment."""
        return self.run(*words, "--prefix", prefix, **changes)


@pytest.fixture(scope="module")
def plugin(conda: RealConda, channel: CondaChannel, unpacked: Path, new_sandbox: NewSandbox) -> Iterator[Plugged]:
    """Yield conda with the plugin and two channels: the first with tiny packages, the second the usual one."""
    with new_sandbox() as sandbox:
        urls = (swappable_channel(sandbox.root / "channel"), channel.url)
        there = conda.at(sandbox.root / "conda", *urls)

        def make(name: str, *specs: str) -> Path:
            return stacked(sandbox.root / name, urls, unpacked, *specs)

        yield Plugged(conda=there, variables=plugged(there, sandbox.root / "plugin", ENTRY_POINT), make=make)


def _lines(result: Result) -> list[str]:
    """List the lines on stderr that fastinstall's plugin printed."""
    return [line for line in result.stderr.splitlines() if line.startswith(("fastinstall: ", "hint: "))]


def test_a_swap_is_explained_before_and_after_and_json_is_intact(plugin: Plugged) -> None:
    prefix = plugin.make("swapped")
    done = plugin.on(prefix, "install", "--yes", "--json", "viewer", "puretool")
    assert done.exit_code == 0, done.text
    assert {record["name"] for record in done.document["actions"]["LINK"]} == {"pillow", "viewer", "puretool"}
    before, avoid, after, repair = _lines(done)
    swap = f"replaced with pillow 13.0.0 ({STOCK}"
    assert before.startswith(f"fastinstall: {NAME} in {prefix} will be {swap} of ")
    assert before.endswith("requires pillow >=13")
    assert "because of viewer 2.0" in before
    assert avoid.startswith("hint: ")
    assert ": conda fastinstall setup " in avoid
    assert after == f"fastinstall: {NAME} in {prefix} was {swap}) by conda install"
    assert repair.removeprefix("hint: ") == f"conda fastinstall doctor --fix --prefix {prefix}"
    again = plugin.on(prefix, "remove", "--yes", "puretool")
    assert _lines(again) == [after.removesuffix(" by conda install"), repair]


@pytest.mark.parametrize("spec", ["viewer", "pillow=13"])
def test_a_solve_that_fails_because_of_the_guard_is_explained(plugin: Plugged, spec: str) -> None:
    prefix = plugin.make(f"unsolved-{spec}", "fastinstall-guard")
    refused = plugin.on(prefix, "install", "--yes", spec)
    assert refused.exit_code == 1
    reason, hint = _lines(refused)
    assert f"fastinstall-guard in {prefix} " in reason
    assert hint.endswith(f": conda fastinstall rollback --yes --prefix {prefix}")
    assert plugin.on(prefix, "install", "--yes", "--json", spec, FASTINSTALL_GUARD="0").stderr == ""
    solved = plugin.on(prefix, "install", "--yes", "--quiet", "puretool", "painter")
    assert (solved.exit_code, solved.stderr) == (0, "")
    if (
        spec == "viewer"
        and "Unsatisfiable" in refused.text
        and "classic" in (plugin.conda.root / "condarc").read_text()
    ):
        assert "feature:/linux-64::__archspec==1=" in refused.text, "docs/how-to/conda.md quotes this"


def test_untouched_stacks_and_foreign_environments_pass_silently(plugin: Plugged) -> None:
    prefix = plugin.make("kept")
    kept = plugin.on(prefix, "install", "--yes", "--quiet", "puretool", "painter")
    assert (kept.exit_code, kept.stderr) == (0, "")
    off = plugin.on(prefix, "install", "--dry-run", "--json", "viewer", FASTINSTALL_GUARD="0")
    assert off.stderr == ""
    (prefix / RECEIPT).unlink()
    foreign = plugin.on(prefix, "install", "--yes", "--json", "viewer")
    assert (foreign.exit_code, foreign.stderr) == (0, "")
    assert "pillow" in {record["name"] for record in foreign.document["actions"]["LINK"]}


def test_escape_codes_in_a_receipt_never_reach_the_terminal(plugin: Plugged) -> None:
    prefix = plugin.make("steering", "python")
    receipt = json.loads((prefix / RECEIPT).read_text())
    (prefix / RECEIPT).write_text(json.dumps({**receipt, "version": "13\x1b]0;x\x07", "stack_version": "13\x1b]0;x"}))
    for words in (("doctor", "--verbose"), ("install", "--yes", "--quiet", "viewer")):
        done = plugin.on(prefix, *words)
        assert "\\u001b]0;x" in done.text, done.text
        assert "\x1b" not in done.text


def test_a_hook_that_fails_is_not_noticed(plugin: Plugged) -> None:
    prefix = plugin.make("broken")
    (prefix / RECEIPT).write_text('{"schema": "fastinstall.receipt/1"')
    done = plugin.on(prefix, "install", "--yes", "--json", "viewer")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.document["success"] is True
    loud = plugin.on(prefix, "install", "-vvv", "--yes", "puretool")
    assert "look_back of fastinstall failed" in loud.stderr


def test_a_listing_is_what_it_is_without_the_plugin(plugin: Plugged) -> None:
    prefix = plugin.make("listed")
    plain = plugin.conda.run("list", "--json", "--prefix", prefix)
    listed = plugin.on(prefix, "list", "--json")
    assert listed == plain
    assert json.loads(listed.stdout)[0]["name"] == "pillow"


def test_conda_doctor_tells_what_our_quick_checks_find(plugin: Plugged) -> None:
    prefix = plugin.make("examined", "python")
    intact = plugin.on(prefix, "doctor")
    assert "advisories" in intact.stdout
    assert "swapped" not in intact.stdout
    core = next(prefix.glob("lib/python3*/site-packages/PIL/_imaging.*.so"))
    core.write_bytes(b"\x7fELF of somebody else")
    sick = plugin.on(prefix, "doctor")
    assert "swapped" in sick.stdout
    assert f"fastinstall doctor --fix --prefix {prefix}\n" in sick.stdout
    declined = run((plugin.conda.python, "-c", DECLINED, prefix), plugin.variables)
    assert "Restore the Pillow" in declined.stdout
    assert declined.stderr.endswith("declined\n")
    assert core.read_bytes() == b"\x7fELF of somebody else"
    shutil.rmtree(prefix / "share/fastinstall")
    assert "fastinstall" not in plugin.on(prefix, "doctor").text


def test_conda_fastinstall_runs_on_the_environment_conda_means(plugin: Plugged) -> None:
    prefix = plugin.make("commanded", "python")
    version = plugin.run("fastinstall", "--version")
    assert (version.exit_code, version.stdout) == (0, f"fastinstall {__version__}\n")
    words = ("fastinstall", "doctor", "swapped", "--quick", "--json")
    named = plugin.run(*words, "-p", prefix)
    active = plugin.run(*words, **{**plugin.conda.activated(prefix), **plugin.variables, "CONDA_PREFIX": str(prefix)})
    for result in (named, active):
        assert result.exit_code == 0, result.text
        assert result.document["environment"]["prefix"] == str(prefix)
    none = plugin.run(*words)
    assert (none.exit_code, none.document["exit_code"]) == (5, 5)


def test_nothing_of_it_is_left_where_it_is_not_installed(plugin: Plugged) -> None:
    gone = plugin.conda.run("fastinstall", "--version")
    assert gone.exit_code != 0
    assert "fastinstall" not in gone.stdout

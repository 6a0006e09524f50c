"""`guard` in conda environments: the guard package and the pin are installed, reported, removed and undone."""

import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel
from support.conda.environments import builds, rattler_environment
from support.conda.real_conda import RealConda
from support.conda.replaceable_stack import SCRIPTS, STOCK, as_package, stacked, swappable_channel, with_receipt
from support.sandbox import NewSandbox, Sandbox, run

from fastinstall.journal.layout import RECEIPT
from fastinstall.journal.store import JournalStore
from fastinstall.model.conda_packages import CHANNEL
from fastinstall.model.dependants import PINS
from fastinstall.observe.installed_pins import HOLDS_BACK, PIN, add_pin_line

pytest_plugins = ("support.conda.fixtures",)

Make = Callable[..., Path]
PIXI = """\
[workspace]
name = "gallery"
channels = ["conda-forge"]  # ours
platforms = ["linux-64"]

[dependencies]
python = "3.11.*"
"""


@pytest.fixture(scope="module")
def place(channel: CondaChannel, new_sandbox: NewSandbox) -> Iterator[tuple[Sandbox, tuple[str, str]]]:
    """Yield a sandbox, and the URLs of two channels: the first with tiny packages, the second the usual one."""
    with new_sandbox() as sandbox:
        yield sandbox, (swappable_channel(sandbox.root / "channel"), channel.url)


def test_a_pin_comes_with_the_guard_is_told_and_goes_with_it(
    place: tuple[Sandbox, tuple[str, str]], unpacked: Path
) -> None:
    sandbox, channels = place
    prefix = stacked(sandbox.root / "pinned", channels, unpacked, "python")
    pinned = prefix / PINS
    pinned.write_text("numpy <2")
    there = ("--prefix", str(prefix))
    done = sandbox.cli("guard", "install", "--pin", "--yes", *there)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, f"pinned in {pinned}: {PIN} ({HOLDS_BACK})"), done.text
    assert "  - pillow=*=simd_*" in done.stderr
    assert pinned.read_text() == f"numpy <2\n{PIN}\n"
    assert sandbox.cli("guard", "status", "--json", *there).document["pins"][0]["requirement"] == PIN
    assert sandbox.cli("guard", "install", "--pin", "--yes", *there).exit_code == 0
    assert pinned.read_text() == f"numpy <2\n{PIN}\n"
    removed = sandbox.cli("guard", "remove", "--yes", *there)
    assert (removed.exit_code, removed.stdout.splitlines()[0]) == (0, "start-up guard: not installed"), removed.text
    assert pinned.read_text() == "numpy <2\n"
    for identifier, text in zip(_transactions(prefix), (f"numpy <2\n{PIN}\n", "numpy <2"), strict=True):
        assert sandbox.cli("rollback", "--yes", "--to", identifier, *there).exit_code == 0
        assert pinned.read_text() == text


def test_an_environment_of_pixi_is_pinned_in_its_workspace(
    place: tuple[Sandbox, tuple[str, str]], unpacked: Path
) -> None:
    sandbox, channels = place
    workspace = sandbox.root / "workspace"
    prefix = stacked(workspace / ".pixi/envs/default", channels, unpacked, "python", "fastinstall-guard")
    as_package(prefix, channels[0])
    _with_subdir(prefix)
    manifest, there = workspace / "pixi.toml", ("--prefix", str(prefix))
    manifest.write_text(PIXI)
    refused = sandbox.cli("guard", "install", "--pin", "--yes", *there)
    assert (refused.exit_code, "fastinstall guard pin" in refused.stderr) == (5, True), refused.text
    refused = sandbox.cli("guard", "pin", *there)
    assert (refused.exit_code, manifest.read_text()) == (5, PIXI), refused.text
    assert f"there is none in {prefix / CHANNEL}" in refused.stderr
    shutil.copytree(sandbox.root / "channel", prefix / CHANNEL)
    done = sandbox.cli("guard", "pin", "--wheels", workspace / "build", *there)
    assert (done.exit_code, manifest.read_text()) == (0, PIXI), done.text
    patch = sandbox.root / "pin.patch"
    patch.write_text(done.stdout)
    assert run(("git", "apply", patch), sandbox.variables(), directory=workspace).exit_code == 0
    said = tomllib.loads(manifest.read_text())
    ours, theirs = said["workspace"]["channels"]
    assert theirs == "conda-forge"
    assert said["target"]["linux-64"]["dependencies"] == {"pillow": {"version": "*", "build": "simd_*"}}
    assert (workspace / ours / "noarch/repodata.json").is_file()
    assert not (prefix / PINS).exists()
    assert sandbox.cli("guard", "status", "--json", *there).document["pins"][0]["kind"] == "pixi"


def _with_subdir(prefix: Path) -> None:
    file = prefix / RECEIPT
    kept = json.loads(file.read_text())
    kept["conda"]["package"]["subdir"] = "linux-64"
    file.write_text(json.dumps(kept))


def _transactions(prefix: Path) -> list[str]:
    """List the IDs of the environment's transactions that can be undone, the latest first."""
    return [info.id for info in JournalStore(prefix).transactions()]


def test_guard_package_removal_and_return_are_noted_for_conda(
    conda: RealConda, place: tuple[Sandbox, tuple[str, str]], unpacked: Path
) -> None:
    sandbox, channels = place
    prefix = stacked(sandbox.root / "packaged", channels, unpacked, "python", "fastinstall-guard")
    as_package(prefix, channels[0])
    there, history = ("--prefix", str(prefix)), prefix / "conda-meta/history"
    before = history.read_bytes()
    removed = sandbox.cli("guard", "remove", "--yes", *there)
    assert (removed.exit_code, removed.stdout.splitlines()[0]) == (0, "start-up guard: not installed"), removed.text
    assert not any((prefix / script).exists() for script in SCRIPTS)
    assert "fastinstall-guard" not in conda.list(prefix)
    assert history.read_text().endswith("# remove specs: ['fastinstall-guard']\n")
    added = sandbox.cli("guard", "install", "--yes", *there)
    assert (added.exit_code, added.stdout.splitlines()[-1]) == (0, "in conda: fastinstall-guard-1-0"), added.text
    assert all((prefix / script).exists() for script in SCRIPTS)
    assert conda.list(prefix)["fastinstall-guard"]["channel"].endswith("channel")
    assert history.read_text().endswith("# update specs: ['fastinstall-guard']\n")
    assert sandbox.cli("rollback", "--yes", "--to", _transactions(prefix)[-1], *there).exit_code == 0
    assert history.read_bytes() == before
    assert "fastinstall-guard" in builds(prefix)


def test_solvers_keep_to_the_pin(conda: RealConda, place: tuple[Sandbox, tuple[str, str]], unpacked: Path) -> None:
    from rattler import MatchSpec

    sandbox, channels = place
    prefix = stacked(sandbox.root / "kept", channels, unpacked)
    (prefix / PINS).write_text(add_pin_line(""))
    there = conda.at(sandbox.root / "conda", *channels)
    words = ("install", "--json", "--dry-run", "--prefix", prefix)
    assert there.run(*words, "puretool").document["success"] is True
    refused = there.run(*words, "viewer")
    assert refused.exit_code == 1
    assert "pillow" in refused.document["message"]
    assert str(MatchSpec(PIN, strict=True)) == PIN


def test_what_conda_does_not_know_is_not_pinned(place: tuple[Sandbox, tuple[str, str]], unpacked: Path) -> None:
    sandbox, channels = place
    prefix = sandbox.root / "unpinnable"
    rattler_environment(channels, prefix, ("python", f"pillow ==12.1.1 {STOCK}"), unpacked)
    with_receipt(prefix)
    unasked = sandbox.cli("guard", "install", "--pin", "--prefix", prefix)
    assert unasked.exit_code == 5
    assert f" guard install --pin --yes --prefix {prefix}\n" in unasked.stderr
    refused = sandbox.cli("guard", "install", "--pin", "--yes", "--prefix", prefix)
    assert refused.exit_code == 5
    assert f" 12.1.1 {STOCK}, which the pin" in refused.stderr
    assert not (prefix / PINS).exists()

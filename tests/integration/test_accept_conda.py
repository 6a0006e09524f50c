"""`guard accept` with conda removes the guard package, the pin and our channel; a rollback restores them."""

import json
from pathlib import Path

from support.conda.channel import CondaChannel
from support.conda.environments import builds
from support.conda.replaceable_stack import SCRIPTS, as_package, stacked, swappable_channel
from support.sandbox import Sandbox, tree_hash

from fastinstall.model.dependants import PINS
from fastinstall.observe.installed_pins import PIN

pytest_plugins = ("support.conda.fixtures",)

REGISTRATION = "condarc.d/fastinstall.yml"


def test_the_guards_of_conda_go_and_come_back(channel: CondaChannel, sandbox: Sandbox, unpacked: Path) -> None:
    channels = (swappable_channel(sandbox.root / "channel"), channel.url)
    prefix = stacked(sandbox.root / "env", channels, unpacked, "python", "fastinstall-guard")
    as_package(prefix, channels[0])
    there = ("--prefix", str(prefix))
    assert sandbox.cli("guard", "accept", "--yes", *there).stdout.startswith("nothing to accept")
    (prefix / PINS).write_text(f"numpy <2\n{PIN}\n")
    (prefix / REGISTRATION).parent.mkdir()
    (prefix / REGISTRATION).write_text(f"channels:\n  - {channels[0]}\n")
    _remove_by_force(prefix)
    before = tree_hash(prefix)

    accepted = sandbox.cli("guard", "accept", "--yes", *there)
    assert accepted.exit_code == 0, accepted.text
    assert not any((prefix / path).exists() for path in (*SCRIPTS, REGISTRATION))
    assert (prefix / PINS).read_text() == "numpy <2\n"
    assert "fastinstall-guard" not in builds(prefix)
    undone = sandbox.cli("rollback", "--yes", *there)
    assert (undone.exit_code, tree_hash(prefix)) == (0, before), undone.text


def _remove_by_force(prefix: Path) -> None:
    """Delete Pillow's files and its conda record, as `conda remove --force pillow` does."""
    (record,) = prefix.glob("conda-meta/pillow-*.json")
    for path in (*json.loads(record.read_text())["files"], f"conda-meta/{record.name}"):
        (prefix / path).unlink(missing_ok=True)

"""`fastinstall rollback` restores the previous environment, byte for byte, without a network."""

import pytest
from support.environments.interpreters import running
from support.sandbox import STOCK, UNREACHABLE, Sandbox, tree_hash

BEFORE = {"nothing": (), "stock": ("pillow==11.3.0", "pytesseract")}


@pytest.mark.main
@pytest.mark.parametrize("installed", BEFORE.values(), ids=BEFORE)
def test_rollback_brings_back_every_byte(sandbox: Sandbox, installed: tuple[str, ...]) -> None:
    venv = sandbox.venv(running())
    if installed:
        assert venv.pip("install", *installed).exit_code == 0
    before = tree_hash(venv.prefix)
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix)
    assert done.exit_code == 0, done.text
    assert tree_hash(venv.prefix) != before
    undone = sandbox.cli("rollback", "--yes", "--prefix", venv.prefix, env=UNREACHABLE)
    assert undone.exit_code == 0, undone.text
    assert tree_hash(venv.prefix) == before


def test_rollback_undoes_one_setup_or_all_of_them(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running(), pip=False)
    before = tree_hash(venv.prefix)
    assert sandbox.cli("setup", "--yes", "--prefix", venv.prefix).exit_code == 0
    first = tree_hash(venv.prefix)
    again = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, *STOCK)
    assert again.exit_code == 0, again.text
    oldest = sandbox.cli("rollback", "--list", "--prefix", venv.prefix, "--json").document["transactions"][-1]["id"]
    assert sandbox.cli("rollback", "--yes", "--prefix", venv.prefix).exit_code == 0
    assert tree_hash(venv.prefix) == first
    assert sandbox.cli("setup", "--yes", "--prefix", venv.prefix, *STOCK).exit_code == 0
    assert sandbox.cli("rollback", "--yes", "--prefix", venv.prefix, "--to", oldest).exit_code == 0
    assert tree_hash(venv.prefix) == before

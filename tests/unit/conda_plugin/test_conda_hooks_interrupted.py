"""After a command of conda's that changes packages it is told what a dead run left; conda's context is the test's."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.suite.golden import Golden

from fastinstall import conda_hooks
from fastinstall.journal.entries import Committed, TransactionBegun, format_entry_line
from fastinstall.journal.layout import JOURNAL, TRANSACTIONS

ONE = TransactionBegun(
    id="one", at="2026-11-21T10:15:00Z", sequence=1, work=f"{TRANSACTIONS}/one", created=(), directories=()
)


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prefix that conda works on, with a transaction that nobody finished."""
    monkeypatch.setattr(conda_hooks, "_get_context", lambda: SimpleNamespace(target_prefix=str(tmp_path)))
    monkeypatch.delenv("FASTINSTALL_GUARD", raising=False)
    journal = tmp_path / TRANSACTIONS / "one" / JOURNAL
    journal.parent.mkdir(parents=True)
    journal.write_text(f"{format_entry_line(ONE)}\n")
    return tmp_path


def test_what_was_interrupted_is_told_with_the_command_that_mends_it(
    prefix: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    conda_hooks.look_back("install")
    told = capsys.readouterr().err
    assert f"fastinstall rollback --interrupted --yes --prefix {prefix}" in told
    golden(told, PREFIX=prefix)


def test_what_holds_or_is_silenced_is_not_told(
    prefix: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as silenced:
        silenced.setenv("FASTINSTALL_GUARD", "0")
        conda_hooks.look_back("install")
    with (prefix / TRANSACTIONS / "one" / JOURNAL).open("a") as journal:
        journal.write(f"{format_entry_line(Committed(at=''))}\n")
    conda_hooks.look_back("install")
    assert capsys.readouterr().err == ""

"""The history verbs: they list transactions, give them up, and report dead runs and damaged or missing files.

The program runs within the test process, because a process for each call would take most of the time.
"""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.journal.history import STAMPS, Place, open_transaction, set_up
from support.sandbox import tree_hash
from support.values.builders import changed, healthy_facts

from fastinstall.core import files
from fastinstall.core.codec import document, dump
from fastinstall.core.errors import ExitCode
from fastinstall.journal.layout import JOURNAL
from fastinstall.journal.store import JournalStore
from fastinstall.model.request import Request
from fastinstall.setup.plan import Plan

pytest_plugins = ("support.journal.fixtures",)

TOLD = f"the setup of {STAMPS[0].at} was interrupted; to restore the environment: fastinstall rollback"
MENDED = f"the setup of {STAMPS[0].at} had been interrupted; the environment is restored"


LOOKING = {
    "inspect": (("inspect",), ExitCode.OK),
    "guard status": (("guard", "status"), ExitCode.OK),
    "list": (("rollback", "--list"), ExitCode.OK),
    "guard accept without consent": (("guard", "accept"), ExitCode.OK),
}


def test_read_only_verbs_name_an_interruption_and_change_nothing(place: Place) -> None:
    open_transaction(place, STAMPS[0])
    before = tree_hash(place.prefix)
    for words, code in LOOKING.values():
        told = place.cli(*words)
        assert (told.exit_code, TOLD in told.stderr) == (code, True), told.text
    report = place.cli("doctor", "--quick", "interrupted")
    assert (report.exit_code, STAMPS[0].at in report.stdout) == (ExitCode.FINDINGS, True), report.text
    for words in (("plan",), ("setup", "--dry-run"), ("setup",), ("rollback",)):
        refused = place.cli(*words)
        assert refused.exit_code == ExitCode.REFUSED, refused.text
    assert tree_hash(place.prefix) == before


def test_removing_an_absent_guard_asks_and_changes_nothing(place: Place) -> None:
    before = tree_hash(place.prefix)
    told = place.cli("guard", "remove")
    assert (told.exit_code, told.stdout) == (ExitCode.OK, "start-up guard: not installed\n"), told.text
    assert "nothing to remove" in told.stderr
    assert tree_hash(place.prefix) == before


CHANGING = (
    ("setup", "--yes"),
    ("rollback", "--yes"),
    ("rollback", "--forget", "--yes"),
    ("doctor", "interrupted", "--fix", "--yes"),
    ("guard", "install", "--yes"),
    ("guard", "remove", "--yes"),
    ("guard", "accept", "--yes"),
)


def test_verbs_that_change_finish_or_undo_it_first_and_say_so(place: Place) -> None:
    before = tree_hash(place.prefix)
    for words in CHANGING:
        open_transaction(place, STAMPS[0])
        done = place.cli(*words)
        assert done.text.count(MENDED) == 1, (words, done.text)
        assert done.exit_code != ExitCode.REFUSED, (words, "nothing was changed, it says")
        assert tree_hash(place.prefix) == before


def test_json_and_quiet_refusals_still_say_what_recovery_changed(place: Place) -> None:
    for flag in ("--json", "--quiet"):
        open_transaction(place, STAMPS[0])
        refused = place.cli("guard", "install", "--yes", flag)
        assert (refused.exit_code, f"done before that: {MENDED}" in refused.text) == (ExitCode.FAILED_CHANGED, True)


def test_so_does_a_saved_plan_before_its_facts_are_compared(place: Place, tmp_path: Path) -> None:
    open_transaction(place, STAMPS[0])
    environment = changed(healthy_facts().environment, {"prefix": str(place.prefix), "python": str(place.python)})
    plan = Plan(environment=environment, facts_digest="0" * 64, request=Request(), summary="of other facts")
    (tmp_path / "plan.json").write_text(dump(document("plan", plan)))
    unchanged = tree_hash(place.prefix)
    assert TOLD in place.call("apply", tmp_path / "plan.json").stderr
    assert tree_hash(place.prefix) == unchanged
    refused = place.call("apply", "--yes", tmp_path / "plan.json")
    assert (refused.exit_code, MENDED in refused.stderr) == (ExitCode.FAILED_CHANGED, True), refused.text
    assert JournalStore(place.prefix).transactions() == ()


def test_a_saved_plan_for_no_environment_is_named(place: Place, tmp_path: Path) -> None:
    environment = changed(healthy_facts().environment, {"prefix": str(tmp_path / "gone"), "python": str(place.python)})
    plan = Plan(environment=environment, facts_digest="0" * 64, request=Request(), summary="of other facts")
    (tmp_path / "plan.json").write_text(dump(document("plan", plan)))
    refused = place.call("apply", "--yes", tmp_path / "plan.json")
    assert (refused.exit_code, f"{tmp_path}/plan.json: environment.prefix: " in refused.stderr) == (
        ExitCode.UNDETERMINED,
        True,
    ), refused.text


def test_the_list_says_what_each_was_and_what_it_holds(place: Place) -> None:
    set_up(place, STAMPS[0])
    set_up(place, STAMPS[1], "guard install --pin", of=STAMPS[0])
    listed = place.cli("rollback", "--list", "--json").document
    jsonschema.validate(listed, SCHEMAS["transactions"]())
    rows = [(each["id"], each["verb"], each["stack"], each["state"]) for each in listed["transactions"]]
    assert rows == [
        (STAMPS[1].id, "guard install --pin", "", "committed"),
        (STAMPS[0].id, "setup", "pillow 13.0.0+1", "committed"),
    ]
    assert listed["held_bytes"] == sum(each["held_bytes"] for each in listed["transactions"]) > 0
    text = place.cli("rollback", "--list").stdout
    assert f"{STAMPS[0].id}  {STAMPS[0].at}  committed" in text
    assert "setup pillow 13.0.0+1\n" in text


def test_the_beginning_of_a_name_is_enough_where_no_other_has_it(place: Place) -> None:
    before = tree_hash(place.prefix)
    for stamp in STAMPS:
        set_up(place, stamp)
    for wrong in ("2031", "2026112"):
        refused = place.cli("rollback", "--yes", "--to", wrong)
        assert refused.exit_code == ExitCode.USAGE
        assert all(stamp.id in refused.stderr for stamp in STAMPS), refused.stderr
    assert place.cli("rollback", "--yes", "--to", "20261121").exit_code == ExitCode.OK
    assert tree_hash(place.prefix) == before


def test_forgetting_needs_consent_and_frees_what_was_announced(place: Place) -> None:
    for stamp in STAMPS:
        set_up(place, stamp)
    before = tree_hash(place.site_packages)
    words = ("rollback", "--forget")
    refused = place.cli(*words)
    assert (refused.exit_code, len(JournalStore(place.prefix).transactions())) == (ExitCode.REFUSED, 3)
    assert STAMPS[1].id in refused.stderr
    done = place.cli(*words, "--yes")
    assert done.stdout.splitlines()[:2] == [f"forgotten: {STAMPS[1].id}", f"forgotten: {STAMPS[0].id}"]
    assert done.stdout.splitlines()[2].removesuffix(" freed") in refused.stderr
    assert [info.id for info in JournalStore(place.prefix).transactions()] == [STAMPS[2].id]
    assert tree_hash(place.site_packages) == before
    assert place.cli(*words, "--yes").stdout == "nothing to forget\n"
    assert place.cli("rollback", "--yes").exit_code == ExitCode.OK


def test_a_lost_way_back_is_reported_with_what_can_still_be_done(place: Place) -> None:
    set_up(place, STAMPS[0])
    shutil.rmtree(place.prefix / "share/fastinstall/tx")
    before = tree_hash(place.prefix)
    refused = place.cli("rollback", "--yes")
    assert refused.exit_code == ExitCode.REFUSED
    assert "cannot undo" in refused.stderr
    assert "pillow 11.3.0 (pip)" in refused.stderr
    assert "--force-reinstall --no-deps pillow==12.1.1; " in refused.stderr
    assert f"fastinstall guard accept --prefix {place.prefix}" in refused.stderr
    assert tree_hash(place.prefix) == before


def _make_directory(journal: Path) -> None:
    journal.unlink()
    journal.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda journal: journal.write_text(""),
    "no JSON": lambda journal: journal.write_text(journal.read_text() + "{\n"),
    "gone": lambda journal: journal.unlink(),
    "a directory": _make_directory,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_journal_is_told_and_put_away_without_a_loss(place: Place, damage: str) -> None:
    set_up(place, STAMPS[0])
    directory = place.prefix / "share/fastinstall/tx" / STAMPS[0].id
    DAMAGES[damage](directory / JOURNAL)
    before = tree_hash(directory)
    report = place.cli("doctor", "way-back", "--json")
    (finding,) = report.document["findings"]
    assert (report.exit_code, finding["status"]) == (ExitCode.FINDINGS, "error"), report.text
    refused = place.cli("rollback", "--yes")
    assert refused.exit_code in (ExitCode.USAGE, ExitCode.REFUSED)
    assert "Traceback" not in refused.text
    put_away = place.call(*finding["remedy"]["command"].split()[1:], "--yes")
    assert put_away.exit_code == ExitCode.OK, put_away.text
    assert tree_hash(place.prefix / "share/fastinstall/kept" / STAMPS[0].id / "transaction") == before
    assert place.cli("doctor", "way-back").exit_code == ExitCode.OK


@pytest.mark.parametrize("content", ["{", '{"schema": "fastinstall.receipt/2", "tool_version": "7.1"}'])
def test_an_unreadable_receipt_is_reported_and_its_setup_undone(place: Place, content: str) -> None:
    before = tree_hash(place.prefix)
    set_up(place, STAMPS[0])
    (place.prefix / "share/fastinstall/receipt.json").write_text(content)
    report = place.cli("doctor", "way-back")
    assert "receipt.json" in report.stdout, report.text
    if "7.1" in content:
        assert "fastinstall 7.1" in report.stdout
    refused = place.cli("setup", "--yes")
    assert (refused.exit_code, "hint:" in refused.stderr) == (ExitCode.USAGE, True), refused.text
    undone = place.cli("rollback", "--yes")
    assert undone.exit_code == ExitCode.OK, undone.text
    assert tree_hash(place.prefix) == before


def test_an_interruption_after_all_is_done_says_so_and_succeeds(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree_hash(place.prefix)
    for stamp in STAMPS[:2]:
        set_up(place, stamp)
    renames, rename = iter(range(1000)), files._call_renameat2

    def interrupted(source: Path, target: Path, flags: int) -> None:
        """Send SIGINT before the first rename; then rename with the kernel's call."""
        if next(renames) == 0:
            os.kill(os.getpid(), signal.SIGINT)
        rename(source, target, flags)

    monkeypatch.setattr(files, "_call_renameat2", interrupted)
    done = place.cli("rollback", "--yes", "--to", STAMPS[0].id)
    assert (done.exit_code, "interrupted after" in done.stderr) == (ExitCode.OK, True)
    assert tree_hash(place.prefix) == before, "all of them, although it was interrupted in the first"


def _links_to_nowhere(place: Place) -> None:
    for name in (place.prefix / "bin").glob("python*"):
        name.unlink()
        name.symlink_to("/usr/lib/gone/bin/python3")


def _removed(place: Place) -> None:
    for name in (place.prefix / "bin").glob("python*"):
        name.unlink()


def _of_another_machine(place: Place) -> None:
    _removed(place)
    place.python.write_bytes(b"\x7fELF of another machine")
    place.python.chmod(0o755)


@pytest.mark.parametrize("gone", [_links_to_nowhere, _removed, _of_another_machine])
def test_without_an_interpreter_a_venv_is_listed_and_rolled_back(place: Place, gone: Callable[[Place], None]) -> None:
    before = {path: look for path, look in tree_hash(place.prefix).items() if not path.startswith("bin/python")}
    for stamp in STAMPS[:2]:
        set_up(place, stamp)
    gone(place)
    listed = place.cli("rollback", "--list", "--json")
    assert (listed.exit_code, len(listed.document["transactions"])) == (ExitCode.OK, 2), listed.text
    removed = place.cli("guard", "remove", "--yes")
    assert removed.exit_code == ExitCode.UNDETERMINED, removed.text
    assert f"fastinstall rollback --yes --prefix {place.prefix}" in removed.stderr
    report = place.cli("doctor")
    assert report.exit_code == ExitCode.UNDETERMINED, report.text
    assert f"fastinstall rollback --yes --prefix {place.prefix}" in report.text
    undone = place.cli("rollback", "--yes", "--to", STAMPS[0].id)
    assert undone.exit_code == ExitCode.OK, undone.text
    if gone is not _of_another_machine:  # an interpreter for another CPU is never run: no failed test to report
        assert "could not be tested" in undone.stdout
    after = {path: look for path, look in tree_hash(place.prefix).items() if not path.startswith("bin/python")}
    assert after == before

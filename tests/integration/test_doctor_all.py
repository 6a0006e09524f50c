"""All known environments are examined in one run; one that cannot be read is reported, the others are examined."""

import json
import os
import shutil
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.environments.interpreters import running
from support.environments.observed import site_packages
from support.environments.site_packages import PIL_FILES, install
from support.hostile.inputs import put_no_file, take_away
from support.sandbox import Result, Sandbox

from fastinstall.core.errors import ExitCode
from fastinstall.core.foreign_code import find_stranger
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.facts import Environment
from fastinstall.model.finding import EnvironmentReport
from fastinstall.observe.session import Session, open_session
from fastinstall.verbs.examine import Examination, examine, examine_everywhere

NOBODY = 65534
PLACE = "home/.virtualenvs"


def _all(sandbox: Sandbox, *flags: str) -> Result:
    return sandbox.cli("doctor", "--all", "--quick", *flags)


def _known_environment(sandbox: Sandbox, name: str) -> Path:
    prefix = Path(sandbox.venv(running(), tool="uv", name=f"{PLACE}/{name}", pip=False).prefix)
    install(site_packages(prefix / "bin/python"), "pillow", "13.0.0", PIL_FILES)
    return prefix


def test_every_environment_is_reported_even_with_no_interpreter(
    sandbox: Sandbox,
) -> None:
    whole, gone = _known_environment(sandbox, "whole"), _known_environment(sandbox, "gone")
    malformed = _known_environment(sandbox, "malformed")
    (malformed / RECEIPT).parent.mkdir(parents=True)
    (malformed / RECEIPT).write_text("{")
    sandbox.venv(running(), tool="uv", name=f"{PLACE}/without", pip=False)
    (gone / "bin/python").unlink()
    (gone / "bin/python").symlink_to("/nowhere/python3")
    result = _all(sandbox, "--json")
    survey = result.document
    jsonschema.validate(survey, SCHEMAS["doctor-all"]())
    assert [report["environment"]["prefix"] for report in survey["reports"]] == [str(malformed), str(whole)]
    assert [each["prefix"] for each in survey["unobservable"]] == [str(gone)]
    assert "/nowhere/python3" in survey["unobservable"][0]["problem"]
    assert "receipt.json: not JSON" in str(survey["reports"][0]["findings"])
    assert survey["without_pil"] == 1
    alone = sandbox.cli("doctor", "--quick", "--json", "--prefix", whole).document
    assert survey["reports"][1] == {key: item for key, item in alone.items() if key != "schema"}
    # The status is an error because the fake core is no ELF file.
    assert (survey["status"], result.exit_code) == ("error", ExitCode.FINDINGS)


def test_an_environment_that_blocks_readers_stops_no_other(sandbox: Sandbox) -> None:
    whole = _known_environment(sandbox, "whole")
    for kind in ("fifo", "zeros", "directory"):
        prefix = _known_environment(sandbox, kind)
        site = site_packages(prefix / "bin/python")
        for place in (
            prefix / RECEIPT,
            *site.glob("pillow-*/RECORD"),
            *site.glob("PIL/_imaging*"),
            prefix / "pip.conf",
        ):
            take_away(place)
            put_no_file(place, kind)
    result = _all(sandbox, "--json")
    judged = {report["environment"]["prefix"]: report for report in result.document["reports"]}
    assert sorted(judged) == sorted(str(whole.parent / name) for name in ("whole", "fifo", "zeros", "directory"))
    assert f"{RECEIPT}: cannot be read: " in str(judged[str(whole.parent / "fifo")])
    assert result.exit_code == ExitCode.FINDINGS


def test_our_bug_on_one_environment_is_reported_and_others_go_on(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefixes = [_known_environment(sandbox, name) for name in ("a", "b")]

    def examined(session: Session, environment: Environment, examination: Examination) -> EnvironmentReport:
        if environment.prefix == prefixes[0]:
            raise RecursionError("maximum recursion depth exceeded")
        return examine(session, environment, examination)

    monkeypatch.setattr("fastinstall.verbs.examine.examine", examined)
    survey = examine_everywhere(open_session(sandbox.variables()), Examination(quick=True))
    assert [report.environment.prefix for report in survey.reports] == prefixes[1:]
    assert [each.prefix for each in survey.unobservable] == prefixes[:1]
    assert "RecursionError: maximum" in survey.unobservable[0].problem


def test_environments_examined_in_parallel_are_reported_in_order(sandbox: Sandbox) -> None:
    first = _known_environment(sandbox, "0")
    for number in range(1, 9):
        (first.parent / str(number)).mkdir()
        for entry in first.iterdir():
            (first.parent / str(number) / entry.name).symlink_to(entry)
    reports = _all(sandbox, "--json").document["reports"]
    assert [report["environment"]["prefix"] for report in reports] == [str(first.parent / str(n)) for n in range(9)]


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can give files away, and is who must not run them")
@pytest.mark.parametrize("given", ["bin/python", "lib", "site-packages"])
def test_root_runs_no_code_of_another_user(sandbox: Sandbox, given: str) -> None:
    own, other = _known_environment(sandbox, "own"), _known_environment(sandbox, "other")
    ran = sandbox.root / "ran"
    python = other / "bin/python"
    if given == "bin/python":
        python.unlink()
        python.write_text(f'#!/bin/sh\ntouch {ran}\nexec {own}/bin/python "$@"\n')
        python.chmod(0o755)
    else:
        (site_packages(own / "bin/python") / "none.pth").touch()
        file = site_packages(other / "bin/python") / "evil.pth"
        file.write_text(f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n")
        python = other if given == "lib" else file
    os.lchown(python, NOBODY, NOBODY)
    result = sandbox.cli("doctor", "--all", "--json")
    survey = result.document
    assert [report["environment"]["prefix"] for report in survey["reports"]] == [str(own)]
    (told,) = survey["unobservable"]
    assert told["prefix"] == str(other)
    assert f"fastinstall doctor --prefix {other}" in told["problem"]
    assert ("sudo -u" in told["problem"]) is (shutil.which("sudo") is not None)
    assert not ran.exists()


def _list_deep_places(sandbox: Sandbox, prefix: Path) -> dict[str, Path]:
    """Return files, by label, that the environment's Python may run, in subdirectories of site-packages."""
    site = site_packages(prefix / "bin/python")
    below, beside = site / "PIL/deeper/still", sandbox.root / "beside/package"
    for directory in (below, beside, sandbox.root / "linked", sandbox.root / "editable/src"):
        directory.mkdir(parents=True)
    (site / "way.pth").write_text(f"# a comment\n{sandbox.root / 'beside'}\n")
    (site / "link").symlink_to(sandbox.root / "linked")
    (site / "mine-1.dist-info").mkdir()
    source = {"url": (sandbox.root / "editable").as_uri(), "dir_info": {"editable": True}}
    (site / "mine-1.dist-info/direct_url.json").write_text(json.dumps(source))
    (site / "damaged-1.dist-info").mkdir()
    (site / "damaged-1.dist-info/direct_url.json").write_text(json.dumps({**source, "url": [{}]}))
    return {
        "a package": below / "module.py",
        "what a .pth file names": beside / "module.py",
        "what a link leads to": sandbox.root / "linked/module.py",
        "an editable installation": sandbox.root / "editable/src/module.py",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can give files away, and is who must not run them")
def test_code_of_another_user_is_found_however_deep_it_lies(sandbox: Sandbox) -> None:
    prefix = _known_environment(sandbox, "own")
    places = _list_deep_places(sandbox, prefix)
    assert find_stranger(prefix) == ""
    for case, file in places.items():
        file.touch()
        os.chown(file, NOBODY, NOBODY)
        assert find_stranger(prefix), case
        os.chown(file, 0, 0)
    os.chown(prefix.parent, NOBODY, NOBODY)  # NOBODY could now replace the environment
    assert find_stranger(prefix)


def test_where_none_can_be_observed_it_could_not_be_determined(sandbox: Sandbox) -> None:
    prefix = _known_environment(sandbox, "gone")
    (prefix / "bin/python").unlink()
    (prefix / "bin/python3").unlink(missing_ok=True)
    result = _all(sandbox)
    assert result.exit_code == ExitCode.UNDETERMINED
    assert str(prefix) in result.stdout


def test_where_none_is_known_all_is_well(sandbox: Sandbox) -> None:
    result = _all(sandbox, "--json")
    assert result.exit_code == ExitCode.OK
    assert (result.document["status"], result.document["reports"]) == ("ok", [])


def test_an_unknown_check_is_refused_even_with_no_environment(sandbox: Sandbox) -> None:
    assert _all(sandbox, "swaped").exit_code == ExitCode.USAGE


def test_a_repair_of_all_at_once_is_refused(sandbox: Sandbox) -> None:
    result = _all(sandbox, "--fix")
    assert result.exit_code == ExitCode.USAGE
    assert "--all and --fix" in result.stderr


def test_with_nothing_active_doctor_offers_what_is_known(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running(), name="elsewhere/env", pip=False)
    (venv.site_packages / "PIL").mkdir()
    listed = Path(sandbox.variables()["HOME"], ".conda/environments.txt")
    listed.parent.mkdir(parents=True)
    listed.write_text(f"{venv.prefix}\n")
    said = sandbox.cli("doctor", "--json", env={"VIRTUAL_ENV": None, "CONDA_PREFIX": None})
    assert said.exit_code == 5, said.text
    assert str(venv.prefix) in said.document["details"][0]
    assert f"doctor --json --prefix {venv.prefix}" in said.document["hint"]
    assert said.document["hint"].endswith(" doctor --all")

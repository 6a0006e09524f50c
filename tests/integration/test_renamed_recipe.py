"""An environment that was set up by the recipe's former name: it is ours, it is repaired by today's, and built anew.

Its core is that of a build without kernels; its receipt says what one of the former recipe said.
"""

import json
from pathlib import Path

import pytest
from support.environments.real import Environments
from support.sandbox import Sandbox, Venv

from fastinstall.journal.store import JournalStore
from fastinstall.model.recipe import FORMER
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.session import open_session
from fastinstall.steps.build import Build
from fastinstall.steps.kinds import get_required_step
from fastinstall.verbs.repair import plan_repair

pytest_plugins = ("support.environments.fixtures",)

((NAME, TODAY),) = FORMER.items()
TOLD = f"recipe {NAME} is now {TODAY}"


@pytest.fixture
def venv(environments: Environments) -> Venv:
    made = environments.copy("ours")
    path = made.prefix / "share/fastinstall/receipt.json"
    receipt = json.loads(path.read_text(encoding="utf-8"))
    receipt["recipe"] = receipt["wish"]["recipe"] = NAME
    receipt["kernels"] = "pillow-simd 12.1.1.post0"
    receipt["core"]["simd_symbols"] = ["ImagingResample"]
    path.write_text(json.dumps(receipt), encoding="utf-8")
    return made


@pytest.fixture
def sandbox(environments: Environments) -> Sandbox:
    return environments.sandbox


def test_doctor_takes_it_for_ours_and_looks_for_the_symbols_that_it_had(sandbox: Sandbox, venv: Venv) -> None:
    told = sandbox.cli("doctor", "--prefix", venv.prefix, "--json")
    findings = {each["check"]: each for each in told.document["findings"]}
    assert told.exit_code == 0, told.text
    assert {findings[name]["status"] for name in ("simd-active", "swapped", "build-flags")} == {"ok"}
    assert findings["simd-active"]["evidence"] == ["ImagingResample"]


def test_a_repair_has_nothing_to_do_while_it_is_intact(sandbox: Sandbox, venv: Venv) -> None:
    done = sandbox.cli("doctor", "--fix", "--yes", "--prefix", venv.prefix)
    assert done.exit_code == 0, done.text
    assert len(JournalStore(venv.prefix).transactions()) == 1


def test_what_is_damaged_is_repaired_by_todays_recipe_at_its_version(sandbox: Sandbox, venv: Venv) -> None:
    version = json.loads((venv.prefix / "share/fastinstall/receipt.json").read_text())["source_version"]
    (venv.site_packages / "PIL/__init__.py").unlink()
    session = open_session(sandbox.variables())
    planned = plan_repair(session, find_environment(session, NamedTarget(prefix=Path(venv.prefix))), Request())
    build = get_required_step(planned.steps, Build)
    assert (planned.request.recipe, build.recipe) == (TODAY, TODAY)
    assert build.source is not None
    assert build.source.version == version


@pytest.mark.parametrize("words", [(), ("--recipe", NAME)])
def test_a_setup_builds_it_anew_and_tells_the_former_name_once(
    sandbox: Sandbox, venv: Venv, words: tuple[str, ...]
) -> None:
    planned = sandbox.cli("plan", "--prefix", venv.prefix, "--json", *words)
    assert planned.exit_code == 0, planned.text
    (build,) = (step for step in planned.document["steps"] if step["kind"] == "build")
    assert (planned.document["wish"]["recipe"], build["recipe"]) == (TODAY, TODAY)
    assert planned.stderr.count(TOLD) == len(words) // 2


def test_settings_may_have_the_former_name(sandbox: Sandbox) -> None:
    shown = sandbox.cli("recipes", "show", NAME, "--json")
    assert (json.loads(shown.stdout)["name"], shown.stderr.count(TOLD)) == (TODAY, 1)
    planned = sandbox.cli("plan", "--new-env", sandbox.root / "none", env={"FASTINSTALL_RECIPE": NAME})
    assert (planned.exit_code, planned.stderr.count(TOLD)) == (0, 1), planned.text


def test_a_saved_plan_of_the_former_recipe_is_read_and_told(sandbox: Sandbox, venv: Venv) -> None:
    saved = sandbox.root / "plan.json"
    plan = sandbox.cli("plan", "--prefix", venv.prefix, "--json").document
    for step in plan["steps"]:
        if step["kind"] == "build":
            step |= {"recipe": NAME, "kernels": step["source"], "base": step["source"]}
    saved.write_text(json.dumps({**plan, "wish": {**plan["wish"], "recipe": NAME}, "facts_digest": "0" * 64}))
    refused = sandbox.cli("apply", "--yes", saved)
    assert (refused.exit_code, "the plan is stale" in refused.stderr) == (5, True), refused.text
    assert refused.stderr.count(TOLD) == 1

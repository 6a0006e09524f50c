"""Wheels that are built once and installed elsewhere, and plans that are saved and applied later."""

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.index.releases import NEWEST
from support.machine.needs import require_system
from support.sandbox import FORK, ONE_LEVEL, STOCK, UNREACHABLE, NewSandbox, Sandbox, Venv, tree_hash
from support.suite import extent

from fastinstall.core.directories import recipes_directory
from fastinstall.model.recipe import Recipe
from fastinstall.observe.recipes import load_recipe
from fastinstall.observe.toolchain import observe_toolchain


@dataclass(frozen=True, kw_only=True)
class Wheelhouse:
    """A directory written by `fastinstall build`, and its only wheel."""

    directory: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(new_sandbox: NewSandbox) -> Iterator[Wheelhouse]:
    with new_sandbox() as sandbox:
        directory = sandbox.root / "wheels"
        result = sandbox.cli("build", "-o", directory, "--python", running().executable, "--json")
        assert result.exit_code == 0, result.text
        yield Wheelhouse(directory=directory, wheel=Path(result.document["wheel"]))


@pytest.fixture
def venv(sandbox: Sandbox) -> Venv:
    return sandbox.venv(running(), pip=False)


def test_a_wheel_built_elsewhere_needs_no_network_or_compiler(sandbox: Sandbox, venv: Venv, built: Wheelhouse) -> None:
    compiler, asked = sandbox.root / "cc", sandbox.root / "asked"
    compiler.write_text(f"#!/bin/sh\n: >>'{asked}'\n")
    compiler.chmod(0o755)
    elsewhere = {**UNREACHABLE, "FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache"), "PATH": str(sandbox.root)}
    words = ("--prefix", venv.prefix, "--wheelhouse", built.directory, "--offline")
    done = sandbox.cli("setup", "--yes", *words, "--json", env=elsewhere)
    assert done.exit_code == 0, done.text
    receipt = done.document
    assert receipt["wheel"] == built.wheel.name
    assert receipt["levels"] == ["x86-64-v2", "x86-64-v3"]
    assert (receipt["recipe"], receipt["left_out"]) == ("pillow-fast", [])
    assert not asked.exists(), "a compiler was looked at for a wheel that is ready"
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    again = sandbox.cli("setup", "--yes", *words, env=elsewhere)
    assert "nothing to do" in again.stdout


@pytest.mark.usefixtures("built")
def test_a_cached_wheel_is_set_up_without_any_build_tools(sandbox: Sandbox, venv: Venv) -> None:
    nothing = {"PATH": str(sandbox.root), "CC": None}
    planned = sandbox.cli("plan", "--prefix", venv.prefix, "--json", env=nothing)
    steps = ("create", "prepare", "build", "prove", "change", "package", "swap", "guard", "pin", "verify")
    assert [step for step in steps if planned.document[step]] == ["build", "prove", "swap", "guard", "verify"]
    assert " from the cache for " in planned.document["summary"]
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, env=nothing)
    assert done.exit_code == 0, done.text
    assert "from the cache" in done.text
    assert sandbox.cli("doctor", "simd-active", "swapped", "--prefix", venv.prefix).exit_code == 0


def test_a_wheel_that_is_not_what_its_sum_says_is_refused(sandbox: Sandbox, venv: Venv, built: Wheelhouse) -> None:
    before = tree_hash(venv.prefix)
    damaged = sandbox.root / "wheels"
    damaged.mkdir()
    content = bytearray(built.wheel.read_bytes())
    content[len(content) // 2] ^= 1
    (damaged / built.wheel.name).write_bytes(content)
    (damaged / "SHA256SUMS").write_bytes((built.directory / "SHA256SUMS").read_bytes())
    result = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--wheelhouse", damaged, "--offline")
    assert result.exit_code == 6, result.text
    assert built.wheel.name in result.stderr
    assert "SHA256SUMS" in result.stderr
    assert "hint: " in result.stderr
    assert tree_hash(venv.prefix) == before


def test_pip_installs_the_built_wheel_and_doctor_finds_no_fault(
    sandbox: Sandbox, venv: Venv, built: Wheelhouse
) -> None:
    installed = venv.pip("install", "--no-index", "--find-links", str(built.directory), "pillow")
    assert installed.exit_code == 0, installed.text
    assert venv.pip("check").exit_code == 0
    doctor = sandbox.cli("doctor", "--prefix", venv.prefix, "--json")
    assert doctor.exit_code == 0, doctor.text
    status = {finding["check"]: finding["status"] for finding in doctor.document["findings"]}
    assert status["simd-active"] == status["operations"] == status["advisories"] == "ok"


def test_the_wheel_names_the_kernels_that_are_in_it(built: Wheelhouse) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/fastinstall.json"))
        told = json.loads(wheel.read(name))
    assert (told["recipe"], told["left_out"]) == ("pillow-fast", [])
    assert {"resize", "reduce", "filter"} <= set(told["kernels"])


def test_the_wheel_carries_our_sbom_beside_upstreams(built: Wheelhouse) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        bills = [name for name in wheel.namelist() if "/sboms/" in name]
        (ours,) = (name for name in bills if name.endswith("/fastinstall.cdx.json"))
        document = json.loads(wheel.read(ours))
    assert len(bills) > 1
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    names = {component["name"] for component in document["components"]}
    assert {"pillow", "zlib-ng"} <= names
    assert "pillow-simd" not in names


@pytest.mark.usefixtures("built")  # the fixture's build has downloaded everything that this test needs
def test_a_build_input_missing_from_the_wheelhouse_is_named(sandbox: Sandbox, venv: Venv) -> None:
    before = tree_hash(venv.prefix)
    wheelhouse = sandbox.root / "sources"
    wheelhouse.mkdir()
    found = (file for file in (sandbox.cache / "downloads").glob("*/*/*") if file.name.endswith((".tar.gz", ".whl")))
    # without our own wheels (a "+" in the version), which come from repairs
    fetched = [file for file in found if "+" not in file.name]
    official = [file for file in fetched if file.name.startswith("pillow-") and file.suffix == ".whl"]
    for file in set(fetched).difference(official):
        shutil.copy(file, wheelhouse)
    alone = {**UNREACHABLE, "FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache")}
    words = ("setup", "--yes", "--prefix", venv.prefix, "--wheelhouse", wheelhouse, "--offline")
    incomplete = sandbox.cli(*words, env=alone)
    assert incomplete.exit_code == 5, incomplete.text
    assert "no official wheel" in incomplete.stderr
    assert "hint: " in incomplete.stderr
    for file in official:
        shutil.copy(file, wheelhouse)
    sdists = [file.name for file in fetched if re.fullmatch(rf"pillow-{NEWEST}\.tar\.gz", file.name)]
    (wheelhouse / "SHA256SUMS").write_text("".join(f"{'0' * 64}  {sdist}\n" for sdist in sdists))
    damaged = sandbox.cli(*words, env=alone)
    assert damaged.exit_code == 6, damaged.text
    assert re.search(rf"{wheelhouse}/pillow-{NEWEST}\.tar\.gz: damaged: sha256 is ", damaged.stderr)
    assert tree_hash(venv.prefix) == before


def test_a_saved_plan_is_carried_out(sandbox: Sandbox, venv: Venv) -> None:
    plan = sandbox.root / "plan.json"
    before = tree_hash(venv.prefix)
    saved = sandbox.cli("plan", "-o", plan, "--prefix", venv.prefix)
    assert saved.exit_code == 0, saved.text
    assert json.loads(plan.read_text(encoding="utf-8"))["schema"] == "fastinstall.plan/1"
    assert tree_hash(venv.prefix) == before
    asked = sandbox.cli("apply", plan)
    assert asked.exit_code == 5, asked.text
    assert f"hint: fastinstall apply --yes {plan}" in asked.stderr
    done = sandbox.cli("apply", "--yes", plan)
    assert done.exit_code == 0, done.text
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0


def test_a_plan_is_stale_once_the_environment_has_changed(sandbox: Sandbox, venv: Venv) -> None:
    plan = sandbox.root / "plan.json"
    assert sandbox.cli("plan", "-o", plan, "--prefix", venv.prefix).exit_code == 0
    assert venv.pip("install", "pillow==12.1.1").exit_code == 0
    before = tree_hash(venv.prefix)
    result = sandbox.cli("apply", "--yes", plan)
    assert result.exit_code == 5, result.text
    assert f"the plan is stale: {venv.prefix} has changed" in result.stderr
    assert "fastinstall plan -o FILE" in result.stderr
    assert tree_hash(venv.prefix) == before


def test_a_plan_grants_none_of_its_own_risks(sandbox: Sandbox, venv: Venv) -> None:
    plan = sandbox.root / "plan.json"
    saved = sandbox.cli("plan", "-o", plan, "--prefix", venv.prefix, *FORK)
    assert saved.exit_code == 0, saved.text
    before = tree_hash(venv.prefix)
    document = json.loads(plan.read_text(encoding="utf-8"))
    risks = [plan_risk["risk"] for plan_risk in document["risks"]]
    assert risks == ["vulnerable"]
    plan.write_text(json.dumps({**document, "risks": []}))
    denied = sandbox.cli("apply", "--yes", plan)
    assert denied.exit_code == 5, denied.text
    assert ": risks: expected " in denied.stderr
    assert "fastinstall plan -o FILE" in denied.stderr
    granted = {"risks": [{**plan_risk, "allowed": True} for plan_risk in document["risks"]]}
    plan.write_text(json.dumps({**document, **granted, "request": {**document["request"], "allow": risks}}))
    granting = sandbox.cli("apply", "--yes", plan)
    assert granting.exit_code == 5, granting.text
    assert f"accept the risk: --allow {','.join(risks)}" in granting.stderr
    assert tree_hash(venv.prefix) == before


@pytest.mark.slow
def test_it_can_keep_the_name_of_the_fork(sandbox: Sandbox, venv: Venv) -> None:
    before = tree_hash(venv.prefix)
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, *FORK, *ONE_LEVEL, "--dist-name", "pillow-simd")
    assert done.exit_code == 0, done.text
    assert "pillow-simd" in venv.pip("list", "--format", "freeze").stdout
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    assert sandbox.cli("rollback", "--yes", "--prefix", venv.prefix).exit_code == 0
    assert tree_hash(venv.prefix) == before


@pytest.mark.slow
def test_stock_pillow_is_built_by_the_same_way(sandbox: Sandbox, venv: Venv) -> None:
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, *STOCK)
    assert done.exit_code == 0, done.text
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    again = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, *STOCK)
    assert "nothing to do" in again.stdout


@pytest.mark.slow
@pytest.mark.skipif(
    not extent.every_row,
    reason="a whole build, where test_reproducible has a small one: --every-row",
)
def test_it_can_be_linked_to_the_libraries_of_the_system(sandbox: Sandbox, venv: Venv) -> None:
    recipe = load_recipe("pillow", (recipes_directory(),))
    require_system(not _missing(recipe, sandbox), "a header that every build needs")
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--link", "system", *STOCK)
    assert done.exit_code == 0, done.text
    assert not (venv.site_packages / "pillow.libs").exists()
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0


def _missing(recipe: Recipe, sandbox: Sandbox) -> list[str]:
    needed = {name: library for name, library in recipe.libraries.items() if library.required}
    found = observe_toolchain(needed, (), variables=sandbox.variables()).libraries
    return [library.name for library in found if library.include is None or library.library is None]

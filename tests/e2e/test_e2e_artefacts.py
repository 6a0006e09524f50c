"""What can be carried elsewhere: wheels built once, and plans made before they are carried out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from interpreters import running
from needs import require_system
from sandbox import UNREACHABLE, NewSandbox, Sandbox, Venv, tree_hash

from fastinstall.model.recipe import Recipe
from fastinstall.probes.recipes import load_recipe
from fastinstall.probes.toolchain import observe_toolchain
from fastinstall.system.resources import recipes_directory


@dataclass(frozen=True, kw_only=True)
class Wheelhouse:
    """A directory of `fastinstall build`, and its one wheel."""

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


def test_a_wheel_built_elsewhere_is_set_up_offline(sandbox: Sandbox, venv: Venv, built: Wheelhouse) -> None:
    elsewhere = {**UNREACHABLE, "FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache"), "PATH": str(sandbox.root)}
    words = ("--prefix", venv.prefix, "--wheelhouse", built.directory, "--offline")
    done = sandbox.cli("setup", "--yes", *words, env=elsewhere)
    assert done.exit_code == 0, done.text
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    again = sandbox.cli("setup", "--yes", *words, env=elsewhere)
    assert "nothing to do" in again.stdout


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


def test_a_plan_is_stale_once_somebody_has_changed_the_environment(sandbox: Sandbox, venv: Venv) -> None:
    plan = sandbox.root / "plan.json"
    assert sandbox.cli("plan", "-o", plan, "--prefix", venv.prefix).exit_code == 0
    assert venv.pip("install", "pillow==12.1.1").exit_code == 0
    before = tree_hash(venv.prefix)
    result = sandbox.cli("apply", "--yes", plan)
    assert result.exit_code == 5, result.text
    assert f"the plan is stale: {venv.prefix} has changed" in result.stderr
    assert "fastinstall plan -o FILE" in result.stderr
    assert tree_hash(venv.prefix) == before


@pytest.mark.slow
def test_it_can_keep_the_name_of_the_fork(sandbox: Sandbox, venv: Venv) -> None:
    before = tree_hash(venv.prefix)
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--dist-name", "pillow-simd")
    assert done.exit_code == 0, done.text
    assert "pillow-simd" in venv.pip("list", "--format", "freeze").stdout
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    assert sandbox.cli("rollback", "--yes", "--prefix", venv.prefix).exit_code == 0
    assert tree_hash(venv.prefix) == before


@pytest.mark.slow
def test_stock_pillow_is_built_by_the_same_way(sandbox: Sandbox, venv: Venv) -> None:
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--recipe", "pillow")
    assert done.exit_code == 0, done.text
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0
    again = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--recipe", "pillow")
    assert "nothing to do" in again.stdout


@pytest.mark.slow
def test_it_can_be_linked_to_the_libraries_of_the_system(sandbox: Sandbox, venv: Venv) -> None:
    recipe = load_recipe("pillow-simd", (recipes_directory(),))
    require_system(not _missing(recipe, sandbox), "a header that every build needs")
    done = sandbox.cli("setup", "--yes", "--prefix", venv.prefix, "--link", "system")
    assert done.exit_code == 0, done.text
    assert not (venv.site_packages / "pillow.libs").exists()
    assert sandbox.cli("doctor", "--prefix", venv.prefix).exit_code == 0


def _missing(recipe: Recipe, sandbox: Sandbox) -> list[str]:
    needed = {name: library for name, library in recipe.libraries.items() if library.required}
    found = observe_toolchain(needed, (), variables=sandbox.variables()).libraries
    return [library.name for library in found if library.include is None or library.library is None]

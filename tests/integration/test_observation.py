"""The observation of a whole environment: with stock Pillow, with a damaged Pillow, without any Pillow."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.environments.guarded import python_at_hand
from support.environments.observed import PILLOW, install_wheel, make_environment, site_packages
from support.values.builders import recipe

from fastinstall.core.errors import UndeterminedError
from fastinstall.model.facts import EnvironmentKind, Facts
from fastinstall.model.guards import GuardState
from fastinstall.observe.environments import locate
from fastinstall.observe.observation import ObservationRequest, facts_of
from fastinstall.observe.session import open_session
from fastinstall.setup.plan import compute_facts_digest

TOOL = Path("/opt/fastinstall")
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def base() -> Path:
    """Return the interpreter that the environments of this module are made from."""
    python = python_at_hand("3.11")
    if python is None:
        pytest.skip("no Python 3.11 here")
    return python


@pytest.fixture
def stock(tmp_path: Path, base: Path) -> Path:
    """Return the prefix of an environment with stock Pillow and imageio, which depends on it."""
    prefix = tmp_path / "an env, é"
    python = make_environment(prefix, base)
    install_wheel(python, f"pillow=={PILLOW}")
    metadata = site_packages(python) / "imageio-2.37.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: imageio\nVersion: 2.37\nRequires-Dist: pillow>=8.3.2\n\n")
    return prefix


def _observe(prefix: Path, *, runtime: bool = False, toolchain: bool = False) -> Facts:
    environment = locate(prefix, None, {}, TOOL)
    request = ObservationRequest(recipe=recipe(), runtime=runtime, toolchain=toolchain)
    variables = {**os.environ, "VIRTUAL_ENV": "/some/env", "CONDA_PREFIX": ""}
    return facts_of(open_session(variables), environment, request)


def _core(prefix: Path) -> Path:
    return next(prefix.glob("lib/python3*/site-packages/PIL/_imaging.*.so"))


def test_everything_of_a_stock_environment_is_seen(stock: Path) -> None:
    facts = _observe(stock, runtime=True)
    core = facts.stack.core
    assert (facts.environment.kind, Path(facts.environment.prefix)) == (EnvironmentKind.VENV, stock)
    assert {name: str(path) for name, path in facts.active.items()} == {"VIRTUAL_ENV": "/some/env"}
    assert (facts.writable, facts.frozen, facts.interrupted) == (True, None, None)
    assert [distribution.name for distribution in facts.distributions] == ["imageio", "pillow"]
    assert [dependant.requirement for dependant in facts.stack.dependants] == ["pillow>=8.3.2"]
    assert core is not None
    assert (core.readable, core.version, core.simd_symbols) == (True, PILLOW, ())
    assert facts.guard == GuardState(installed=False)
    assert facts.runtime is not None
    assert facts.runtime.version == PILLOW
    assert facts.toolchain is None


def test_an_untouched_stack_is_as_its_record_says(stock: Path) -> None:
    stack = _observe(stock).stack
    (owner,) = stack.owners
    assert (owner.missing, owner.mismatched, stack.unclaimed) == ((), (), ())
    assert owner.distribution.installer == "uv"
    assert owner.entries == ("PIL", f"pillow-{PILLOW}.dist-info", "pillow.libs")


def test_a_digest_is_the_same_until_something_changes(stock: Path) -> None:
    before = compute_facts_digest(_observe(stock))
    assert compute_facts_digest(_observe(stock, runtime=True, toolchain=True)) == before
    _core(stock).write_bytes(b"")
    assert compute_facts_digest(_observe(stock)) != before


def test_an_environment_without_pillow_is_seen_so(tmp_path: Path, base: Path) -> None:
    make_environment(tmp_path / "env", base, tool="venv")
    facts = _observe(tmp_path / "env", runtime=True)
    assert (facts.stack.directory, facts.stack.core, facts.distributions) == (None, None, ())
    assert facts.runtime is not None
    assert not facts.runtime.imported


@pytest.mark.parametrize("keep", [0, 4096, -4096])
def test_a_truncated_core_is_not_readable_and_says_why(stock: Path, keep: int) -> None:
    core = _core(stock)
    with core.open("r+b") as stream:
        stream.truncate(keep if keep >= 0 else core.stat().st_size + keep)
    seen = _observe(stock).stack
    assert seen.core is not None
    assert not seen.core.readable
    assert seen.core.problem
    assert len(seen.owners[0].mismatched) == 1


def test_a_core_for_another_python_is_foreign(stock: Path) -> None:
    core = _core(stock)
    core.rename(core.with_name("_imaging.cpython-310-x86_64-linux-gnu.so"))
    stack = _observe(stock).stack
    assert stack.core is None
    assert stack.foreign_cores == ("PIL/_imaging.cpython-310-x86_64-linux-gnu.so",)


def test_a_frozen_conda_environment_is_told(stock: Path) -> None:
    (stock / "conda-meta").mkdir()
    (stock / "conda-meta/frozen").touch()
    facts = _observe(stock)
    assert facts.environment.kind is EnvironmentKind.CONDA
    assert facts.frozen == stock / "conda-meta/frozen"


def test_the_toolchain_is_seen_where_it_is_asked_for(stock: Path) -> None:
    toolchain = _observe(stock, toolchain=True).toolchain
    assert toolchain is not None
    assert [library.name for library in toolchain.libraries] == list(recipe().libraries)


def test_an_interpreter_that_gives_no_answer_ends_observation(stock: Path) -> None:
    environment = replace(locate(stock, None, {}, TOOL), python=Path("/bin/true"))
    request = ObservationRequest(recipe=recipe(), runtime=True)
    with pytest.raises(UndeterminedError, match="not that of a Python"):
        facts_of(open_session(os.environ), environment, request)

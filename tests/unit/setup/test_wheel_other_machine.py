"""A wheel for another machine is built by this machine's Python, and proven by a Python that the user names."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from support.values.build_requests import build_step
from support.values.builders import healthy_facts, recipe
from support.values.sessions import a_session

from fastinstall.core.architecture import AARCH64, X86_64, architecture_of
from fastinstall.core.errors import RefusedError
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings
from fastinstall.index.run import Run
from fastinstall.model.facts import Interpreter
from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget
from fastinstall.setup import wheel
from fastinstall.setup.foresee import describe_python
from fastinstall.setup.plan import WheelPlan
from fastinstall.setup.proven_wheel import ProofContext
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.prepare import FetchedInputs
from fastinstall.setup.wheel import Emulation, build_proven_wheel
from fastinstall.wheelbuild.build_inputs import BuildResult

HERE = describe_python(healthy_facts().interpreter, architecture_of(os.uname().machine))
FOREIGN = next(each for each in (AARCH64, X86_64) if each.machine != HERE.machine)
THERE = describe_python(HERE, FOREIGN)
RESULT = BuildResult(wheel=Path("made.whl"), sha256="0" * 64, from_cache=False)


@dataclass(slots=True)
class _Heard:
    """Records of what was fetched, built and proven."""

    fetched_for: list[str] = field(default_factory=list)
    made_for: list[Interpreter] = field(default_factory=list)
    proven: list[ProofContext] = field(default_factory=list)


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., _Heard]:
    """Return a function that builds a wheel and only records what it would fetch, compile and prove."""
    heard = _Heard()
    context = Run(
        session=a_session(tmp_path),
        recipe=recipe(),
        index=PackageIndex(settings=PipSettings()),
        cache=tmp_path,
        cpu=healthy_facts().cpu,
    )

    def fetch(_steps: Any, given: Run) -> FetchedInputs:
        heard.fetched_for.append(given.cpu.architecture)
        return FetchedInputs()

    def make(_step: Build, interpreter: Interpreter, *_: Any) -> BuildResult:
        heard.made_for.append(interpreter)
        return RESULT

    def prove(step: Build, make: Callable[[Build], BuildResult], where: ProofContext, _context: Any) -> BuildResult:
        heard.proven.append(where)
        return make(step)

    monkeypatch.setattr(wheel, "open_run", lambda *_: context)
    monkeypatch.setattr(wheel, "fetch_inputs", fetch)
    monkeypatch.setattr(wheel, "make_proven_wheel", prove)
    monkeypatch.setattr(Build, "make", make)
    monkeypatch.setattr(wheel, "observe_interpreter", lambda path: replace(THERE, executable=path))

    def run(interpreter: Interpreter, how: Emulation) -> _Heard:
        planned = WheelPlan(
            request=Request(), interpreter=interpreter, prepare=(), build=build_step(), risks=(), warnings=()
        )
        monkeypatch.setattr(wheel, "look_for_wheel", lambda *_: planned)
        build_proven_wheel(a_session(tmp_path), NamedTarget(machine=interpreter.machine), Request(), how)
        return heard

    return run


def test_it_is_made_for_that_machine_and_proven_by_its_python(build: Callable[..., _Heard]) -> None:
    heard = build(THERE, Emulation(pythons=(Path("/opt/python-there"),)))
    assert heard.fetched_for == [FOREIGN.machine]
    assert heard.made_for == [THERE]
    (proof,) = heard.proven
    assert proof.interpreter.executable == Path("/opt/python-there")
    assert proof.cpu.architecture == FOREIGN.machine
    assert proof.cpu.is_emulated


def test_without_a_proof_it_is_made_all_the_same(build: Callable[..., _Heard]) -> None:
    heard = build(THERE, Emulation(unproven=True))
    assert heard.made_for == [THERE]
    assert heard.proven == []


def test_nothing_is_fetched_where_nothing_can_prove_it(build: Callable[..., _Heard]) -> None:
    with pytest.raises(RefusedError):
        build(THERE, Emulation())
    assert build(HERE, Emulation()).fetched_for == [healthy_facts().cpu.architecture]


def test_on_this_machine_its_own_python_proves_whatever_is_named(build: Callable[..., _Heard]) -> None:
    heard = build(HERE, Emulation(pythons=(Path("/opt/python-there"),), unproven=True))
    (proof,) = heard.proven
    assert proof.interpreter is HERE
    assert proof.cpu == healthy_facts().cpu
    assert not proof.cpu.is_emulated

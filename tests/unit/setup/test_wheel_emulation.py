"""Which of the named Pythons can prove a wheel for another machine, and the message if none can."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.suite.golden import Golden
from support.values.builders import healthy_facts

from fastinstall.core.architecture import AARCH64
from fastinstall.core.errors import RefusedError, UsageError
from fastinstall.model.facts import Interpreter
from fastinstall.setup import wheel
from fastinstall.setup.foresee import describe_python
from fastinstall.setup.wheel import Emulation, find_emulated_python

HERE = healthy_facts().interpreter
THERE = describe_python(HERE, AARCH64)


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the observation of interpreters by a table of programs and their descriptions."""
    known = {
        "arm311": THERE,
        "arm312": replace(THERE, version="3.12.3", abi="cp312"),
        "own": HERE,
    }

    def observe(python: Path) -> Interpreter:
        return known[python.name]

    monkeypatch.setattr(wheel, "observe_interpreter", observe)


def test_the_python_of_that_abi_and_machine_is_used_by_its_name() -> None:
    named = Emulation(pythons=(Path("/opt/own"), Path("/opt/arm312"), Path("/opt/arm311")))
    found = find_emulated_python(named, THERE)
    assert found is not None
    assert (found.executable, found.abi, found.machine) == (Path("/opt/arm311"), "cp311", "aarch64")


def test_another_is_refused_and_named(golden: Golden) -> None:
    with pytest.raises(UsageError) as refused:
        find_emulated_python(Emulation(pythons=(Path("own"), Path("arm312"))), THERE)
    golden(refused.value)


def test_without_one_nothing_is_built_unless_that_is_asked_for(golden: Golden) -> None:
    with pytest.raises(RefusedError) as refused:
        find_emulated_python(Emulation(), THERE)
    golden(refused.value)
    assert find_emulated_python(Emulation(unproven=True), THERE) is None

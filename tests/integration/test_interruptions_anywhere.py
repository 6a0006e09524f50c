"""An interruption at any moment ends the command that runs, and removes a new environment."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.journal.signals import all_ended, outcomes
from support.values.build_requests import build_step
from support.values.builders import environment, request
from support.values.plans import parts_of

from fastinstall.core.errors import FailedError
from fastinstall.core.events import ignore
from fastinstall.core.process import conversation, run
from fastinstall.setup import carry_out
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.steps.prove import Prove, Verify
from fastinstall.setup.steps.swap import Swap

STACK = (
    replace(build_step(), cached="5d" * 32),
    Prove(reference=None, reason=""),
    Swap(removes=(), entries=(), installs="", reason=""),
    Verify(checks=(), reason=""),
)


def _commanded() -> None:
    run(("/bin/true",), timeout=60)


def _talked() -> None:
    with conversation(("/bin/cat",)) as talk:
        assert talk.ask("here") == "here\n"


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()


@pytest.mark.parametrize("scene", [_commanded, _talked])
def test_an_interruption_at_any_moment_ends_the_command(scene: Callable[[], None]) -> None:
    _commanded()  # the first command also starts the shell that kills orphans; this shell stays alive
    before = _children()
    moments = 0
    for moment, error in outcomes(scene):
        assert type(error) is KeyboardInterrupt, (moment, error)
        assert _children() == before, moment
        moments += 1
    assert moments > 50
    assert all_ended(1)


def test_an_interruption_at_any_moment_removes_a_new_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the lock reads the list of all processes, which takes too long here
    monkeypatch.setattr(carry_out, "hold_environment_lock", nullcontext)
    prefix = tmp_path / "new"
    step = CreateEnvironment(prefix=prefix, python=tmp_path / "none", reason="requested")
    where = replace(environment(), prefix=prefix)
    plan = Plan(environment=where, facts_digest="", request=request(), summary="", **parts_of(step, *STACK))
    silent = cast("Any", SimpleNamespace(emit=ignore, cache=tmp_path))

    def scene() -> None:
        with pytest.raises(FailedError):
            carry_out.replace_stack(plan, silent)

    for moment, error in outcomes(scene, every=7):
        assert type(error) is KeyboardInterrupt, (moment, error)
        assert not prefix.exists(), moment

"""What a plan is expected to take, and to bring."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.values.builders import environment
from support.values.sessions import a_session

from fastinstall.apply.expectations import describe_expected_gain, estimate_seconds
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.request import LinkMode, Request
from fastinstall.plan.plan import Plan
from fastinstall.steps.build import Build
from fastinstall.steps.prove import Prove
from fastinstall.steps.swap import Swap

BUILD = Build(
    recipe="pillow-fast",
    source=None,
    base_wheel=None,
    distribution="pillow",
    version="13.0.0+simd.v3",
    targets=(LevelTarget(level="x86-64-v3", cflags=(), ldflags=()),),
    link=LinkMode.BUNDLE,
    libraries=(),
    jobs=2,
    reason="a test",
)
PLAN = Plan(
    environment=environment(),
    facts_digest="0",
    request=Request(),
    steps=(BUILD, Prove(reference=None, reason=""), Swap(removes=(), entries=(), installs="", reason="")),
    summary="a test",
)


def test_compiling_takes_longer_than_what_was_built_before_and_that_longer_than_nothing() -> None:
    ready = replace(PLAN, steps=(replace(BUILD, cached="5d" * 32), *PLAN.steps[1:]))
    compiled, taken, moved = map(estimate_seconds, (PLAN, ready, replace(PLAN, steps=PLAN.steps[2:])))
    assert compiled > taken > moved


def test_a_gain_on_another_architecture_is_none_here(tmp_path: Path) -> None:
    build = replace(BUILD, targets=(LevelTarget(level="armv8-a", cflags=(), ldflags=()),))
    steps = (build, Prove(reference=None, reason=""))
    gain = describe_expected_gain(a_session(tmp_path), replace(PLAN, steps=steps))
    assert "aarch64" in gain
    assert "times" not in gain


@pytest.mark.parametrize(("official", "is_told_otherwise"), [("13.0.0", False), ("12.3.0", True)])
def test_a_gain_that_was_measured_against_another_pillow_is_told_as_such(
    tmp_path: Path, official: str, *, is_told_otherwise: bool
) -> None:
    wheel = Artefact(name="pillow", version=official, filename="w.whl", url="https://a/w.whl", sha256="0" * 64)
    steps = (BUILD, Prove(reference=wheel, baseline=wheel, reason=""))

    gain = describe_expected_gain(a_session(tmp_path), replace(PLAN, steps=steps))

    assert "13.0.0" in gain
    assert ("12.3.0" in gain) is is_told_otherwise

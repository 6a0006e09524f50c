"""The expected time and gain of a plan."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.values.builders import environment
from support.values.sessions import a_session

from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.request import LinkMode, Request
from fastinstall.setup.expectations import describe_expected_gain, estimate_seconds
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.prove import Prove
from fastinstall.setup.steps.swap import Swap

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
    build=BUILD,
    prove=Prove(reference=None, reason=""),
    swap=Swap(removes=(), entries=(), installs="", reason=""),
    summary="a test",
)


def test_compiling_takes_longer_than_reuse_and_that_than_nothing(tmp_path: Path) -> None:
    ready = replace(PLAN, build=replace(BUILD, cached="5d" * 32))
    plans = (PLAN, ready, replace(PLAN, build=None, prove=None))
    compiled, taken, moved = (estimate_seconds(plan, tmp_path) for plan in plans)
    assert compiled > taken > moved


def test_fewer_cores_and_more_levels_take_longer(tmp_path: Path) -> None:
    def estimate(build: Build) -> float:
        return estimate_seconds(replace(PLAN, build=build), tmp_path)

    two = replace(BUILD, targets=2 * BUILD.targets)
    assert estimate(replace(two, jobs=1)) > 1.5 * estimate(replace(two, jobs=2))
    assert estimate(two) > estimate(BUILD)
    assert estimate(replace(two, jobs=64)) > 10, "what runs on one core stays"


def test_a_gain_on_another_architecture_is_none_here(tmp_path: Path) -> None:
    build = replace(BUILD, targets=(LevelTarget(level="armv8-a", cflags=(), ldflags=()),))
    gain = describe_expected_gain(a_session(tmp_path), replace(PLAN, build=build))
    assert "aarch64" in gain
    assert "times" not in gain


@pytest.mark.parametrize(("official", "is_told_otherwise"), [("13.0.0", False), ("12.3.0", True)])
def test_a_gain_measured_against_another_pillow_says_so(
    tmp_path: Path, official: str, *, is_told_otherwise: bool
) -> None:
    wheel = Artefact(name="pillow", version=official, filename="w.whl", url="https://a/w.whl", sha256="0" * 64)
    proof = Prove(reference=wheel, baseline=wheel, reason="")

    gain = describe_expected_gain(a_session(tmp_path), replace(PLAN, prove=proof))

    assert "13.0.0" in gain
    assert ("12.3.0" in gain) is is_told_otherwise

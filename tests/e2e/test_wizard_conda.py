"""The wizard in a conda environment, as a person at a terminal of 80 columns meets it.

Needs a package index and a C compiler.
"""

from pathlib import Path

import pytest
from conda_channel import CondaChannel
from conda_environments import USUAL, NewEnvironment, builds
from real_conda import RealConda
from sandbox import Sandbox, tree_hash
from terminal import CTRL_C, DOWN, ENTER, Terminal, terminal

pytest_plugins = ("conda_fixtures",)

MENU = "What now?"


@pytest.fixture
def prefix(conda_environment: NewEnvironment, sandbox: Sandbox) -> Path:
    return conda_environment(sandbox.root / "env", *USUAL)


def test_it_leads_by_py_rattler_to_a_package_of_condas_and_to_the_flags_that_ask_for_the_same(
    sandbox: Sandbox, conda: RealConda, channel: CondaChannel, prefix: Path
) -> None:
    variables = sandbox.variables(conda.variables)
    with terminal("setup", "--prefix", prefix, variables=variables, directory=sandbox.root) as shown:
        shown.expect(f"environment {prefix} (conda)")
        shown.expect(f"conda {conda.version}, ")
        shown.expect(f"conda package pillow-{channel.pillow}-")
        after = shown.expect("make conda packages of it, linked by conda: pillow-13.0.0-simd_v2v3_")
        after = shown.expect(MENU, after=after)
        after = _customize(shown, after, engine="rattler")
        after = shown.expect("make conda packages of it, linked by py-rattler: pillow-13.0.0-simd_v2v3_", after=after)
        after = shown.expect(f"{channel.pillow}-py", after=after)
        shown.expect(MENU, after=after)
        shown.press(ENTER)
        assert shown.end() == 0, shown.text
        assert f"fastinstall setup --yes --prefix {prefix} --engine rattler".encode() in shown.raw
    assert builds(prefix)["pillow"].startswith("13.0.0 simd_v2v3_")
    assert "fastinstall-guard" in builds(prefix)


def test_a_wheel_can_be_had_too_and_its_weakness_is_told(sandbox: Sandbox, conda: RealConda, prefix: Path) -> None:
    before = tree_hash(prefix)
    variables = sandbox.variables(conda.variables)
    with terminal("setup", "--prefix", prefix, variables=variables, directory=sandbox.root) as shown:
        after = _customize(shown, shown.expect(MENU), engine="pip")
        assert "which conda overwrites sooner or later" in shown.words
        after = shown.expect("as a wheel, which conda does not know of", after=after)
        after = shown.expect("warning: --engine pip: conda does not know of what is put in", after=after)
        shown.expect(MENU, after=after)
        shown.press(CTRL_C)
        assert shown.end() == 130
    assert tree_hash(prefix) == before


def _customize(shown: Terminal, after: int, *, engine: str) -> int:
    """Answer the questions of Customize; where the last one ends is returned."""
    shown.press(DOWN, ENTER)
    for question in ("Which recipe?", "Version of the source", "Which CPU level?", "Which libraries?"):
        after = shown.expect(question, after=after)
        shown.press(ENTER)
    after = shown.expect("Who installs it?", after=after)
    shown.press(*[DOWN] * ["auto", "conda", "rattler", "pip"].index(engine), ENTER)
    guards = (
        "start-up guard, which notices a swap" if engine == "pip" else "guards, which have conda keep it and notice a"
    )
    after = shown.expect(f"Install the {guards}", after=after)
    shown.press("y")
    return after

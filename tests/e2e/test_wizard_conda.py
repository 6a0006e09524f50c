"""The wizard in a conda environment, in a terminal of 80 columns.

Needs a package index and a C compiler.
"""

import re
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel
from support.conda.environments import USUAL, NewEnvironment, builds
from support.conda.real_conda import RealConda
from support.index.releases import NEWEST
from support.sandbox import Sandbox, tree_hash
from support.terminal.pseudo_terminal import CTRL_C, terminal
from support.terminal.wizard_person import MENU, TOPICS, Person

pytest_plugins = ("support.conda.fixtures",)


@pytest.fixture
def prefix(conda_environment: NewEnvironment, sandbox: Sandbox) -> Path:
    return conda_environment(sandbox.root / "env", *USUAL)


def test_py_rattler_links_a_conda_package_and_flags_are_shown(
    sandbox: Sandbox, conda: RealConda, channel: CondaChannel, prefix: Path
) -> None:
    variables = sandbox.variables(conda.variables)
    with terminal("setup", "--prefix", prefix, variables=variables, directory=sandbox.root) as shown:
        person = Person(shown=shown)
        person.reads("Environment ./env (conda)")
        person.reads(f"Pillow {channel.pillow}, stock build, installed by conda")
        person.reads("make the conda package pillow-")
        _choose_engine(person, "rattler", guards="Have conda keep it, and warn when another tool replaces it?")
        person.reads("of it, linked by py-rattler")
        assert re.search(rf"make the conda package pillow-{NEWEST}-simd_v2v3_", shown.words)
        person.chooses(MENU, "Proceed")
        assert shown.end() == 0, shown.text
        assert f"fastinstall setup --yes --prefix {prefix} --engine rattler".encode() in shown.raw
    assert re.match(rf"{NEWEST} simd_v2v3_", builds(prefix)["pillow"])
    assert "fastinstall-guard" in builds(prefix)


def test_a_wheel_can_be_had_too_and_its_weakness_is_told(sandbox: Sandbox, conda: RealConda, prefix: Path) -> None:
    before = tree_hash(prefix)
    variables = sandbox.variables(conda.variables)
    with terminal("setup", "--prefix", prefix, variables=variables, directory=sandbox.root) as shown:
        person = Person(shown=shown)
        _choose_engine(person, "pip", meaning="conda may silently", guards="Warn when another tool replaces it?")
        person.reads("warning: --engine pip: conda does not know of this wheel")
        person.reads(MENU)
        shown.press(CTRL_C)
        assert shown.end() == 130
    assert tree_hash(prefix) == before


def _choose_engine(person: Person, engine: str, *, guards: str, meaning: str = "") -> None:
    """Choose an engine under "Customize"; check the menu's words about the engine, and the guards offered for it."""
    person.chooses(MENU, "Customize")
    person.chooses(TOPICS, "Installed by")
    person.shown.expect(meaning, after=person.after)
    person.chooses("Which tool installs it?", engine)
    person.chooses(TOPICS, "Guard")
    person.chooses(guards, "Back")
    person.chooses(TOPICS, "Continue")

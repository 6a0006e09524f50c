"""`fastinstall setup` in conda environments, with both engines: the stack is built, kept by solvers, rolled back.

Needs a package index and a C compiler. conda (24.7.1) is real, and so are Python, Pillow and the image libraries in the
local channel.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel, local_channel, tool
from support.conda.environments import NewEnvironment, builds, classic_recipe, simd_wheel
from support.conda.packages import CondaPackage
from support.conda.real_conda import RealConda
from support.index.releases import NEWEST
from support.sandbox import UNREACHABLE, Result, Sandbox, run, tree_hash
from support.suite import extent

from fastinstall.model.request import Request
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.session import open_session
from fastinstall.verbs.repair import plan_repair

pytest_plugins = ("support.conda.fixtures",)

ALL = extent.every_row
ENGINES = ("conda", "rattler")
TODAY = ("python", "pip", "pillow=12.1.1", "libtiff", "imgtool", "puretool=1.0")
OLD = ("python", "pip", "pillow=9.5.0", "jpeg", "libtiff", "imgtool", "puretool=1.0")
"""Packages as `defaults` once had them: Pillow and libtiff linked with IJG's libjpeg."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A conda environment, and methods that run commands on it."""

    sandbox: Sandbox
    conda: RealConda
    prefix: Path
    engine: str

    def cli(self, verb: str, *words: str | Path, offline: bool = False) -> Result:
        """Run fastinstall on this environment."""
        network = UNREACHABLE if offline else {}
        return self.sandbox.cli(verb, "--prefix", self.prefix, *words, env={**self.conda.variables, **network})

    def setup(self, *words: str) -> Result:
        """Set the environment up with the engine under test."""
        return self.cli("setup", "--yes", "--engine", self.engine, *words)

    def conda_does(self, command: str, *words: str) -> Result:
        """Run a conda command on this environment."""
        return self.conda.run(command, "--yes", "--quiet", "--prefix", self.prefix, *words)

    @property
    def pillow(self) -> str:
        """The build string of conda's package `pillow`."""
        return builds(self.prefix)["pillow"]


NewPlace = Callable[..., Place]


@pytest.fixture
def new_place(conda_environment: NewEnvironment, conda: RealConda, channel: CondaChannel, sandbox: Sandbox) -> NewPlace:
    # A conda with its own package cache: the shared cache has packages of other tests.
    own = conda.at(sandbox.root / "conda", channel.url)

    def make(engine: str, *specs: str) -> Place:
        prefix = conda_environment(sandbox.root / "env", *specs)
        return Place(sandbox=sandbox, conda=own, prefix=prefix, engine=engine)

    return make


@pytest.mark.main
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("specs", [TODAY, OLD] if ALL else [TODAY], ids=["today", "old"] if ALL else ["today"])
def test_a_conda_environment_gets_the_stack_and_gives_it_back(
    new_place: NewPlace, specs: tuple[str, ...], engine: str
) -> None:
    place = new_place(engine, *specs)
    before = tree_hash(place.prefix)
    done = place.setup("--allow", "feature-loss")
    assert done.exit_code == 0, done.text
    assert re.match(rf"{NEWEST} simd_v2v3_", place.pillow)
    assert "fastinstall-guard" in builds(place.prefix)
    assert place.cli("doctor").exit_code == 0, place.cli("doctor").text
    checked = run((place.prefix / "bin/python", "-B", "-m", "pip", "check"), place.conda.variables)
    assert checked.exit_code == 0, checked.text
    again = place.setup()
    assert again.exit_code == 0, again.text
    assert "nothing to do" in again.stdout
    undone = place.cli("rollback", "--yes", offline=True)
    assert undone.exit_code == 0, undone.text
    assert tree_hash(place.prefix) == before


@pytest.mark.parametrize("engine", ENGINES if ALL else ENGINES[:1])
def test_conda_keeps_the_stack_or_refuses_in_words(
    new_place: NewPlace, channel: CondaChannel, sandbox: Sandbox, engine: str
) -> None:
    place = new_place(engine, *TODAY)
    before = place.pillow
    done = place.setup()
    assert done.exit_code == 0, done.text
    ours = place.pillow
    newer = local_channel(sandbox.root / "newer", CondaPackage(name="pillow", version="99.0", build="h0_0"))
    place.conda.configured(newer, channel.url)
    for command in (("install", "puretool=1.1"), ("update", "--all"), ("remove", "puretool")):
        kept = place.conda_does(*command)
        assert kept.exit_code == 0, kept.text
        assert place.pillow == ours, command
    refused = place.conda_does("install", "pillow=99.0")
    assert refused.exit_code != 0
    assert "fastinstall-guard" in refused.text
    assert place.pillow == ours
    assert place.cli("doctor").exit_code == 0
    undone = place.cli("rollback", "--yes", offline=True)
    assert undone.exit_code == 0, undone.text
    assert "which conda has removed" not in undone.stdout
    assert {"libjpeg-turbo", "libtiff", "openjpeg"} <= set(builds(place.prefix))
    assert place.pillow == before
    assert "fastinstall-guard" not in builds(place.prefix)


def test_what_conda_has_swapped_is_told_and_repaired(new_place: NewPlace, channel: CondaChannel) -> None:
    place = new_place("conda", *TODAY)
    assert place.setup().exit_code == 0
    ours = place.pillow
    place.conda.configured(channel.url)
    swapped = place.conda_does("remove", "--force", "fastinstall-guard")
    assert swapped.exit_code == 0, swapped.text
    swapped = place.conda_does("install", "pillow=12.1.1=py*")
    assert swapped.exit_code == 0, swapped.text
    assert place.pillow != ours
    told = place.cli("doctor", "--json")
    assert told.exit_code == 3
    (finding,) = [
        each for each in told.document["findings"] if each["check"] == "swapped" and each["status"] == "error"
    ]
    assert "conda" in json.dumps(finding)
    repaired = place.cli("doctor", "--fix", "--yes", offline=True)
    assert repaired.exit_code == 0, repaired.text
    assert place.pillow == ours
    assert place.cli("doctor").exit_code == 0
    _is_kept_where_it_was_forced(place, channel)


def _is_kept_where_it_was_forced(place: Place, channel: CondaChannel) -> None:
    """Assert that a repair is planned for the version that an installed package requires."""
    forcing = local_channel(place.sandbox.root / "forcing", tool("keeper", "1.0", "pillow 12.1.1"))
    place.conda.configured(forcing, channel.url)
    for words in (("remove", "--force", "fastinstall-guard"), ("install", "keeper")):
        done = place.conda_does(*words)
        assert done.exit_code == 0, done.text
    session = open_session(place.sandbox.variables(place.conda.variables))
    planned = plan_repair(session, find_environment(session, NamedTarget(prefix=place.prefix)), Request())
    assert (planned.request.version, planned.risks) == ("12.1.1", ())
    assert "keeper 1.0 requires pillow==12.1.1" in planned.warnings[0]


@pytest.mark.parametrize("engine", ENGINES if ALL else ENGINES[1:])
def test_classic_recipe_damage_is_repaired_and_the_repair_undone(
    new_place: NewPlace, channel: CondaChannel, engine: str
) -> None:
    place = new_place(engine, *OLD)
    classic_recipe(place.conda, place.prefix, simd_wheel(channel.wheel, place.sandbox.root))
    before = tree_hash(place.prefix)
    assert place.cli("doctor").exit_code == 3
    variables = {**place.conda.variables, "FASTINSTALL_ENGINE": engine, "FASTINSTALL_ALLOW": "feature-loss,downgrade"}
    repaired = place.sandbox.cli("doctor", "--fix", "--yes", "--json", "--prefix", place.prefix, env=variables)
    assert repaired.exit_code == 0, repaired.text
    assert {each["status"] for each in repaired.document["findings"]} <= {"ok", "hint", "skipped"}, repaired.text
    assert (place.prefix / "lib/libjpeg.so").resolve().name.startswith("libjpeg.so.62")
    assert "LIBJPEG_TURBO" in (place.prefix / "include/jconfig.h").read_text()
    undone = place.cli("rollback", "--yes", offline=True)
    assert undone.exit_code == 0, undone.text
    assert tree_hash(place.prefix) == before

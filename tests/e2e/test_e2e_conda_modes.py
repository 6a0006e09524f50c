"""Less common setups in a conda environment: a wheel, no guard, a pin, a saved plan, unusual initial states.

Needs a package index and a C compiler.
"""

import re
from collections.abc import Callable

import pytest
from support.conda.channel import CondaChannel, local_channel
from support.conda.environments import USUAL, NewEnvironment, builds
from support.conda.packages import CondaPackage
from support.conda.real_conda import RealConda
from support.conda.shared_environment import REFUSED, Scene
from support.index.releases import NEWEST
from support.sandbox import Sandbox, run, tree_hash

from fastinstall.journal.store import JournalStore

pytest_plugins = ("support.conda.fixtures",)

OURS = re.compile(rf"{NEWEST} simd_v2v3_")
NewScene = Callable[..., Scene]


@pytest.fixture
def new_scene(conda_environment: NewEnvironment, conda: RealConda, channel: CondaChannel, sandbox: Sandbox) -> NewScene:
    # A conda with its own package cache: the shared cache has packages of other tests.
    own = conda.at(sandbox.root / "conda", channel.url)

    def make(*specs: str, name: str = "env") -> Scene:
        return Scene(sandbox=sandbox, conda=own, prefix=conda_environment(sandbox.root / name, *specs))

    return make


def test_a_wheel_is_called_weak_and_restored_after_condas_swap(new_scene: NewScene, channel: CondaChannel) -> None:
    scene = new_scene(*USUAL, name="an env with spaces")
    made = scene.done("setup", "--yes", "--engine", "pip")
    assert "warning: --engine pip: " in made.stderr
    assert scene.pillow.startswith(channel.pillow)
    healthy = scene.cli("doctor", "--json")
    assert healthy.exit_code == 0, healthy.text
    (weak,) = [each for each in healthy.document["findings"] if (each["check"], each["status"]) == ("guards", "hint")]
    assert "wheel" in weak["message"]
    assert weak["remedy"]["command"] == f"fastinstall setup --prefix '{scene.prefix}' --engine auto"
    update = ("conda", "update", "--yes", "--quiet", "--all", "--prefix", scene.prefix)
    updated = scene.conda.run(*update[1:])
    assert updated.exit_code == 0, updated.text
    swapped = scene.errors()["swapped"]
    assert f"was replaced by conda's pillow {channel.newer_pillow}" in swapped["message"]
    assert " ".join(map(str, update)) in swapped["message"]  # the command, as conda's history records it
    before = tree_hash(scene.prefix)
    repaired = scene.done("doctor", "--fix", "--yes")
    assert re.search(rf"pillow {NEWEST}\+simd\.v2\.v3 in {re.escape(str(scene.prefix))}\n", repaired.stdout)
    repair = JournalStore(scene.prefix).transactions()[0].id
    scene.done("rollback", "--yes", "--to", repair)
    assert tree_hash(scene.prefix) == before


def test_without_a_guard_package_doctor_reports_condas_swap(new_scene: NewScene, channel: CondaChannel) -> None:
    scene = new_scene(*USUAL)
    made = scene.done("setup", "--yes", "--engine", "rattler", "--no-guard")
    assert "there is no guard package" in made.stderr
    assert OURS.match(scene.pillow)
    assert "fastinstall-guard" not in builds(scene.prefix)
    assert scene.cli("doctor").exit_code == 0
    scene.conda.configured(channel.url)
    scene.conda.install(scene.prefix, f"pillow={channel.newer_pillow}=py*")
    assert not OURS.match(scene.pillow)
    swapped = scene.errors()["swapped"]
    assert f"was replaced by conda's pillow {channel.newer_pillow}" in swapped["message"]
    assert "conda install" in swapped["message"]
    assert swapped["remedy"]["command"] == f"fastinstall doctor --fix --prefix {scene.prefix}"


def test_pips_pillow_over_condas_is_replaced_and_a_pin_written(new_scene: NewScene, channel: CondaChannel) -> None:
    scene = new_scene(*USUAL)
    over = ("install", "--quiet", "--no-deps", "--no-index", "--ignore-installed", channel.wheel)
    installed = run((scene.prefix / "bin/python", "-m", "pip", *over), scene.conda.variables)
    assert installed.exit_code == 0, installed.text
    before = tree_hash(scene.prefix)
    scene.done("setup", "--yes", "--engine", "conda", "--pin")
    assert OURS.match(scene.pillow)
    (metadata,) = scene.prefix.glob("lib/python3*/site-packages/pillow-*.dist-info")
    assert re.fullmatch(rf"pillow-{NEWEST}\+simd\.v2\.v3\.dist-info", metadata.name)
    assert (scene.prefix / "conda-meta/pinned").read_text() == "pillow * simd_*\n"
    assert scene.cli("doctor").exit_code == 0
    scene.done("rollback", "--yes")
    assert tree_hash(scene.prefix) == before


def test_a_saved_plan_applies_unless_the_environment_has_changed(new_scene: NewScene) -> None:
    scene = new_scene("python", "pip", "puretool=1.0")
    saved = scene.sandbox.root / "plan.json"
    scene.done("plan", "--engine", "rattler", "-o", saved)
    scene.conda.install(scene.prefix, "puretool=1.1")
    before = tree_hash(scene.prefix)
    stale = scene.run("apply", "--yes", saved)
    assert stale.exit_code == REFUSED
    assert f"the plan is stale: {scene.prefix} has changed" in stale.stderr
    assert ": fastinstall plan -o " in stale.stderr
    assert tree_hash(scene.prefix) == before
    scene.done("plan", "--engine", "rattler", "-o", saved)
    applied = scene.run("apply", "--yes", saved)
    assert applied.exit_code == 0, applied.text
    assert OURS.match(scene.pillow)
    assert scene.cli("doctor").exit_code == 0
    scene.done("rollback", "--yes")
    assert tree_hash(scene.prefix) == before


def test_a_change_to_python_is_shown_and_needs_consent_by_name(new_scene: NewScene, channel: CondaChannel) -> None:
    scene = new_scene(f"python={channel.earlier_python}", "pip", "pillow=12.1.1")
    wants_another = CondaPackage(
        name="zlib", version="1.3.1", build="h0_9", build_number=9, depends=(f"python >{channel.earlier_python}",)
    )
    other = local_channel(scene.sandbox.root / "other", wants_another)
    linked = ("--link", "env", "--channel", f"{other},{channel.url}", "--allow", "feature-loss")
    shown = scene.cli("plan", "--engine", "rattler", *linked)
    assert f"python: {channel.earlier_python} -> {channel.python}" in shown.text
    error = scene.refuses("--engine", "rattler", *linked)
    assert ": --allow feature-loss,protected-packages" in error

"""Bad input in a conda environment: the documented exit code, a message that names it, and no change on disk.

Needs a package index and a C compiler, but only for the local conda channel: the tests build no wheel.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel, local_channel
from support.conda.environments import USUAL, NewEnvironment, rattler_environment
from support.conda.packages import CondaPackage
from support.conda.real_conda import RealConda
from support.conda.shared_environment import FAILED, REFUSED, Scene
from support.environments.interpreters import running
from support.index.releases import NEWEST
from support.machine.needs import require_system
from support.sandbox import NewSandbox, Sandbox, run, tree_hash

pytest_plugins = ("support.conda.fixtures",)

NOWHERE = "file:///nowhere"
NOBODY_LISTENS = "http://127.0.0.1:9/channel"
"""The port of the service `discard` (RFC 863), on which no server listens."""

LINKED = ("--link", "env", "--allow", "feature-loss")
"""Arguments that require a package which is not installed."""


@pytest.fixture(scope="module")
def scene(conda_environment: NewEnvironment, conda: RealConda, new_sandbox: NewSandbox) -> Iterator[Scene]:
    """Yield one environment for all tests; each test undoes its changes."""
    with new_sandbox() as sandbox:
        yield Scene(sandbox=sandbox, conda=conda, prefix=conda_environment(sandbox.root / "env", *USUAL))


@dataclass(frozen=True, kw_only=True)
class Damage:
    """A file that is added or damaged, and the expected message.

    Attributes:
        name: id of the test.
        path: the file to write, relative to the prefix; it may exist already.
        text: a function from the old content ("" for a new file) to the new content.
        says: expected parts of the message, with {prefix} and {path}.
        engine: the engine to request; "auto" if the refusal precedes the choice of an engine.
    """

    name: str
    path: str
    text: Callable[[str], str] = field(default=lambda text: text)
    says: tuple[str, ...]
    engine: str = "auto"


RECORD = "conda-meta/puretool-1.0-pyhd8ed1ab_0.json"
REINSTALL = ("{path}: ", "mv {path} {path}.damaged; conda install --prefix {prefix} --force-reinstall puretool")
CLONE = ("{prefix} is frozen ({path})", "conda create --clone {prefix} --prefix ./clone")
DAMAGES = (
    Damage(name="truncated record", path=RECORD, text=lambda text: text[: len(text) // 2], says=REINSTALL),
    Damage(name="record of no JSON", path=RECORD, text=lambda _: "puretool\n", says=REINSTALL),
    Damage(name="record of another kind", path=RECORD, text=lambda _: "[]", says=(*REINSTALL, "not a JSON object")),
    Damage(name="frozen, conda", path="conda-meta/frozen", says=CLONE, engine="conda"),
    Damage(name="frozen, py-rattler", path="conda-meta/frozen", says=CLONE, engine="rattler"),
    Damage(name="frozen, pip", path="conda-meta/frozen", says=CLONE, engine="pip"),
    Damage(
        name="conda killed while it removed files",
        path="lib/libtiff.so.6.c~",
        says=("an interrupted conda transaction left", "lib/libtiff.so.6.c~", "--revisions", "rm -r '{path}'"),
    ),
    Damage(
        name="py-rattler killed while it removed files",
        path=".trash/libtiff.so.6.trash",
        says=("interrupted", ".trash/libtiff.so.6.trash", "rm -r {path}"),
    ),
    Damage(
        name="pin that no version satisfies, conda",
        path="conda-meta/pinned",
        text=lambda _: "pillow 9.*\n",
        says=("the environment does not allow any pillow", "conda-meta/pinned requires pillow==9.*"),
        engine="conda",
    ),
    Damage(
        name="pin that no version satisfies, pip",
        path="conda-meta/pinned",
        text=lambda _: "pillow 9.*\n",
        says=("the environment does not allow any pillow", "conda-meta/pinned requires pillow==9.*"),
        engine="pip",
    ),
    Damage(
        name="pin of another build",
        path="conda-meta/pinned",
        text=lambda _: "pillow * py*\n",
        says=("{path} pins pillow to other builds: 'pillow * py*'", "remove that line from {path}"),
        engine="rattler",
    ),
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_what_is_in_the_way_is_named_and_left_alone(scene: Scene, damage: Damage) -> None:
    path = scene.prefix / damage.path
    text = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(damage.text(text or ""))
    try:
        error = scene.refuses("--engine", damage.engine)
    finally:
        _put_back(path, text)
    for part in damage.says:
        assert part.format(prefix=scene.prefix, path=path) in error, error


def test_a_directory_in_place_of_a_conda_record_is_refused(scene: Scene) -> None:
    (scene.prefix / "conda-meta/imgtool-2.0-0.json").mkdir()
    try:
        error = scene.refuses()
    finally:
        (scene.prefix / "conda-meta/imgtool-2.0-0.json").rmdir()
    assert "conda-meta/imgtool-2.0-0.json: Is a directory" in error


def test_no_permission_to_write_the_records_is_refused(scene: Scene) -> None:
    """The command runs without capabilities, which exempt the superuser from permissions (capabilities(7))."""
    bound = () if os.geteuid() else ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    require_system(bound == () or shutil.which("setpriv"), "util-linux")
    records = scene.prefix / "conda-meta"
    records.chmod(0o555)
    before = tree_hash(scene.prefix)
    command = (running().executable, "-m", "fastinstall", "setup", "--yes", "--prefix", scene.prefix)
    try:
        done = run((*bound, *command), scene.sandbox.variables(scene.conda.variables))
        assert done.exit_code == REFUSED, done.text
        assert tree_hash(scene.prefix) == before
    finally:
        records.chmod(0o755)
    assert f"{records} is not writable" in done.stderr
    assert "the environment's owner" in done.stderr[done.stderr.index("hint: ") :]


@pytest.mark.parametrize(("engine", "url"), [("conda", NOWHERE), ("rattler", NOWHERE), ("rattler", NOBODY_LISTENS)])
def test_an_unreachable_channel_is_reported_in_the_engines_words(scene: Scene, engine: str, url: str) -> None:
    error = scene.refuses("--engine", engine, *LINKED, "--channel", url, code=FAILED)
    assert "cannot reach a channel" in error
    assert url in error
    assert "--channel" in error[error.index("hint: ") :]


def test_a_channel_that_cannot_be_reached_brings_no_toolchain(scene: Scene) -> None:
    words = ("--toolchain", "conda", "--channel", NOWHERE)
    error = scene.refuses(*words, code=FAILED)
    assert "cannot reach a channel" in error
    assert NOWHERE in error


def test_what_a_solver_cannot_have_is_told_in_its_own_words(scene: Scene) -> None:
    old_system = {"CONDA_OVERRIDE_GLIBC": "2.17"}
    error = scene.refuses("--engine", "conda", changes=old_system, code=FAILED)
    assert f"conda finds no solution for {scene.prefix}" in error
    assert re.search(rf"pillow=={NEWEST}=simd_", error)
    assert "--engine pip" in error


def test_who_stands_in_the_way_of_a_solution_is_told(
    scene: Scene, channel: CondaChannel, unpacked: Path, sandbox: Sandbox
) -> None:
    hinders = CondaPackage(name="hinders", version="1.0", build="0", depends=("pillow * py311*",), noarch="generic")
    channels = (local_channel(sandbox.root / "channel", hinders), channel.url)
    prefix = rattler_environment(channels, sandbox.root / "env", [*USUAL, "hinders"], unpacked)
    error = Scene(sandbox=sandbox, conda=scene.conda, prefix=prefix).refuses("--engine", "rattler", code=FAILED)
    assert f"py-rattler finds no solution for {prefix}" in error
    assert "hinders 1.0 would require" in error


@pytest.fixture
def without_conda(sandbox: Sandbox) -> dict[str, str | None]:
    """Return variables of a user who has a compiler but no conda."""
    tools = sandbox.root / "tools"
    tools.mkdir()
    for name in ("cc", "gcc", "as", "ld"):
        (tools / name).symlink_to(shutil.which(name) or "/nowhere")
    return {"CONDA_EXE": None, "CONDA_PYTHON_EXE": None, "PATH": str(tools)}


@pytest.fixture
def without_rattler(sandbox: Sandbox) -> dict[str, str]:
    """Return variables with which Python cannot import py-rattler, because sys.modules has None for it."""
    (sandbox.root / "sitecustomize.py").write_text("import sys\nsys.modules['rattler'] = None\n")
    return {"PYTHONPATH": str(sandbox.root)}


def test_a_missing_engine_is_named_with_the_command_to_get_it(
    scene: Scene, without_conda: Mapping[str, str | None], without_rattler: Mapping[str, str]
) -> None:
    extra = "-m pip install 'fastinstall[conda]'"
    error = scene.refuses(changes={**without_conda, **without_rattler})
    assert str(scene.prefix) in error
    assert all(way in error for way in (extra, "CONDA_EXE=", "--engine pip"))
    error = scene.refuses("--engine", "conda", changes=without_conda)
    assert "--engine conda: no conda" in error
    assert "CONDA_EXE=" in error
    error = scene.refuses("--engine", "rattler", changes=without_rattler)
    assert "--engine rattler: py-rattler" in error
    assert extra in error
    error = scene.refuses("--toolchain", "conda", changes=without_rattler)
    assert "--toolchain conda: py-rattler" in error
    assert extra in error


@pytest.mark.parametrize(
    ("script", "says"),
    [("echo '{}'", "its answer does not mention pillow-"), ("echo Killed >&2; exit 137", "stderr: Killed")],
)
def test_a_conda_that_does_not_answer_changes_nothing(scene: Scene, sandbox: Sandbox, script: str, says: str) -> None:
    conda = sandbox.root / "conda"
    conda.write_text(f"#!/bin/sh\n{script}\n")
    conda.chmod(0o755)
    error = scene.refuses("--engine", "conda", changes={"CONDA_EXE": str(conda)}, code=FAILED)
    assert says in error
    assert "--engine rattler" in error


def test_words_that_fit_no_engine_are_refused(scene: Scene) -> None:
    unknown = scene.cli("setup", "--yes", "--engine", "mamba")
    assert unknown.exit_code == 2
    assert "--engine: 'mamba' is not" in unknown.stderr
    assert "auto, conda, rattler, pip" in unknown.stderr
    error = scene.refuses("--engine", "pip", "--pin")
    assert "--pin: with --engine pip" in error


def test_condas_own_environment_is_no_target(scene: Scene) -> None:
    base = scene.conda.base_prefix
    before = tree_hash(base / "conda-meta")
    done = scene.run("setup", "--yes", "--prefix", base)
    assert done.exit_code == REFUSED, done.text
    assert f"{base} is conda's own environment (base)" in done.stderr
    assert ": conda create --name " in done.stderr
    assert tree_hash(base / "conda-meta") == before


def test_the_environment_that_is_meant_has_to_be_clear(scene: Scene) -> None:
    venv = scene.sandbox.venv(running(), name="another", pip=False).prefix
    both = {"CONDA_PREFIX": str(scene.prefix), "VIRTUAL_ENV": str(venv)}
    done = scene.run("setup", "--yes", changes=both)
    assert done.exit_code == REFUSED
    assert f"VIRTUAL_ENV is {venv} but CONDA_PREFIX is {scene.prefix}" in done.stderr
    assert f"hint: choose one: --prefix '{venv}' or --prefix '{scene.prefix}'" in done.stderr
    python = scene.prefix / "bin/python"
    done = scene.run("doctor", "environment", "--json", "--python", python, changes={"CONDA_PREFIX": str(venv)})
    (finding,) = done.document["findings"]
    assert finding["status"] == "hint"
    assert "another environment is active" in finding["message"]
    assert finding["evidence"] == [f"CONDA_PREFIX={venv}"]


def test_a_refusal_is_one_json_document_where_that_is_asked_for(scene: Scene) -> None:
    done = scene.run("setup", "--yes", "--json", "--prefix", scene.conda.base_prefix)
    assert done.exit_code == REFUSED
    document = done.document
    assert (document["schema"], document["exit_code"]) == ("fastinstall.error/1", REFUSED)
    assert document["hint"]


def _put_back(path: Path, text: str | None) -> None:
    if text is not None:
        path.write_text(text)
        return
    path.unlink()
    if path.parent.name == ".trash":
        path.parent.rmdir()

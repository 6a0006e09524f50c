"""A wheel that a person supplies for one run is used only in that run, and never cached as one of our builds."""

import base64
import hashlib
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.sandbox import STOCK, NewSandbox, Sandbox, Venv

OFFLINE = (*STOCK, "--offline", "--yes", "--json")


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A sandbox with its own cache, a wheelhouse with another person's wheel, and two environments."""

    sandbox: Sandbox
    cache: Path
    wheelhouse: Path
    one: Venv
    other: Venv

    def cli(self, *words: str | Path, at: Venv) -> "Outcome":
        """Run fastinstall on an environment."""
        env = {"FASTINSTALL_CACHE_DIR": str(self.cache)}
        done = self.sandbox.cli(*words, "--prefix", at.prefix, env=env)
        return Outcome(exit_code=done.exit_code, text=done.text, payload=_is_hit(at))

    def list_files(self) -> set[str]:
        """List the wheels and temporary directories in the cache."""
        found = (
            path for path in self.cache.rglob("*") if path.suffix == ".whl" or path.name.startswith("fastinstall-")
        )
        return {str(path.relative_to(self.cache)) for path in found}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a command, and whether the environment now executes the tampered wheel's payload."""

    exit_code: int
    text: str
    payload: bool


def _is_hit(venv: Venv) -> bool:
    return "payload" in venv.run("-c", "import PIL; print(getattr(PIL, 'HIT', ''))").stdout


@pytest.fixture(scope="module")
def built(new_sandbox: NewSandbox) -> Iterator[Path]:
    """Yield a wheel built by fastinstall."""
    with new_sandbox() as sandbox:
        directory = sandbox.root / "wheels"
        done = sandbox.cli("build", "-o", directory, "--python", running().executable, *STOCK, "--json")
        assert done.exit_code == 0, done.text
        yield Path(done.document["wheel"])


@pytest.fixture
def scene(sandbox: Sandbox, built: Path) -> Scene:
    wheelhouse = sandbox.root / "theirs"
    wheelhouse.mkdir()
    tamper(built, wheelhouse / built.name, {"PIL/__init__.py": b"\nHIT = 'payload'\n"})
    one, other = (sandbox.venv(running(), name=name, pip=False) for name in ("one", "other"))
    return Scene(sandbox=sandbox, cache=sandbox.root / "cache", wheelhouse=wheelhouse, one=one, other=other)


def tamper(wheel: Path, target: Path, added: dict[str, bytes]) -> None:
    """Write a copy of the wheel with text appended to some files, and a RECORD that matches them."""
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    for name, more in added.items():
        contents[name] = contents.get(name, b"") + more
    (record,) = (name for name in contents if name.endswith(".dist-info/RECORD"))
    rows = (f"{name},{_digest(content)},{len(content)}\n" for name, content in contents.items() if name != record)
    contents[record] = "".join((*rows, f"{record},,\n")).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def test_a_wheel_named_for_one_run_is_offered_to_no_other_run(scene: Scene) -> None:
    taken = scene.cli("setup", *OFFLINE, "--wheelhouse", scene.wheelhouse, at=scene.one)
    assert (taken.exit_code, taken.payload) == (0, True), taken.text

    elsewhere = scene.cli("setup", *OFFLINE, at=scene.other)
    assert (elsewhere.exit_code, elsewhere.payload) == (6, False), elsewhere.text

    assert scene.cli("rollback", "--yes", at=scene.one).exit_code == 0
    again = scene.cli("setup", *OFFLINE, at=scene.one)
    assert (again.exit_code, again.payload) == (6, False), again.text
    assert scene.list_files() == set()


def test_what_we_built_goes_before_what_others_gave(scene: Scene) -> None:
    for name in ("downloads", "wheels", "proofs", "unpacked", "speed"):
        if (scene.sandbox.cache / name).is_dir():
            # temporary files of other tests that use the shared cache
            temporary = shutil.ignore_patterns("fastinstall-*", ".*")
            shutil.copytree(scene.sandbox.cache / name, scene.cache / name, ignore=temporary)
    taken = scene.cli("setup", *OFFLINE, "--wheelhouse", scene.wheelhouse, at=scene.one)
    assert (taken.exit_code, taken.payload) == (0, True), taken.text

    own = scene.cli("setup", *OFFLINE, at=scene.other)
    assert (own.exit_code, own.payload) == (0, False), own.text


def test_a_refused_wheel_leaves_nothing_behind(scene: Scene, built: Path) -> None:
    tamper(built, scene.wheelhouse / built.name, {"sitecustomize.py": b"HIT = 'payload'\n"})

    refused = scene.cli("setup", *OFFLINE, "--wheelhouse", scene.wheelhouse, at=scene.one)

    assert refused.exit_code == 6, refused.text
    assert "sitecustomize.py" in refused.text
    assert scene.list_files() == set()


def test_its_environment_is_repaired_with_no_wheelhouse_or_index(scene: Scene) -> None:
    taken = scene.cli("setup", *OFFLINE, "--wheelhouse", scene.wheelhouse, at=scene.one)
    assert taken.exit_code == 0, taken.text
    shutil.rmtree(scene.wheelhouse)
    scene.one.core.unlink()

    repaired = scene.cli("doctor", "--fix", "--yes", at=scene.one)

    assert (repaired.exit_code, repaired.payload) == (0, True), repaired.text
    elsewhere = scene.cli("setup", *OFFLINE, at=scene.other)
    assert (elsewhere.exit_code, elsewhere.payload) == (6, False), elsewhere.text


def test_a_receipt_copied_elsewhere_brings_no_wheel_along(scene: Scene) -> None:
    taken = scene.cli("setup", *OFFLINE, "--wheelhouse", scene.wheelhouse, at=scene.one)
    assert taken.exit_code == 0, taken.text
    shutil.rmtree(scene.wheelhouse)
    shutil.copytree(scene.one.prefix / "share", scene.other.prefix / "share")

    repaired = scene.cli("doctor", "--fix", "--yes", at=scene.other)

    assert (repaired.exit_code, repaired.payload) == (6, False), repaired.text

"""fastinstall on aarch64 under qemu: it describes the machine correctly, and sets up a wheel built on x86-64."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.environments.interpreters import of_version
from support.index.releases import NEWEST
from support.machine.arm_python import VERSION, ArmPython, arm_python
from support.machine.needs import require_system
from support.sandbox import NewSandbox, tree_hash
from support.suite import extent

from fastinstall.core.architecture import AARCH64
from fastinstall.core.errors import ExitCode

pytestmark = pytest.mark.slow

STOCK = "pillow==13.0.0"
VERSION_IN_USE = "import importlib.metadata as m, PIL.Image; print(PIL.__version__, m.version('pillow'))"


@pytest.fixture(scope="module")
def machine(shared_cache: Path) -> ArmPython:
    return arm_python(shared_cache)


@pytest.fixture(scope="module")
def environment(machine: ArmPython, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create an environment with the official wheel for aarch64; return its interpreter."""
    return machine.make_environment(tmp_path_factory.mktemp("arm") / "venv", "pillow>=12.1")


def fastinstall(machine: ArmPython, environment: Path, *words: str) -> tuple[int, str, str]:
    done = machine.run("-m", "fastinstall", *words, "--python", environment)
    return done.returncode, done.stdout, done.stderr


def test_the_machine_is_told(machine: ArmPython, environment: Path) -> None:
    code, text, _ = fastinstall(machine, environment, "inspect", "--json")
    facts = json.loads(text)
    cpu = facts["cpu"]
    assert code == 0
    assert (cpu["architecture"], cpu["level"], cpu["level_source"]) == ("aarch64", "armv8-a", "AT_HWCAP")
    assert cpu["name"].startswith("emulated on ")
    assert {"fp", "asimd", "atomics"} <= {*cpu["flags"]}
    assert facts["interpreter"]["libc"] == "glibc"
    core = facts["stack"]["core"]
    assert core["path"].endswith("aarch64-linux-gnu.so")
    loaded = {library["name"]: library for library in core["loaded"]} if "loaded" in core else {}
    assert not [name for name, library in loaded.items() if not library.get("path")]


def test_the_doctor_finds_nothing_wrong_and_offers_the_setup(machine: ArmPython, environment: Path) -> None:
    code, text, _ = fastinstall(machine, environment, "doctor", "--json")
    report = json.loads(text)
    found = {finding["check"]: finding for finding in report["findings"]}
    assert code == 0
    assert {finding["status"] for finding in report["findings"]} <= {"ok", "hint", "skipped"}
    named = ("cpu-level", "isa-compatible", "build-flags", "libraries-resolve", "operations")
    assert {name: found[name]["status"] for name in named} == dict.fromkeys(named, "ok")
    assert any("armv8-a" in line for line in found["cpu-level"]["evidence"])
    assert found["simd-active"]["status"] == "hint"
    assert " setup " in found["simd-active"]["remedy"]["command"]


def test_a_level_of_x86_is_refused_in_words(machine: ArmPython, environment: Path) -> None:
    code, out, err = fastinstall(machine, environment, "setup", "--dry-run", "--level", "x86-64-v3")
    assert code == ExitCode.REFUSED
    assert "x86-64-v3 is for x86-64 only" in out + err
    assert "armv8-a" in out + err


@pytest.fixture(scope="module")
def wheelhouse(new_sandbox: NewSandbox) -> Iterator[Path]:
    """Yield a directory with a wheel for aarch64 that was built on this machine."""
    python = of_version(VERSION)
    require_system(python, f"a Python {VERSION} of this machine")
    assert python is not None
    with new_sandbox() as sandbox:
        place = sandbox.root / "wheels"
        words = ("--machine", AARCH64.machine, "--unproven", "--python", python.executable, "-o", place)
        result = sandbox.cli("build", *words)
        assert result.exit_code == ExitCode.OK, result.text
        yield place


@dataclass(frozen=True, kw_only=True)
class User:
    """A user of an Arm machine, with an environment that has only pip, and a wheelhouse."""

    machine: ArmPython
    environment: Path
    home: Path
    wheelhouse: Path

    def cli(self, verb: str, *words: str | Path) -> tuple[int, str]:
        argv = ("-m", "fastinstall", verb, "--python", self.environment, *words)
        done = self.machine.run(*argv, changes=self.variables)
        return done.returncode, done.stdout + done.stderr

    def python(self, *words: str) -> tuple[int, str]:
        changes = {**self.variables, "PYTHONPATH": ""}
        done = self.machine.run(*words, python=self.environment, changes=changes)
        return done.returncode, done.stdout + done.stderr

    def setup(self) -> tuple[int, str]:
        return self.cli("setup", "--yes", "--wheelhouse", self.wheelhouse, "--offline")

    def examine(self) -> tuple[int, dict[str, str]]:
        """Return doctor's exit code, and the status of each check."""
        code, text = self.cli("doctor", "--json")
        findings = json.loads(text[: text.rindex("}") + 1])["findings"]
        return code, {finding["check"]: finding["status"] for finding in findings}

    @property
    def variables(self) -> dict[str, str]:
        places = {f"XDG_{name}_HOME": str(self.home / name.lower()) for name in ("CACHE", "DATA", "STATE", "CONFIG")}
        return {"HOME": str(self.home), "FASTINSTALL_CACHE_DIR": str(self.home / "cache"), **places}


@pytest.fixture(scope="module")
def user(machine: ArmPython, wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> User:
    place = tmp_path_factory.mktemp("arm-user")
    environment = machine.make_environment(place / "venv", "pip")
    return User(machine=machine, environment=environment, home=place / "home", wheelhouse=wheelhouse)


def test_a_wheel_is_set_up_judged_and_rolled_back_to_the_byte(user: User) -> None:
    prefix = user.environment.parent.parent
    before = tree_hash(prefix)
    code, said = user.setup()
    assert code == ExitCode.OK, said
    code, said = user.python("-c", VERSION_IN_USE)
    assert code == 0, said
    assert re.fullmatch(rf"({NEWEST}) \1\+simd\.armv8a", said.strip().splitlines()[-1]), said
    code, found = user.examine()
    assert code == ExitCode.OK, found
    judged = ("simd-active", "cpu-level", "isa-compatible", "build-flags", "operations", "guards", "pillow-files")
    assert {name: found[name] for name in judged} == dict.fromkeys(judged, "ok")
    code, said = user.cli("rollback", "--yes")
    assert code == ExitCode.OK, said
    assert tree_hash(prefix) == before


@pytest.mark.skipif(not extent.every_row, reason="minutes by the emulator, for code without a part of Arm: --every-row")
def test_what_pip_overwrites_is_noticed_and_repaired(user: User) -> None:
    code, said = user.setup()
    assert code == ExitCode.OK, said
    code, said = user.python("-m", "pip", "install", "--force-reinstall", "--no-deps", STOCK)
    assert code == 0, said
    code, said = user.python("-c", "import PIL.Image")
    assert code == 0
    assert "fastinstall" in said, "the guard warns"
    code, found = user.examine()
    assert code == ExitCode.FINDINGS, found
    code, said = user.cli("doctor", "--fix", "--yes")
    assert code == ExitCode.OK, said
    code, said = user.python("-c", VERSION_IN_USE)
    assert "armv8a" in said
    assert "warning" not in said

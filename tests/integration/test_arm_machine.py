"""fastinstall on aarch64, run by qemu: what it says of the machine is true, and what it cannot do it says."""

import json
from pathlib import Path

import pytest
from support.machine.arm_python import ArmPython, arm_python

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def machine(shared_cache: Path) -> ArmPython:
    return arm_python(shared_cache)


@pytest.fixture(scope="module")
def environment(machine: ArmPython, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the official wheel for aarch64; its interpreter."""
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


def test_the_doctor_finds_nothing_wrong_and_offers_no_setup(machine: ArmPython, environment: Path) -> None:
    code, text, _ = fastinstall(machine, environment, "doctor", "--json")
    report = json.loads(text)
    found = {finding["check"]: finding for finding in report["findings"]}
    assert code == 0
    assert {finding["status"] for finding in report["findings"]} <= {"ok", "hint", "skipped"}
    assert found["cpu-level"]["status"] == "hint"
    assert any("armv8-a" in line for line in found["cpu-level"]["evidence"])
    assert found["libraries-resolve"]["status"] == "ok"
    assert found["simd-active"]["status"] == found["isa-compatible"]["status"] == "skipped"
    commands = [(finding["remedy"] or {}).get("command") or "" for finding in report["findings"]]
    assert not [command for command in commands if "setup" in command]


def test_setup_refuses_and_says_for_what_it_is(machine: ArmPython, environment: Path) -> None:
    code, out, err = fastinstall(machine, environment, "setup", "--dry-run")
    assert code != 0
    assert "aarch64" in out + err
    assert "x86-64" in out + err

"""Every known kind of damage is really done, and doctor reports exactly the expected checks and statuses."""

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from integration.damage import of_libraries, of_pil
from integration.damage.scene import Scene
from support.environments.real import Environments
from support.environments.verdicts import alarms, examined, messages
from support.machine.needs import require_system

from fastinstall.model.finding import Status
from fastinstall.observe.runtime import observe_runtime

pytest_plugins = ("support.environments.fixtures",)

FROM_FILES = ("pillow-owner", "pillow-files", "simd-active", "build-flags", "swapped", "interrupted", "guards")
"""Checks whose findings on installers' damage are the same with `--quick`, when no program is run."""

_CASES = Path(__file__).parents[2] / "cases"
CASES = tomllib.loads((_CASES / "damage.toml").read_text("utf-8"))["case"]
DAMAGES = {**vars(of_pil), **vars(of_libraries)}
NEHALEM = _CASES / "machines/nehalem-server/proc/cpuinfo"


def test_only_libjpegs_with_symbol_versions_work_side_by_side(environments: Environments) -> None:
    said = {}
    for damage in (of_libraries.second_jpeg_with_versions, of_libraries.second_jpeg_without_versions):
        scene = Scene(environments=environments, venv=environments.copy("linked"))
        damage(scene)
        read = "import ctypes, PIL.Image; print(ctypes.CDLL('libtiff.so.6').TIFFReadsJpeg())"
        said[damage] = scene.venv.run("-c", read).text
    assert said[of_libraries.second_jpeg_with_versions] == "90\n"
    assert "80, caller expects 90" in said[of_libraries.second_jpeg_without_versions]


def test_code_for_another_cpu_is_refused_for_it_and_dies_there(environments: Environments) -> None:
    emulator = shutil.which("qemu-x86_64")
    require_system(emulator, "qemu-user")
    scene = Scene(environments=environments, venv=environments.copy("stock"))
    of_libraries.built_as_guides_say(scene)
    target = ("isa-compatible", "--prefix", scene.venv.prefix)
    (said,) = messages(examined(environments.sandbox, *target, "--host-flags", NEHALEM), "isa-compatible", "error")
    assert all(part in said for part in ("lacks avx,", "SIGILL"))

    script = scene.root / "python-on-nehalem"
    script.write_text(f'#!/bin/sh\nexec {emulator} -cpu Nehalem {scene.venv.python} "$@"\n')
    script.chmod(0o755)
    there = observe_runtime(script, environment=scene.venv.variables, quick=True)
    assert (there.imported, there.signal) == (True, "SIGILL"), there.error


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}-{case['damage']}")
def test_a_damage_is_named_and_nothing_else_is_blamed(environments: Environments, case: Mapping[str, Any]) -> None:
    venv, says = environments.copy(case["kind"]), case["says"]
    variables = DAMAGES[case["damage"]](Scene(environments=environments, venv=venv))
    findings = examined(environments.sandbox, "--prefix", venv.prefix, variables=variables)
    for check, (status, *words) in says.items():
        said = messages(findings, check, status)
        assert [message for message in said if all(word in message for word in words)], (check, words, said)
    grave = {check for check, (status, *_) in says.items() if Status(status).gravity > 1}
    assert {check: said for check, said in alarms(findings).items() if check not in grave} == {}
    assert set(alarms(findings)) == grave
    if case["damage"] in vars(of_pil):
        quick = alarms(examined(environments.sandbox, "--quick", "--prefix", venv.prefix, variables=variables))
        assert {check: quick.get(check) for check in FROM_FILES} == {
            check: alarms(findings).get(check) for check in FROM_FILES
        }
        assert set(quick) <= grave


def test_a_preloaded_libjpeg_is_detected_from_files_alone_too(environments: Environments) -> None:
    scene = Scene(environments=environments, venv=environments.copy("stock"))
    variables = of_libraries.preloaded(scene)
    findings = examined(environments.sandbox, "--quick", "--prefix", scene.venv.prefix, variables=variables)
    (said,) = messages(findings, "jpeg-library", "error") or messages(findings, "jpeg-library", "warning")
    assert "IJG libjpeg 9e" in said

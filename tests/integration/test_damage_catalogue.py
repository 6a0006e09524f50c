"""Every damage that is known, done for real, and what doctor says of it: these checks, this gravity, and no other."""

import shutil
from pathlib import Path

import pytest
from support.damage import of_libraries as library_damages
from support.damage import of_pil as damages
from support.damage.catalogue import CASES, Case
from support.damage.scene import Scene
from support.environments.real import Environments
from support.environments.verdicts import alarms, examined, messages
from support.machine.needs import require_system

from fastinstall.model.finding import Status
from fastinstall.observe.runtime import observe_runtime

pytest_plugins = ("support.environments.fixtures",)

FROM_FILES = ("pillow-owner", "pillow-files", "simd-active", "build-flags", "swapped", "interrupted", "guards")
"""Checks that say of what installers did the same with `--quick`, when nothing is run."""

NEHALEM = Path(__file__).parents[1] / "cases/machines/nehalem-server/proc/cpuinfo"


def test_only_libjpegs_with_symbol_versions_work_side_by_side(environments: Environments) -> None:
    said = {}
    for damage in (library_damages.second_jpeg_with_versions, library_damages.second_jpeg_without_versions):
        scene = Scene(sandbox=environments.sandbox, venv=environments.copy("linked"), parts=environments)
        damage(scene)
        read = "import ctypes, PIL.Image; print(ctypes.CDLL('libtiff.so.6').TIFFReadsJpeg())"
        said[damage] = scene.venv.run("-c", read).text
    assert said[library_damages.second_jpeg_with_versions] == "90\n"
    assert "80, caller expects 90" in said[library_damages.second_jpeg_without_versions]


def test_code_for_another_cpu_is_refused_for_it_and_dies_there(environments: Environments) -> None:
    emulator = shutil.which("qemu-x86_64")
    require_system(emulator, "qemu-user")
    scene = Scene(sandbox=environments.sandbox, venv=environments.copy("stock"), parts=environments)
    library_damages.built_as_guides_say(scene)
    target = ("isa-compatible", "--prefix", scene.venv.prefix)
    (said,) = messages(examined(scene.sandbox, *target, "--host-flags", NEHALEM), "isa-compatible", "error")
    assert all(part in said for part in ("lacks avx,", "SIGILL"))

    script = scene.sandbox.root / "python-on-nehalem"
    script.write_text(f'#!/bin/sh\nexec {emulator} -cpu Nehalem {scene.venv.python} "$@"\n')
    script.chmod(0o755)
    there = observe_runtime(script, environment=scene.venv.variables, quick=True)
    assert (there.imported, there.signal) == (True, "SIGILL"), there.error


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_damage_is_named_and_nothing_else_is_blamed(environments: Environments, case: Case) -> None:
    venv = environments.copy(case.kind)
    variables = case.damage(Scene(sandbox=environments.sandbox, venv=venv, parts=environments))
    findings = examined(environments.sandbox, "--prefix", venv.prefix, variables=variables)
    for check, (status, *words) in case.says.items():
        said = messages(findings, check, status)
        assert [message for message in said if all(word in message for word in words)], (check, words, said)
    grave = {check for check, (status, *_) in case.says.items() if Status(status).gravity > 1}
    assert {check: said for check, said in alarms(findings).items() if check not in grave} == {}
    assert set(alarms(findings)) == grave
    if case.damage.__module__ == damages.__name__:
        quick = alarms(examined(environments.sandbox, "--quick", "--prefix", venv.prefix, variables=variables))
        assert {check: quick.get(check) for check in FROM_FILES} == {
            check: alarms(findings).get(check) for check in FROM_FILES
        }
        assert set(quick) <= grave


def test_a_preloaded_libjpeg_is_detected_from_files_alone_too(environments: Environments) -> None:
    scene = Scene(sandbox=environments.sandbox, venv=environments.copy("stock"), parts=environments)
    variables = library_damages.preloaded(scene)
    findings = examined(environments.sandbox, "--quick", "--prefix", scene.venv.prefix, variables=variables)
    (said,) = messages(findings, "jpeg-library", "error") or messages(findings, "jpeg-library", "warning")
    assert "IJG libjpeg 9e" in said

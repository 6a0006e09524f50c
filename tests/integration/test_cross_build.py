"""A wheel for aarch64 built on x86-64: under qemu it computes correct pixels, and pip installs it."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.environments.interpreters import of_version
from support.machine.arm_python import VERSION, ArmPython, arm_python, install_for_arm
from support.machine.needs import require_system
from support.sandbox import NewSandbox, Result, Sandbox

from fastinstall.core.architecture import AARCH64
from fastinstall.core.errors import ExitCode
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import LOAD, open_image
from fastinstall.proof.judge import KNOWN_DIFFERENCES
from fastinstall.proof.matrix_cases import matrix_cases
from fastinstall.proof.runs import Outcomes, ProofStack, Work, fill_fresh_memory, is_death, run_cases
from fastinstall.setup.proven_wheel import EMULATORS_PATIENCE

pytestmark = pytest.mark.slow

RELEASE = "13.0.0"
STEPS = {"cortex-a53": 120, "neoverse-n1": 120, "max": 1}
"""CPUs by their qemu names; one in so many proof cases is run on each."""
BUILD = ("build", "--machine", AARCH64.machine, "--recipe", "pillow-fast")
USED = """
import io, json
from PIL import Image, _imaging, features
picture = Image.effect_noise((500, 375), 60).convert("RGB")
file = io.BytesIO()
picture.save(file, "JPEG")
small = Image.open(io.BytesIO(file.getvalue())).convert("RGB").resize((224, 224), Image.Resampling.LANCZOS)
file = io.BytesIO()
small.save(file, "PNG")
print(json.dumps([_imaging.__file__, Image.__version__, features.version("zlib"), len(file.getvalue()) > 1000]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The built wheel, and the output of the build."""

    wheel: Path
    result: Result

    @property
    def minor(self) -> str:
        return VERSION.replace(".", "")


@pytest.fixture(scope="module")
def machine(shared_cache: Path) -> ArmPython:
    return arm_python(shared_cache)


@pytest.fixture(scope="module")
def made(new_sandbox: NewSandbox) -> Iterator[Made]:
    require_system(os.uname().machine != AARCH64.machine, "a machine of another architecture")
    python = of_version(VERSION)
    require_system(python, f"a Python {VERSION} of this machine")
    assert python is not None
    with new_sandbox() as sandbox:
        words = ("--python", python.executable, "--unproven", "-o", sandbox.root / "wheels", "--json")
        result = sandbox.cli(*BUILD, "--version", RELEASE, *words)
        assert result.exit_code == ExitCode.OK, result.text
        yield Made(wheel=Path(result.document["wheel"]), result=result)


def test_it_is_named_after_that_machine_and_says_how_it_was_made(made: Made) -> None:
    name = made.wheel.name
    assert f"-cp{made.minor}-cp{made.minor}-" in name
    assert f"manylinux_2_28_{AARCH64.machine}" in name
    with zipfile.ZipFile(made.wheel) as archive:
        names = archive.namelist()
        told = json.loads(archive.read(next(each for each in names if each.endswith("/fastinstall.json"))))
    assert told["platform"] == f"linux-{AARCH64.machine}"
    assert [target["level"] for target in told["targets"]] == ["armv8-a"]
    assert told["left_out"] == []
    assert not [each for each in names if each.endswith(".so") and "x86_64" in each]


def test_the_cross_built_core_fits_that_machine_at_any_page_size(made: Made, tmp_path: Path) -> None:
    with zipfile.ZipFile(made.wheel) as archive:
        core = next(each for each in archive.namelist() if each.startswith("PIL/_imaging.") and each.endswith(".so"))
        path = Path(archive.extract(core, tmp_path))
    assert path.name.endswith(f"-{AARCH64.target}.so")
    with open_image(path) as image:
        assert image.machine == AARCH64.machine
        assert all(each.alignment >= max(AARCH64.page_sizes) for each in image.segments if each.kind == LOAD)
    assert "$ORIGIN/../pillow.libs" in (read_dynamic(path).rpath or "")


@pytest.fixture(scope="module")
def stacks(made: Made, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the unpacked trees of the built wheel and of the official aarch64 wheel."""
    scratch = tmp_path_factory.mktemp("stacks")
    install_for_arm(scratch / "official", "--no-deps", f"pillow=={RELEASE}")
    install_for_arm(scratch / "ours", "--no-deps", made.wheel)
    return {name: scratch / name for name in ("official", "ours")}


def outcomes(machine: ArmPython, tree: Path, model: str, step: int, scratch: Path) -> Outcomes:
    """Return the results of every `step`-th proof case on the CPU `model`, with an emulator's time limits."""
    python = machine.write_starter(scratch / model, model=model)
    stack = ProofStack(label=model, python=python, tree=tree, variables=dict(os.environ), patience=EMULATORS_PATIENCE)
    return run_cases(fill_fresh_memory(stack), Work(cases=matrix_cases()[::step]))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("model", "step"), STEPS.items(), ids=STEPS)
def test_the_cross_build_matches_the_official_wheel_on_each_cpu(
    machine: ArmPython, stacks: dict[str, Path], model: str, step: int, tmp_path: Path
) -> None:
    expected = outcomes(machine, stacks["official"], "max", step, tmp_path)
    found = outcomes(machine, stacks["ours"], model, step, tmp_path)
    assert not [case for case in expected if is_death(found[case])]
    known = KNOWN_DIFFERENCES[AARCH64.machine]
    assert [case for case in expected if found[case] != expected[case] and case not in known] == []


def test_plain_pip_installs_it_there_and_it_works(machine: ArmPython, made: Made, tmp_path: Path) -> None:
    environment = machine.make_environment(tmp_path / "venv", str(made.wheel))
    done = machine.run("-c", USED, python=environment)
    assert done.returncode == 0, done.stderr
    core, version, zlib, written = json.loads(done.stdout)
    assert core.startswith(str(tmp_path))
    assert (version, written) == (RELEASE, True)
    assert "zlib-ng" in zlib


def test_pip_of_this_machine_refuses_it(made: Made, tmp_path: Path) -> None:
    argv = (sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", tmp_path, made.wheel)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "not a supported wheel" in done.stderr


def test_without_a_python_that_proves_it_nothing_is_built(sandbox: Sandbox) -> None:
    result = sandbox.cli(*BUILD, "-o", sandbox.root / "wheels")
    assert result.exit_code == ExitCode.REFUSED
    assert "--emulated-python" in result.stderr
    assert not any((sandbox.root / "wheels").glob("*.whl"))

"""What packs, unpacks, encodes and decodes rows by our own kernels equals Pillow's, and lets other threads run."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.build.kernels import LEVEL, KernelsBuild, kernels_build
from support.machine.needs import require_system

from fastinstall.elf.cpu import rank
from fastinstall.observe.cpu import observe_cpu
from fastinstall.proof.matrix_cases import FEW_SIZES, matrix_cases
from fastinstall.proof.runs import ProofStack

HERE = Path(__file__).parents[1] / "support/build"
BEGINS = ("pack/", "unpack/", "array/", "pickle/", "bitmap/", "encode-jpeg/")
PACKING = ("src/encode.c", "src/libImaging/Pack.c", "src/libImaging/Unpack.c", "src/libImaging/JpegEncode.c")
FILES = (*PACKING, "src/libImaging/JpegDecode.c")


@pytest.fixture(scope="module")
def build(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelsBuild]:
    require_system(shutil.which("gcc"), "gcc")
    cpu = observe_cpu(allowed_cores=1, tunables="")
    require_system(rank(cpu.level) >= rank(LEVEL), f"a CPU of {LEVEL}")
    with kernels_build(shared_cache, tmp_path_factory.mktemp("arrays")) as made:
        yield made


@pytest.fixture(scope="module")
def ours(build: KernelsBuild) -> ProofStack:
    return build.stack("ours", build.build_tree.source)


def run(stack: ProofStack, script: str) -> str:
    variables = {**os.environ, **stack.variables, "PYTHONPATH": str(stack.tree), "FASTINSTALL_GUARD": "0"}
    done = subprocess.run(
        [stack.python, HERE / script], env=variables, check=True, capture_output=True, text=True, timeout=300
    )
    return done.stdout


def test_the_kernels_stand_in_the_source(build: KernelsBuild) -> None:
    texts = {file: (build.build_tree.source / file).read_text(errors="replace") for file in FILES}
    assert [file for file, text in texts.items() if "__source" not in text] == []


def test_rows_are_packed_and_unpacked_as_by_pillow(build: KernelsBuild, ours: ProofStack) -> None:
    chosen = tuple(case for case in matrix_cases(sizes=FEW_SIZES) if case.startswith(BEGINS))
    assert build.differences(ours, chosen) == ()


@pytest.mark.parametrize("file", PACKING)
def test_rows_are_packed_without_a_look_beside_them(file: str, build: KernelsBuild) -> None:
    same = build.changed(f"reviewed-{Path(file).stem}", file, r"\Z", "/* compiled again */\n")
    chosen = tuple(case for case in matrix_cases(sizes=((5, 4), (24, 7)), modes=("RGB",)) if case.startswith(BEGINS))
    assert build.sanitized_faults(f"sanitized-{Path(file).stem}", same, chosen) == ()


def test_a_file_cut_anywhere_gives_the_same_rows_and_errors(build: KernelsBuild, ours: ProofStack) -> None:
    found, expected = (run(stack, "jpeg_cuts.py").splitlines() for stack in (ours, build.reference))
    assert found == expected


def test_large_pictures_are_worked_on_while_other_threads_run(build: KernelsBuild, ours: ProofStack) -> None:
    assert json.loads(run(ours, "packed_at_once.py")) == {
        "calls": 1,
        "released": True,
        "saved": True,
        "small": False,
        "shared": "(0, 0, b'')",
        "composited": True,
        "small composited": False,
    }
    assert json.loads(run(build.reference, "packed_at_once.py")) == {
        "calls": 286,
        "released": False,
        "saved": False,
        "small": False,
        "shared": "",
        "composited": False,
        "small composited": False,
    }

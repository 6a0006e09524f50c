"""The fixture of this directory's tests: a build with our kernels, made once for each test file."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.kernels.builds import LEVEL, KernelsBuild, kernels_build
from support.machine.needs import require_system

from fastinstall.elf.cpu import rank
from fastinstall.observe.cpu import observe_cpu
from fastinstall.proof.runs import ProofStack


@pytest.fixture(scope="module")
def build(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelsBuild]:
    require_system(shutil.which("gcc"), "gcc")
    cpu = observe_cpu(allowed_cores=1, tunables="")
    require_system(rank(cpu.level) >= rank(LEVEL), f"a CPU of {LEVEL}")
    with kernels_build(shared_cache, tmp_path_factory.mktemp("kernels")) as made:
        yield made


@pytest.fixture(scope="module")
def ours(build: KernelsBuild) -> ProofStack:
    return build.stack("ours", build.build_tree.source)

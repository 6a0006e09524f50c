"""Runs builds for different CPUs on emulated CPUs, and compares each result with the prediction from the file.

The code is compiled at -O1 instead of -O3. The kernels are intrinsics, which do not depend on that level. All other
code is encoded for the given CPU at either level; it lacks only the vectorisation that -O3 adds for `native`. zlib-ng
and its dispatcher are linked in, so every core contains AVX-512 code that must not count as required.
"""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.elf.core_per_level import LOADER_REFUSAL
from support.machine.needs import require_system

from differential.isa_builds import BUILDS, CPUS, DECLARED, MIXED, Machine, build_trees, core_of, machine
from fastinstall.doctor.checks.isa_compatible import CpuOutcome, judge
from fastinstall.elf.description import IsaScan
from fastinstall.elf.isa.verdict import scan_isa

OPERATIONS = """
import sys
sys.path.insert(0, sys.argv[1])
print("import", flush=True)
from PIL import _imaging as core
large = core.fill("RGBA", (64, 48), (10, 20, 30, 40))
plain = core.fill("RGB", (64, 48), (10, 20, 30))
box = (0.0, 0.0, 64.0, 48.0)
kernel = (-1.0, -1.0, -1.0, -1.0, 9.0, -1.0, -1.0, -1.0, -1.0)
operations = {
    "resize": lambda: large.resize((20, 15), 1, box),
    "filter": lambda: plain.filter((3, 3), 1.0, 0.0, kernel),
    "gaussian_blur": lambda: plain.gaussian_blur((3.0, 3.0), 3),
    "reduce": lambda: plain.reduce((2, 2), (0, 0, 64, 48)),
    "alpha_composite": lambda: core.alpha_composite(large, large),
    "convert": lambda: plain.convert("L"),
}
for name, operation in operations.items():
    print(name, flush=True)
    operation()
print("done", flush=True)
"""
SIGILL = -4


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    tree: Path
    scan: IsaScan


@pytest.fixture(scope="module")
def builds(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Build]]:
    require_system(shutil.which("gcc"), "gcc")
    with build_trees(shared_cache, tmp_path_factory.mktemp("builds")) as trees:
        yield {name: Build(tree=tree, scan=scan_isa(core_of(tree))) for name, tree in trees.items()}


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Machine]:
    directory = tmp_path_factory.mktemp("machines")
    return {name: machine(name, directory) for name in CPUS}


def happens(build: Build, machine: Machine) -> tuple[CpuOutcome, str]:
    """Run the build on the machine, and return the outcome and the last operation that it started."""
    done = machine.run(Path(sys.executable), "-I", "-S", "-B", "-c", OPERATIONS, str(build.tree))
    last = (done.stdout.split() or ["start"])[-1]
    if done.returncode == 0 and last == "done":
        return CpuOutcome.RUNS, ""
    if done.returncode == SIGILL:
        return CpuOutcome.DIES, last
    assert LOADER_REFUSAL in done.stderr, done
    return CpuOutcome.REFUSED, last


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("build", [*BUILDS, DECLARED, MIXED])
def test_the_verdict_says_what_happens(
    build: str, cpu: str, builds: dict[str, Build], machines: dict[str, Machine]
) -> None:
    predicted, lacking = judge(builds[build].scan, machines[cpu].cpu)
    outcome, during = happens(builds[build], machines[cpu])
    assert predicted is outcome, f"predicted {predicted} for lack of {lacking}: {during}"


def test_each_build_requires_what_its_flags_say(builds: dict[str, Build]) -> None:
    required = {name: set(build.scan.requires) for name, build in builds.items()}
    assert required["sse4"] == {"pni", "ssse3", "sse4_1"}
    assert required["avx2"] >= {"avx", "avx2"}
    assert not required["avx2"] & {"bmi2", "fma", "movbe"}
    assert required[MIXED] >= required["sse4"] | {"avx", "avx2"}
    assert required["v3"] >= {"avx", "avx2", "bmi2"}
    assert {name: build.scan.declared for name, build in builds.items() if build.scan.declared} == {
        DECLARED: "x86-64-v3"
    }


def test_code_behind_a_dispatcher_is_contained_in_every_build(builds: dict[str, Build]) -> None:
    for name, build in builds.items():
        assert {"avx512_vnni", "vpclmulqdq"} <= set(build.scan.contains), name

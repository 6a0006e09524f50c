"""Pillow-SIMD builds as users compile them for different CPUs, and the emulated CPUs that run them.

The compile commands are recorded once. Only the core is then compiled for each kind of build, and installed into copies
of the official wheel. Needs a package index, GCC, the headers of the libraries, and qemu-user.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from support.machine.needs import require_system

from fastinstall.elf.cpu import Cpu, level_of
from fastinstall.model.request import Request, ToolchainSource
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.session import open_session
from fastinstall.setup.look import look_for_wheel, open_run
from fastinstall.setup.proven_wheel import fetch_inputs
from fastinstall.wheelbuild.build_inputs import BuildRequest
from whole_proof.build_tree import BuildTree, open_build_tree
from whole_proof.recorded_build import CoreSteps, RecordedCompilation
from whole_proof.variant import CompiledCore, SanitizedVariant, compile_core, install_core_in_copy

VERSION = "12.1.1.post0"
LEVEL = "x86-64-v2"
QUICKLY = ("-O1",)
BUILDS = {"sse4": (), "avx2": ("-mavx2",), "v3": ("-march=x86-64-v3",), "native": ("-march=native",)}
"""Flags in CC after `cc`, by build. With a plain CC, setup.py adds `-msse4` for the core by itself."""

DECLARED = "v3 declared"
"""The "v3" build, linked with the ELF note that makes the loader refuse it on lesser CPUs."""

MIXED = "sse4 with one file for avx2"
"""A build with a stray flag: one file needs AVX2, all others need only SSE4."""

CPUS = ("core2duo", "Penryn", "Nehalem", "SandyBridge", "Haswell", "max")
_ONE_FILE = "src/libImaging/Resample.c"
_CODEC = re.compile(r"/(\w*(Decode|Encode)|Quant\w*)\.c$")
"""Matches files without kernels that these tests never run. They are compiled once, for the lowest CPU level."""

_LEVEL_WORDS = re.compile(r"-march=x86-64-v\d|-Wl,-z,x86-64-v\d")
_PROBE = Path(__file__).with_name("cpu_flags.c")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """An emulated CPU.

    Attributes:
        name: qemu's name of the CPU.
        cpu: its features, as programs on it see them.
    """

    name: str
    cpu: Cpu

    def run(self, program: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program on this CPU until it exits."""
        argv = (emulator(), "-cpu", self.name, str(program), *arguments)
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **variables}
        )


@contextmanager
def build_trees(cache: Path, scratch: Path) -> Iterator[dict[str, Path]]:
    """Yield directories for `sys.path`, one per build in BUILDS, DECLARED and MIXED."""
    build_tree = open_build_tree(_request(cache, scratch), LEVEL, scratch / "build_tree")
    assert build_tree is not None
    steps = _of_a_person(build_tree.steps)
    cores: dict[str, CompiledCore] = {}
    for name, flags in BUILDS.items():
        shared = {file: made for core in cores.values() for file, made in core.objects.items() if _CODEC.search(file)}
        cores[name] = _compiled(build_tree, steps, name, flags, shared)
    cores[DECLARED] = _linked(build_tree, steps, DECLARED, cores["v3"].objects, "-Wl,-z,x86-64-v3")
    stray = {_ONE_FILE: cores["avx2"].objects[_ONE_FILE]}
    cores[MIXED] = _linked(build_tree, steps, MIXED, {**cores["sse4"].objects, **stray})
    trees = {
        name: install_core_in_copy(build_tree.base_wheel, core.path, build_tree.source, scratch / name / "tree")
        for name, core in cores.items()
    }
    yield trees
    shutil.rmtree(scratch)


def core_of(tree: Path) -> Path:
    """Return the imaging core of a build."""
    return next(tree.glob("PIL/_imaging.*.so"))


def machine(name: str, directory: Path) -> Machine:
    """Return an emulated CPU, with the features that a probe program finds on it."""
    probe = directory / "cpu_flags"
    if not probe.exists():
        compile_c(_PROBE.read_text("utf-8"), probe)
    blank = Machine(name=name, cpu=Cpu(architecture="x86_64"))
    flags = tuple(blank.run(probe).stdout.split())
    return replace(blank, cpu=Cpu(architecture="x86_64", flags=flags, level=level_of(flags), level_source="CPUID"))


def compile_c(source: str, program: Path, *flags: str) -> Path:
    """Compile a C program and return its path."""
    argv = ("gcc", "-O2", *flags, "-x", "c", "-", "-o", str(program))
    done = subprocess.run(argv, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def emulator() -> str:
    """Return the program qemu-x86_64, or skip the test if it is missing."""
    found = shutil.which("qemu-x86_64")
    require_system(found, "qemu-user")
    return found or ""


def _compiled(
    build_tree: BuildTree, steps: CoreSteps, name: str, flags: tuple[str, ...], shared: Mapping[str, Path]
) -> CompiledCore:
    variant = SanitizedVariant(source=build_tree.source, flags=(*flags, *QUICKLY), objects=shared)
    return compile_core(steps, variant, build_tree.space / name)


def _linked(
    build_tree: BuildTree, steps: CoreSteps, name: str, objects: Mapping[str, Path], *linker: str
) -> CompiledCore:
    return compile_core(
        steps, SanitizedVariant(source=build_tree.source, linker=linker, objects=objects), build_tree.space / name
    )


def _of_a_person(steps: CoreSteps) -> CoreSteps:
    """Return the compile and link commands without fastinstall's additions: `-march`, and the note for the loader."""

    def compiled(step: RecordedCompilation) -> RecordedCompilation:
        return replace(step, words=_without_level(step.words))

    return replace(steps, compile=tuple(map(compiled, steps.compile)), link=_without_level(steps.link))


def _without_level(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if not _LEVEL_WORDS.fullmatch(word))


def _request(cache: Path, scratch: Path) -> BuildRequest:
    session = open_session({**os.environ, "HOME": str(scratch / "home"), "FASTINSTALL_CACHE_DIR": str(cache)})
    request = Request(recipe="pillow-simd", version=VERSION, level=LEVEL, toolchain=ToolchainSource.SYSTEM)
    plan = look_for_wheel(session, NamedTarget(python=Path(sys.executable)), request)
    context = open_run(session, plan.request, Path(sys.executable))
    return plan.build.request_build(plan.interpreter, fetch_inputs(plan.prepare, context), context)

"""A build with our kernels, unpacked and compiled once; tests recompile only the files that they change.

Needs a package index, GCC and the headers of the libraries. FASTINSTALL_TEST_CACHE keeps downloads.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from support.machine.addresses import fixed_addresses

from fastinstall.model.request import Request, ToolchainSource
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.session import open_session
from fastinstall.proof.cases import CaseDifference
from fastinstall.proof.quick import prove_matrix
from fastinstall.proof.runs import ProofStack, Results, Work
from fastinstall.setup.look import look_for_wheel, open_run
from fastinstall.setup.proven_wheel import fetch_inputs
from fastinstall.wheelbuild.build_inputs import BuildRequest
from whole_proof.build_tree import BuildTree, open_build_tree
from whole_proof.extensions import TEST_SWITCHES
from whole_proof.sanitizers import FLAGS, LINKER, faults, preload_sanitizers
from whole_proof.variant import CompiledCore, SanitizedVariant, compile_core, install_core_in_copy

VERSION = "13.0.0"
LEVEL = "x86-64-v3"
QUICKLY = ("-O1",)
SWITCHES = (TEST_SWITCHES,)
"""Compiled in so that tests can switch CPU extensions off."""

THREADS = "FASTINSTALL_THREADS"
_SCRIPTS = Path(__file__).with_name("scripts")
_INCLUDES = re.compile(r'#\s*include\s+"([^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelsBuild:
    """An unpacked build tree, and the correct core compiled from it.

    Attributes:
        build_tree: the unpacked build.
        core: the core, compiled from the source with the kernels.
        scratch: a directory for files of tests.
    """

    build_tree: BuildTree
    core: CompiledCore
    scratch: Path

    @property
    def request(self) -> BuildRequest:
        """Return the request of the build."""
        return self.build_tree.work.request

    @property
    def reference(self) -> ProofStack:
        """Return the official wheel as a stack."""
        python = Path(self.request.interpreter.executable)
        return ProofStack(
            label="the official wheel", python=python, tree=self.build_tree.base_wheel.root, variables=self._variables
        )

    @property
    def _variables(self) -> dict[str, str]:
        return dict(self.request.variables)

    def stack(
        self, name: str, source: Path, *, flags: tuple[str, ...] = QUICKLY, linker: tuple[str, ...] = ()
    ) -> ProofStack:
        """Return a stack with a core in which only files that differ from the correct source are recompiled."""
        objects = self._unchanged(source)
        variant = SanitizedVariant(source=source, flags=(*flags, *SWITCHES), linker=linker, objects=objects)
        core = compile_core(self.build_tree.steps, variant, self.scratch / name / "objects")
        tree = install_core_in_copy(self.build_tree.base_wheel, core.path, source, self.scratch / name / "tree")
        return replace(self.reference, label=name, tree=tree)

    def changed(self, name: str, file: str, pattern: str, replacement: str) -> Path:
        """Return a copy of the source in which the pattern is replaced by a fault; assert that the pattern occurs."""
        source = self.scratch / name / self.build_tree.source.name
        shutil.copytree(self.build_tree.source / "src", source / "src")
        text = (source / file).read_text(encoding="utf-8")
        wrong, count = re.subn(pattern, replacement, text)
        assert count, f"{pattern} is not in {file}"
        (source / file).write_text(wrong, encoding="utf-8")
        return source

    def differences(self, ours: ProofStack, cases: tuple[str, ...]) -> tuple[CaseDifference, ...]:
        """Return the differences between a stack and the official wheel in the named cases of the matrix."""
        assert cases
        with Results() as results:
            return prove_matrix(ours, self.reference, Work(cases=cases), results, exact=True)

    def sanitized_faults(self, name: str, source: Path, cases: tuple[str, ...]) -> tuple[CaseDifference, ...]:
        """Return the sanitizers' reports of the named cases; only files with changes are compiled with sanitizers."""
        sanitized = self.sanitized(name, source)
        with fixed_addresses():
            return faults(sanitized, (Work(cases=cases),), lambda: self.reference)

    def sanitized(self, name: str, source: Path) -> ProofStack:
        """Return a stack in which the files that differ from the correct source are compiled with sanitizers."""
        stack = self.stack(name, source, flags=FLAGS, linker=LINKER)
        return preload_sanitizers(
            stack, self.build_tree.steps, stack.tree / "PIL" / self.build_tree.base_wheel.core.name
        )

    def _unchanged(self, source: Path) -> dict[str, Path]:
        return {file: made for file, made in self.core.objects.items() if _same(file, source, self.build_tree.source)}


@contextmanager
def kernels_build(cache: Path, scratch: Path) -> Iterator[KernelsBuild]:
    """Insert the kernels into the source, find the compiler commands, and compile the core with little optimisation."""
    request = _request(cache, scratch)
    build_tree = open_build_tree(request, LEVEL, scratch / "build_tree")
    assert build_tree is not None
    flags = (*QUICKLY, *SWITCHES)
    core = compile_core(build_tree.steps, SanitizedVariant(source=build_tree.source, flags=flags), scratch / "core")
    yield KernelsBuild(build_tree=build_tree, core=core, scratch=scratch)
    shutil.rmtree(scratch)


def start_script(stack: ProofStack, script: str, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run a script of `scripts/` with the PIL of a stack; `more` are environment variables."""
    inherited = {name: value for name, value in os.environ.items() if name != THREADS}
    variables = {**inherited, **stack.variables, "PYTHONPATH": str(stack.tree), "FASTINSTALL_GUARD": "0", **more}
    argv: tuple[str | Path, ...] = (stack.python, _SCRIPTS / script, *arguments)
    return subprocess.run(argv, env=variables, check=False, capture_output=True, text=True, timeout=300)


def run_script(stack: ProofStack, script: str, *arguments: str, **more: str) -> list[str]:
    """Return the lines that a script prints; assert that it succeeds."""
    done = start_script(stack, script, *arguments, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _request(cache: Path, scratch: Path) -> BuildRequest:
    session = open_session({**os.environ, "HOME": str(scratch / "home"), "FASTINSTALL_CACHE_DIR": str(cache)})
    levels = ("x86-64-v2", LEVEL)  # levels that GCC builds: the tests use GCC's sanitizers
    request = Request(recipe="pillow-fast", version=VERSION, levels=levels, toolchain=ToolchainSource.SYSTEM)
    plan = look_for_wheel(session, NamedTarget(python=Path(sys.executable)), request)
    context = open_run(session, plan.request, Path(sys.executable))
    return plan.build.request_build(plan.interpreter, fetch_inputs(plan.prepare, context), context)


def _same(file: str, one: Path, other: Path) -> bool:
    """Return True if a C file, and the files that it includes from its directory, are the same in two source trees."""
    ours, theirs = ((tree / file).read_text("utf-8", "replace") for tree in (one, other))
    beside = {str(Path(file).parent / name) for name in _INCLUDES.findall(ours)} - {file}
    return ours == theirs and all(_same(name, one, other) for name in beside if (one / name).is_file())

"""One PIL for several CPUs: from PIL's files, fastinstall predicts which core the loader takes on each CPU."""

import dataclasses
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from support.elf.core_per_level import (
    BASELINE,
    BETTER,
    KERNEL,
    LOADER_REFUSAL,
    SUFFIX,
    Tree,
    compile_copy,
    loader_help_on,
    python_on,
    small_tree,
    split_core,
)
from support.environments.observed import PILLOW, install_wheel, make_environment, site_packages
from support.values.builders import changed, healthy_facts, levelled_receipt, recipe

from fastinstall.core.errors import FailedError
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.registry import run_checks
from fastinstall.elf.description import ImagingCore
from fastinstall.elf.imaging_core import read_core
from fastinstall.elf.loader.process_settings import usable_hwcaps
from fastinstall.model.facts import Facts, Runtime
from fastinstall.model.finding import Finding, Status
from fastinstall.observe.cpu import level_from_help, observe_cpu
from fastinstall.observe.environments import locate
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.observation import ObservationRequest, facts_of
from fastinstall.observe.runtime import observe_runtime
from fastinstall.observe.session import open_session
from fastinstall.wheelbuild.staging import describe_core

HIDING = "glibc.cpu.hwcaps=-AVX2"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Return a small PIL with two copies of its core, for different CPUs; tests must not change it."""
    return small_tree(tmp_path_factory.mktemp("levels") / "a site, é")


@pytest.fixture
def own_tree(tmp_path: Path) -> Tree:
    """Return a small PIL that a test may damage."""
    return small_tree(tmp_path / "site")


def predicted(tree: Tree, level: str | None) -> ImagingCore:
    return read_core(tree.stub, (KERNEL,), main=Path(sys.executable).resolve(), hwcaps=usable_hwcaps(level))


def loaded(core: ImagingCore) -> list[str]:
    return [copy.level for copy in core.levels if copy.loaded]


def ran(tree: Tree, python: Path, tunables: str = "") -> Runtime:
    variables = {**os.environ, "GLIBC_TUNABLES": tunables} if tunables else os.environ
    return observe_runtime(python, stage=tree.site, environment=variables, quick=True)


@pytest.mark.parametrize(
    ("cpu", "level"), [("Nehalem", BASELINE), ("SandyBridge", BASELINE), ("Haswell", BETTER), ("max", BETTER)]
)
def test_each_cpu_gets_the_copy_that_the_files_foretell(tree: Tree, tmp_path: Path, cpu: str, level: str) -> None:
    core = predicted(tree, level_from_help(loader_help_on(cpu)))
    assert (core.readable, loaded(core), core.isa_note) == (True, [level], level)
    runtime = ran(tree, python_on(cpu, tmp_path))
    assert runtime.imported, runtime.error
    assert Path(runtime.core) == tree.copy(level)


@pytest.mark.parametrize("tunables", ["", HIDING])
def test_the_predicted_copy_is_loaded_whatever_the_tunables(tree: Tree, tunables: str) -> None:
    cpu = observe_cpu(allowed_cores=1, tunables=tunables)
    assert (cpu.level_source, cpu.tunables) == ("ld.so", tunables)
    (level,) = loaded(predicted(tree, cpu.level))
    assert level == BASELINE or not tunables
    runtime = ran(tree, Path(sys.executable), tunables)
    assert runtime.imported, runtime.error
    assert Path(runtime.core) == tree.copy(level)


def test_doctor_explains_the_import_error_below_the_baseline_cpu(tree: Tree, tmp_path: Path) -> None:
    level = level_from_help(loader_help_on("core2duo"))
    core, runtime = predicted(tree, level), ran(tree, python_on("core2duo", tmp_path))
    assert (level, core.readable, core.isa_note) == ("x86-64-v1", True, BASELINE)
    assert (runtime.imported, runtime.signal) == (False, "")
    assert runtime.error.startswith("ImportError")
    assert LOADER_REFUSAL in runtime.error
    facts = _facts(tree, core, runtime, level or "")
    messages = {finding.check: finding.message for finding in _errors(facts)}
    assert LOADER_REFUSAL in messages["pillow-importable"]
    assert all(named in messages["cpu-level"] for named in (BASELINE, "x86-64-v1"))


def _facts(tree: Tree, core: ImagingCore, runtime: Runtime | None, level: str) -> Facts:
    healthy = healthy_facts()
    return dataclasses.replace(
        healthy,
        cpu=dataclasses.replace(healthy.cpu, level=level),
        stack=dataclasses.replace(healthy.stack, directory=tree.site / "PIL", version="13.0.0", core=core),
        runtime=runtime,
    )


def _errors(facts: Facts, checks: tuple[str, ...] = ("cpu-level", "pillow-importable")) -> list[Finding]:
    context = CheckContext(facts=facts, receipt=None, recipe=recipe(), today=date(2026, 11, 22), tool_version="0.1.0")
    return [finding for finding in run_checks(context, checks) if finding.status is Status.ERROR]


def test_without_ctypes_the_loaded_copy_is_known_by_its_mappings(tree: Tree) -> None:
    mapped = Path(sys.modules[observe_runtime.__module__].__file__ or "").with_name("_operations.py")
    script = "import runpy, sys; sys.modules['ctypes'] = None; sys.path.insert(0, sys.argv[1])\n"
    script += f"import PIL._imaging; print(runpy.run_path({str(mapped)!r})['core_file'](PIL._imaging.__file__))"
    argv = (sys.executable, "-I", "-X", "utf8", "-c", script, str(tree.site))
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip() in {str(tree.copy(BASELINE)), str(tree.copy(BETTER))}
    assert done.stdout.strip() == ran(tree, Path(sys.executable)).core


def test_a_baseline_that_only_other_cpus_load_is_judged(own_tree: Tree) -> None:
    compile_copy(own_tree, BASELINE, flags=("-O0",), kernels=False, note=BETTER)
    core = predicted(own_tree, BETTER)
    assert loaded(core) == [BETTER]
    unexecuted = _facts(own_tree, core, None, BETTER)
    context = CheckContext(
        facts=unexecuted,
        receipt=None,
        recipe=changed(recipe(), {"expect": {"symbols": [KERNEL]}}),
        today=date(2026, 11, 22),
        tool_version="0.1.0",
    )
    found = run_checks(context, ("cpu-level", "simd-active", "build-flags"))
    assert [(finding.check, finding.status) for finding in found] == [
        ("cpu-level", Status.ERROR),
        ("simd-active", Status.ERROR),
        ("build-flags", Status.ERROR),
    ]
    assert f"compiled for {BETTER}" in found[0].message


def test_a_staged_core_is_described_by_what_all_its_copies_have(own_tree: Tree) -> None:
    python = observe_interpreter(Path(sys.executable))
    described = describe_core(own_tree.site, python, (KERNEL,))
    assert (described.path, described.size) == (f"PIL/_imaging{SUFFIX}", own_tree.stub.stat().st_size)
    assert described.simd_symbols == (KERNEL,)
    compile_copy(own_tree, BETTER, kernels=False)
    assert describe_core(own_tree.site, python, (KERNEL,)).simd_symbols == ()


@pytest.mark.parametrize("level", [BASELINE, BETTER])
def test_a_staged_core_with_a_damaged_copy_is_refused(own_tree: Tree, level: str) -> None:
    os.truncate(own_tree.copy(level), 900)
    with pytest.raises(FailedError, match="truncated: 900 bytes"):
        describe_core(own_tree.site, observe_interpreter(Path(sys.executable)), ())


def test_a_staged_core_with_a_copy_lacking_libraries_is_refused(own_tree: Tree) -> None:
    gone = own_tree.site / "libgone.so.1"
    subprocess.run(("gcc", "-shared", "-x", "c", "/dev/null", "-o", gone, "-Wl,-soname,libgone.so.1"), check=True)
    compile_copy(own_tree, BETTER, flags=("-O2", "-Wl,--no-as-needed", gone))
    with pytest.raises(FailedError, match=rf"{BETTER} .* libgone\.so\.1"):
        describe_core(own_tree.site, observe_interpreter(Path(sys.executable)), ())


@pytest.fixture
def real(tmp_path: Path) -> tuple[Path, Tree]:
    """Return an environment and its tree: stock Pillow with its core split into a stub and two copies."""
    python = make_environment(tmp_path / "env", Path(sys.executable))
    install_wheel(python, f"pillow=={PILLOW}")
    return tmp_path / "env", split_core(site_packages(python), f"pillow-{PILLOW}.dist-info")


def _observed(prefix: Path) -> Facts:
    request = ObservationRequest(recipe=recipe(), runtime=True)
    environment = locate(prefix, None, {}, Path("/opt/fastinstall"))
    return facts_of(open_session(os.environ), environment, request)


def _findings(facts: Facts, *checks: str) -> dict[str, Finding]:
    core = facts.stack.core
    assert core is not None
    owner = facts.stack.owners[0].distribution
    ours = {
        "core": {"sha256": core.sha256, "simd_symbols": []},
        "metadata": owner.metadata,
        "distribution": owner.name,
        "version": owner.version,
        "stack_version": facts.stack.version,
        "python_version": facts.interpreter.version,
        "jpeg": None,
    }
    context = CheckContext(
        facts=facts,
        receipt=changed(levelled_receipt(), ours),
        recipe=recipe(),
        today=date(2026, 11, 22),
        tool_version="0.1.0",
    )
    return {finding.check: finding for finding in run_checks(context, checks)}


def test_a_real_pillow_behind_a_stub_works_and_is_healthy(real: tuple[Path, Tree]) -> None:
    prefix, tree = real
    facts = _observed(prefix)
    core, runtime = facts.stack.core, facts.runtime
    assert core is not None
    assert runtime is not None
    assert (core.readable, core.version, len(core.levels)) == (True, PILLOW, 2)
    assert Path(runtime.core) == next(copy.path for copy in core.levels if copy.loaded)
    assert any(library.implementation == "libjpeg-turbo" for library in core.libraries)
    assert [library.soname for library in core.libraries if library.path is None] == []
    assert [result for result in runtime.operations if not result.ok] == []
    names = ("pillow-importable", "pillow-files", "swapped", "jpeg-library", "build-flags", "operations")
    assert {name: found.status for name, found in _findings(facts, *names).items()} == dict.fromkeys(names, Status.OK)
    assert tree.stub.stat().st_size < 20_000


@pytest.mark.parametrize("level", [BASELINE, BETTER])
def test_a_copy_that_was_replaced_behind_the_stub_is_seen(real: tuple[Path, Tree], level: str) -> None:
    prefix, tree = real
    with tree.copy(level).open("ab") as stream:
        stream.write(b"other")
    found = _findings(_observed(prefix), "pillow-files", "swapped")
    assert [found[name].status for name in ("pillow-files", "swapped")] == [Status.ERROR, Status.ERROR]
    assert "replaced, but not its core" in found["swapped"].message


def test_a_copy_that_was_removed_is_seen(real: tuple[Path, Tree]) -> None:
    prefix, tree = real
    tree.copy(BETTER).unlink()
    found = _findings(_observed(prefix), "cpu-level", "pillow-files", "swapped")
    assert {finding.status for finding in found.values()} == {Status.ERROR}
    assert f"{BETTER} is missing" in found["cpu-level"].message

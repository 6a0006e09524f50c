"""The simulated process against the real one: the same files, from the same places, in the same order."""

import os
import shutil
from pathlib import Path, PurePath

import pytest
from support.elf.compiler import compile_library
from support.elf.core_per_level import split_core
from support.elf.loader_agreement import find_disagreements
from support.environments.guarded import python_at_hand
from support.environments.observed import PILLOW, install_wheel, make_environment, site_packages
from support.values.builders import recipe

from fastinstall.elf.description import Linkage
from fastinstall.model.facts import Facts, Runtime
from fastinstall.observe.environments import locate
from fastinstall.observe.observation import Binaries, ObservationRequest, facts_of
from fastinstall.observe.session import open_session

REQUEST = ObservationRequest(recipe=recipe(), runtime=True, binaries=Binaries.LINKED)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with stock Pillow."""
    python = python_at_hand("3.11")
    if python is None:
        pytest.skip("no Python 3.11 here")
    made = make_environment(tmp_path_factory.mktemp("stock") / "env", python)
    install_wheel(made, f"pillow=={PILLOW}")
    return made


@pytest.fixture(scope="module")
def levelled(stock: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a core in two copies behind a stub."""
    made = make_environment(tmp_path_factory.mktemp("levelled") / "env", stock)
    shutil.copytree(site_packages(stock), site_packages(made), dirs_exist_ok=True)
    split_core(site_packages(made), f"pillow-{PILLOW}.dist-info")
    return made


@pytest.fixture(scope="module")
def zlib(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a library of zlib's name before the system's, which it needs and so brings in too."""
    directory = tmp_path_factory.mktemp("hpc")
    shutil.copy("/lib/x86_64-linux-gnu/libz.so.1", directory)
    compile_library(directory / "libhook.so", "int hook(void) { return 7; }")
    return directory


def observed(python: Path, **variables: str) -> tuple[Linkage, Runtime]:
    facts = _observe(python, {**os.environ, **variables})
    assert facts.linkage is not None
    assert facts.runtime is not None
    assert (facts.linkage.problem, facts.runtime.error) == ("", "")
    return facts.linkage, facts.runtime


@pytest.mark.parametrize("name", ["stock", "levelled"])
@pytest.mark.parametrize("variables", [(), ("LD_LIBRARY_PATH", "LD_PRELOAD")])
def test_simulation_and_process_agree(
    request: pytest.FixtureRequest, zlib: Path, name: str, variables: tuple[str, ...]
) -> None:
    values = {"LD_LIBRARY_PATH": str(zlib), "LD_PRELOAD": str(zlib / "libhook.so")}
    python: Path = request.getfixturevalue(name)
    linkage, runtime = observed(python, **{variable: values[variable] for variable in variables})
    assert find_disagreements(linkage, runtime.mapped_by_import) == ()
    assert find_disagreements(linkage, runtime.mapped) == ()
    assert runtime.mapped[0] == linkage.files[0].path
    assert _own(linkage, runtime.mapped_by_import) == _own(linkage, _simulated(linkage))
    assert (zlib / "libz.so.1" in runtime.mapped) is ("LD_LIBRARY_PATH" in variables)
    assert (zlib / "libhook.so" in _simulated(linkage)) is ("LD_PRELOAD" in variables)


def test_every_module_is_simulated_and_mapped(stock: Path) -> None:
    linkage, runtime = observed(stock)
    imported = {path.name.partition(".")[0] for path in runtime.mapped if path in linkage.modules}
    assert {"_imaging", "_webp", "_avif", "_imagingft", "_imagingcms", "_imagingmath", "_imagingmorph"} <= imported


def test_a_library_that_a_process_got_from_elsewhere_is_named(stock: Path, zlib: Path) -> None:
    linkage, _runtime = observed(stock)
    _linkage, misled = observed(stock, LD_LIBRARY_PATH=str(zlib))
    (found,) = find_disagreements(linkage, misled.mapped)
    assert (found.name, found.mapped) == ("libz.so.1", zlib / "libz.so.1")
    assert found.simulated is not None
    assert found.simulated.name == "libz.so.1"


def _observe(python: Path, variables: dict[str, str]) -> Facts:
    environment = locate(None, python, variables, Path("/nonexistent"))
    return facts_of(open_session(variables), environment, REQUEST)


def _simulated(linkage: Linkage) -> tuple[PurePath, ...]:
    return tuple(file.path for file in linkage.files)


def _own(linkage: Linkage, mapped: tuple[PurePath, ...]) -> list[PurePath]:
    """The core and what is bundled for it, in order; the interpreter's modules may bring the others in before."""
    files = _simulated(linkage)
    second = next(index for index, path in enumerate(files) if path in linkage.modules[1:])
    packages = linkage.modules[0].parent.parent
    return [path for path in mapped if path in files[:second] and path.is_relative_to(packages)]

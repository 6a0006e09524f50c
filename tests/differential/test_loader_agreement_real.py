"""The simulated process and the real one load the same files, from the same paths, in the same order."""

import os
import shutil
from collections.abc import Collection
from pathlib import Path, PurePath

import pytest
from support.elf.compiler import compile_library
from support.elf.core_per_level import split_core
from support.environments.guarded import python_at_hand
from support.environments.observed import PILLOW, install_wheel, make_environment, site_packages
from support.values.builders import recipe

from fastinstall.core.values import immutable
from fastinstall.doctor.checks.libraries_resolve import trace_askers
from fastinstall.elf.description import Linkage, LoadedFile
from fastinstall.model.facts import Facts, Runtime
from fastinstall.observe.environments import locate
from fastinstall.observe.observation import Binaries, ObservationRequest, facts_of
from fastinstall.observe.session import open_session


@immutable
class Disagreement:
    """One library on which simulation and process disagree; at least one of the two paths is set.

    Attributes:
        name: the library as it is requested ("libjpeg.so.62"); the file's name if no file requests it.
        simulated: the file according to the loader's rules, or None if they find no file.
        mapped: the file in the process, or None if the process maps no file of that name.
    """

    name: str
    simulated: PurePath | None
    mapped: PurePath | None


def find_disagreements(linkage: Linkage, mapped: Collection[PurePath]) -> tuple[Disagreement, ...]:
    """Compare the files that a process has mapped with the simulated files, in the simulation's order.

    A missing file is ignored if the process has not opened any of the modules that need it. If the process does not map
    the core under the simulated name, names cannot be compared, and the result is empty.

    Args:
        linkage: the simulation.
        mapped: `Runtime.mapped_by_import` or `Runtime.mapped`: the loader's own names.

    Returns:
        The disagreements; empty if there are none, if there is no simulation, or if nothing was mapped.
    """
    if linkage.problem or not linkage.modules or linkage.modules[0] not in mapped:
        return ()
    present, simulated = set(mapped), {file.path for file in linkage.files}
    absent = [file for file in linkage.files if file.path not in present]
    unexplained = [path for path in mapped if path not in simulated]
    for file, path in [(file, path) for file in absent for path in unexplained if _is_link(file, path)]:
        absent = [other for other in absent if other is not file]
        unexplained = [other for other in unexplained if other != path]
    opened = {file.path for file in linkage.files if file.needed_by is None} - {file.path for file in absent}
    found = []
    for file in absent:
        if trace_askers(linkage, file)[-1] in opened:
            instead = next((path for path in unexplained if _is_named_by(path, _list_names(file))), None)
            unexplained = [path for path in unexplained if path != instead]
            found.append(Disagreement(name=file.name.rpartition("/")[2], simulated=file.path, mapped=instead))
    spoken_of = {name for file in linkage.files for name in _list_names(file)}
    spoken_of.update(missing.name for missing in linkage.missing)
    own = _list_own_directories(linkage) - {module.parent for module in linkage.modules}
    surplus = (path for path in unexplained if _is_named_by(path, spoken_of) or path.parent in own)
    return (*found, *(Disagreement(name=path.name, simulated=None, mapped=path) for path in surplus))


def _list_own_directories(linkage: Linkage) -> set[PurePath]:
    """List the directories of PIL's modules, and the directories of their libraries in the same site-packages."""
    packages = {module.parent for module in linkage.modules}
    sites = {package.parent for package in packages}
    return packages | {file.path.parent for file in linkage.files if sites.intersection(file.path.parents)}


def _list_names(file: LoadedFile) -> set[str]:
    """List a file's names: the requested name, the soname, and the file name."""
    return {file.name.rpartition("/")[2], file.soname, file.path.name} - {""}


def _is_named_by(path: PurePath, names: Collection[str]) -> bool:
    """Return True if the file has one of the names, or a longer version of one ("libz.so.1.2.13" for "libz.so.1")."""
    return any(path.name == name or (".so." in name and path.name.startswith(name + ".")) for name in names)


def _is_link(file: LoadedFile, path: PurePath) -> bool:
    """Return True if the loader's name of `file` is a link whose target is clearly `path`, the kernel's name.

    If /lib is a link to /usr/lib, "/lib/x86_64-linux-gnu/libz.so.1" is "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13". The
    directories of the loader itself are not compared, as programs name it by a fixed path.
    """
    together = _strip_merged_usr(path.parent) == _strip_merged_usr(file.path.parent) or path.name.startswith("ld-")
    return together and _is_named_by(path, _list_names(file))


def _strip_merged_usr(directory: PurePath) -> PurePath:
    is_merged = directory.is_relative_to("/usr") and directory.parts[2:] and directory.parts[2].startswith("lib")
    return PurePath("/") / directory.relative_to("/usr") if is_merged else directory


REQUEST = ObservationRequest(recipe=recipe(), runtime=True, binaries=Binaries.LINKED)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with Pillow's official wheel."""
    python = python_at_hand("3.11")
    if python is None:
        pytest.skip("no Python 3.11 here")
    made = make_environment(tmp_path_factory.mktemp("stock") / "env", python)
    install_wheel(made, f"pillow=={PILLOW}")
    return made


@pytest.fixture(scope="module")
def levelled(stock: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a copy of the environment `stock`, in which a stub and two copies replace the core."""
    made = make_environment(tmp_path_factory.mktemp("levelled") / "env", stock)
    shutil.copytree(site_packages(stock), site_packages(made), dirs_exist_ok=True)
    split_core(site_packages(made), f"pillow-{PILLOW}.dist-info")
    return made


@pytest.fixture(scope="module")
def zlib(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a copy of zlib, for LD_LIBRARY_PATH, and a library for LD_PRELOAD."""
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
    """List the core and its bundled libraries in loading order; other libraries may be loaded earlier."""
    files = _simulated(linkage)
    second = next(index for index, path in enumerate(files) if path in linkage.modules[1:])
    packages = linkage.modules[0].parent.parent
    return [path for path in mapped if path in files[:second] and path.is_relative_to(packages)]

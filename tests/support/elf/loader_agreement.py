"""Whether a real process has mapped what the simulation of the loader says, as far as the simulation speaks of it.

A process maps more than PIL's: the interpreter's own modules with what they need, and whatever other packages
bring in at start-up. That is no disagreement. But a library that the simulation speaks of, taken from another
place, is one, whoever brought it in.
"""

from collections.abc import Collection
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.doctor.checks.libraries_resolve import trace_askers
from fastinstall.elf.description import Linkage, LoadedFile


@immutable
class Disagreement:
    """One library of which simulation and process say different things; at least one of the two paths is there.

    Attributes:
        name: the library, as it is asked for ("libjpeg.so.62"); a file's name where nobody asks for it.
        simulated: the file according to the loader's rules, or None if they find none.
        mapped: the file in the process, or None if it has none of that name.
    """

    name: str
    simulated: PurePath | None
    mapped: PurePath | None


def find_disagreements(linkage: Linkage, mapped: Collection[PurePath]) -> tuple[Disagreement, ...]:
    """Hold what a process has mapped against what it should have, in the simulation's order.

    What only a module needs that the process has not opened is not missed. Where the process does not even have
    the core under the name that the simulation gives it, names cannot be compared, and nothing is said.

    Args:
        linkage: what the loader was simulated to load.
        mapped: `Runtime.mapped_by_import` or `Runtime.mapped`: the loader's own names.

    Returns:
        Nothing where they agree, where there is no simulation, and where nothing was mapped.
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
    """List where PIL's modules lie, and the directories in the same site-packages that its libraries come from."""
    packages = {module.parent for module in linkage.modules}
    sites = {package.parent for package in packages}
    return packages | {file.path.parent for file in linkage.files if sites.intersection(file.path.parents)}


def _list_names(file: LoadedFile) -> set[str]:
    """List what a file goes by: what was asked for, its soname, its file's name."""
    return {file.name.rpartition("/")[2], file.soname, file.path.name} - {""}


def _is_named_by(path: PurePath, names: Collection[str]) -> bool:
    """Tell whether a file bears one of the names, or one with more of a version ("libz.so.1.2.13" for "libz.so.1")."""
    return any(path.name == name or (".so." in name and path.name.startswith(name + ".")) for name in names)


def _is_link(file: LoadedFile, path: PurePath) -> bool:
    """Tell whether the kernel's name for a file is plainly that of what the loader's name is a link to.

    "/lib/x86_64-linux-gnu/libz.so.1" is "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13" where /lib is a link into /usr; the
    loader itself goes by a name that programs have built in, wherever it lies.
    """
    together = _strip_merged_usr(path.parent) == _strip_merged_usr(file.path.parent) or path.name.startswith("ld-")
    return together and _is_named_by(path, _list_names(file))


def _strip_merged_usr(directory: PurePath) -> PurePath:
    is_merged = directory.is_relative_to("/usr") and directory.parts[2:] and directory.parts[2].startswith("lib")
    return PurePath("/") / directory.relative_to("/usr") if is_merged else directory

"""Describe the libraries behind PIL's codecs: names, owners, the reasons for loading them, and missing ones.

The libraries are those of the simulated process. Only `list_mapped_files` reads what a real process had mapped. The
owner of a directory (wheel, environment, system, another environment) is derived from the path alone.
"""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePath

from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import find_owning_package, is_unclaimed, list_linked_prefixes
from fastinstall.doctor.remedies import IMPORT_CORE, run_python, show_needed, trace_search
from fastinstall.elf.description import Codec, ImagingCore, LoadedFile, LoadedLibrary, MissingLibrary
from fastinstall.model.facts import EnvironmentKind
from fastinstall.model.finding import Remedy


def _find_obstacle(context: CheckContext) -> str:
    is_musl = context.facts.interpreter.libc == "musl"
    not_simulated = "this Python runs on musl, and only glibc's loader is simulated" if is_musl else ""
    linkage = context.facts.linkage
    return (linkage.problem if linkage is not None else "") or not_simulated


def explain_no_simulation(context: CheckContext) -> str:
    """Return why there is no simulated process."""
    return f"the loader was not simulated: {_find_obstacle(context) or 'it was not requested'}"


def is_unresolved(context: CheckContext, core: ImagingCore) -> bool:
    """Return whether the libraries that the core loads could not be determined, as on musl."""
    return not context.linkage.modules and not core.libraries and bool(_find_obstacle(context))


def list_code_files(context: CheckContext) -> frozenset[PurePath]:
    """Return the files that have the core's code: the core, and the copy that the loader chooses on this CPU."""
    core = context.facts.stack.core
    if core is None:
        return frozenset()
    return frozenset({core.path, core.loaded_file})


def codecs_of(context: CheckContext, kind: str) -> tuple[Codec, ...]:
    """Return the libraries of a kind ("jpeg") in the simulated process, each file once."""
    return tuple({codec.library.path: codec for codec in context.linkage.codecs if codec.kind == kind}.values())


def find_codec(context: CheckContext, kind: str) -> Codec | None:
    """Return the library of a kind that the core or, failing that, another module of PIL uses; None if none does."""
    return find_core_codec(context, kind) or _find_used_codec(context, kind, context.linkage.modules)


def find_core_codec(context: CheckContext, kind: str) -> Codec | None:
    """Return the library of a kind that the core uses, as a separate file or linked in; None if it uses none."""
    return _find_used_codec(context, kind, list_code_files(context))


def _find_used_codec(context: CheckContext, kind: str, files: Iterable[PurePath]) -> Codec | None:
    mine = set(files)
    for codec in codecs_of(context, kind):
        if not mine.isdisjoint(codec.users) or (codec.inside and codec.library.path in mine):
            return codec
    return None


def explain_choice_of(context: CheckContext, path: PurePath) -> str:
    """Return why the loader chooses a file ("DT_RUNPATH of /a/b.so"); empty if unknown."""
    return next((file.reason for file in context.linkage.files if file.path == path), "")


def list_features(context: CheckContext) -> dict[str, str]:
    """Return the features, with versions, that `PIL.features` reports.

    If PIL was not executed, return the features in the receipt, provided that the receipt records the core on disk.
    Otherwise, the result is empty.
    """
    if context.facts.runtime is not None:
        return context.facts.runtime.features
    return context.own_receipt.features if context.own_receipt is not None else {}


def name_library(library: LoadedLibrary) -> str:
    """Return a library's name and version ("libjpeg-turbo 3.1.3"); the soname if the library was not identified."""
    name = library.implementation or library.soname or (library.path.name if library.path is not None else "")
    return f"{name} {library.version}".rstrip()


_SHARED = frozenset(map(PurePath, ("/", "/usr", "/usr/local")))
_SYSTEM = tuple(f"{root}/lib{bits}" for root in ("", "/usr", "/usr/local") for bits in ("", "32", "64"))
_MARKS = frozenset({"site-packages", "dist-packages", "envs", "venv", ".venv", ".pixi", "conda-meta"})
_CONDAS = ("conda", "miniconda", "anaconda", "miniforge", "mambaforge", "micromamba")


class OwnedDirectory(StrEnum):
    """The owner of a file's directory."""

    PACKAGES = "in site-packages"
    ENVIRONMENT = "this environment's"
    SYSTEM = "the operating system's"
    OTHER_ENVIRONMENT = "another environment's"
    ELSEWHERE = "from outside this environment"


def place_of(context: CheckContext, path: PurePath) -> OwnedDirectory:
    """Return the owner of the directory that contains a file.

    The directories of the base interpreter count as this environment's.
    """
    facts = context.facts
    prefixes = {facts.environment.prefix, facts.interpreter.prefix, facts.interpreter.base_prefix} - _SHARED
    homes = {*prefixes, *list_linked_prefixes(path, facts.environment.prefix)}
    if path.is_relative_to(facts.interpreter.site_packages):
        return OwnedDirectory.PACKAGES
    if any(path.is_relative_to(home) for home in homes):
        return OwnedDirectory.ENVIRONMENT
    if any(path.is_relative_to(directory) for directory in _SYSTEM):
        return OwnedDirectory.SYSTEM
    if any(part in _MARKS or part.rstrip("0123456789").lower() in _CONDAS for part in path.parts):
        return OwnedDirectory.OTHER_ENVIRONMENT
    return OwnedDirectory.ELSEWHERE


def describe_file_owner(context: CheckContext, path: PurePath) -> str:
    """Return a file's owner as text: "pillow.libs of pillow 13.0.0", "this conda environment's jpeg-9e-h166bdaf_2"."""
    facts, place = context.facts, place_of(context, path)
    if place is OwnedDirectory.PACKAGES:
        top = path.relative_to(facts.interpreter.site_packages).parts[0]
        stem = top.removesuffix(".libs").lower()
        owners = [owner.distribution for owner in facts.stack.owners if top in owner.entries]
        owners += [each for each in facts.distributions if each.name.replace("-", "_") == stem]
        return f"{top} of {owners[0].name} {owners[0].version}" if owners else f"{top} {place}"
    if place is not OwnedDirectory.ENVIRONMENT:
        return str(place)
    if path.is_relative_to(facts.interpreter.base_prefix) and not path.is_relative_to(facts.environment.prefix):
        return "the base interpreter's"
    conda = "conda " if facts.environment.kind is EnvironmentKind.CONDA else ""
    package = find_owning_package(context, path)
    unclaimed = ", and none of conda's packages claims it" if is_unclaimed(context, path) else ""
    return f"this {conda}environment's{f' {package}' if package else unclaimed}"


def list_mapped_files(context: CheckContext) -> tuple[PurePath, ...]:
    """Return the files that the target's interpreter mapped while it used PIL, in order, each once.

    If the interpreter died, return the files that it had mapped on import. Paths are as the kernel or the loader names
    them.
    """
    runtime = context.facts.runtime
    return (runtime.mapped or runtime.mapped_by_import) if runtime is not None else ()


def list_missing(context: CheckContext) -> tuple[MissingLibrary, ...]:
    """Return the missing libraries, in the loader's order.

    Without a simulated process, return only those that the core needs directly.
    """
    core = context.readable_core
    if context.linkage.modules or core is None:
        return context.linkage.missing
    names = (library.soname for library in core.libraries if library.path is None)
    return tuple(MissingLibrary(name=name, needed_by=core.path, problem="not found") for name in names)


def show_lacking(context: CheckContext, need: MissingLibrary) -> str:
    """Return a command that shows why a library is missing.

    For an extension module, the command imports the module. For a library, it traces the loader's search. A trace is
    useless if the loader stops at another missing library first. Then the command lists the libraries that the file
    `need.needed_by` needs.
    """
    directory, missing = context.facts.stack.directory, list_missing(context)
    if "/" in need.name:
        return run_python(context, _import(need.name))
    of_same = next((each for each in missing if each.needed_by == need.needed_by), need)
    is_direct = need.needed_by.parent == directory
    if need in missing[:1] or (is_direct and need == of_same):
        name = need.name.rpartition("/")[2]
        return trace_search(context, name, _import(need.needed_by) if is_direct else IMPORT_CORE)
    return show_needed(need.needed_by)


def _import(module: PurePath | str) -> str:
    return f"import PIL.{PurePath(module).name.partition('.')[0]}"


_DIGEST = 8


def is_bundled(name: str) -> bool:
    """Return whether a library's name has a digest, as auditwheel adds for libraries that it bundles into a wheel.

    >>> is_bundled("libjpeg-0d45d2bd.so.62"), is_bundled("libjpeg.so.62")
    (True, False)
    """
    stem, dash, digest = strip_library_name(name).rpartition("-")
    return bool(stem and dash) and len(digest) >= _DIGEST and set(digest) <= set("0123456789abcdef")


def is_by_variable(file: LoadedFile) -> bool:
    """Return whether the loader chooses a file because of the shell's LD_LIBRARY_PATH or LD_PRELOAD."""
    return file.reason.startswith(("LD_LIBRARY_PATH", "LD_PRELOAD"))


def strip_library_name(name: str) -> str:
    """Return a library's name without "lib" and suffixes: "jpeg" of "libjpeg.so.62".

    >>> strip_library_name("libjpeg.so.62")
    'jpeg'
    """
    return name.partition(".so")[0].removeprefix("lib")


UNSET_VARIABLES = Remedy(text="unset LD_LIBRARY_PATH and LD_PRELOAD, unless you need them")
"""Remedy if LD_LIBRARY_PATH or LD_PRELOAD in the shell makes the loader choose a library."""

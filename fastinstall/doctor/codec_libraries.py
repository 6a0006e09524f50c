"""The libraries behind PIL's codecs in the simulated process: which one, why, whose it is, and what is wrong with it.

- The owner of a file (wheel, environment, system, another environment) is told by its path alone.
- Mapped files are those of the live process that was named, else of the one that used PIL.
- Findings name libraries that keep PIL's modules from being loaded or lie where they should not, and what brings a
  missing one: the stack's own repair, or a package of the system or of conda.
- The core's libjpeg is the one that it loads or contains.
"""

import re
import shlex
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.loader_agreement import trace_askers
from fastinstall.doctor.owners import is_unclaimed, package_of
from fastinstall.doctor.remedies import IMPORT_CORE, repair, run_python, show_needed, trace_search
from fastinstall.elf.description import Codec, ImagingCore, LoadedFile, LoadedLibrary, MissingLibrary
from fastinstall.model.finding import Remedy
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.request import EnvironmentKind, LinkMode


def _find_obstacle(context: CheckContext) -> str:
    is_musl = context.facts.interpreter.libc == "musl"
    not_simulated = "this Python runs on musl, and only glibc's loader is simulated" if is_musl else ""
    linkage = context.facts.linkage
    return (linkage.problem if linkage is not None else "") or not_simulated


def no_simulation(context: CheckContext) -> str:
    """Say why there is no simulated process."""
    return f"what would be loaded was not followed through: {_find_obstacle(context) or 'it was not asked for'}"


def is_unresolved(context: CheckContext, core: ImagingCore) -> bool:
    """Whether it could not be followed through which libraries the core loads, as on musl."""
    return not context.linkage.modules and not core.libraries and bool(_find_obstacle(context))


def code_files(context: CheckContext) -> frozenset[PurePath]:
    """Give the files that hold the core's code here: the core, and the copy that the loader takes in its place."""
    core = context.facts.stack.core
    if core is None:
        return frozenset()
    return frozenset({core.path, *(copy.path for copy in core.levels if copy.loaded)})


def codecs_of(context: CheckContext, kind: str) -> tuple[Codec, ...]:
    """Give the libraries of a kind ("jpeg") in the simulated process, each file once."""
    return tuple({codec.library.path: codec for codec in context.linkage.codecs if codec.kind == kind}.values())


def codec_in_use(context: CheckContext, kind: str) -> Codec | None:
    """Give the library of a kind that PIL's own code is bound to: the core before the other modules."""
    return core_codec(context, kind) or _find_used_codec(context, kind, context.linkage.modules)


def core_codec(context: CheckContext, kind: str) -> Codec | None:
    """Give the library of a kind that the core is bound to, or has inside."""
    return _find_used_codec(context, kind, code_files(context))


def _find_used_codec(context: CheckContext, kind: str, files: Iterable[PurePath]) -> Codec | None:
    mine = set(files)
    for codec in codecs_of(context, kind):
        if not mine.isdisjoint(codec.users) or (codec.inside and codec.library.path in mine):
            return codec
    return None


def reason_for(context: CheckContext, path: PurePath) -> str:
    """Say why the loader takes this file: "DT_RUNPATH of /a/b.so"; empty if that is unknown."""
    return next((file.reason for file in context.linkage.files if file.path == path), "")


def claimed_features(context: CheckContext) -> dict[str, str]:
    """What `PIL.features` says of the core in place: asked now, else at its setup; empty if neither is known."""
    if context.facts.runtime is not None:
        return context.facts.runtime.features
    return context.receipt.features if context.receipt is not None and context.core_is_ours else {}


def name_library(library: LoadedLibrary) -> str:
    """Name a library for a person: "libjpeg-turbo 3.1.3", by its soname where it was not identified."""
    name = library.implementation or library.soname or (library.path.name if library.path is not None else "")
    return f"{name} {library.version}".rstrip()


_SHARED = frozenset(map(PurePath, ("/", "/usr", "/usr/local")))
_SYSTEM = tuple(f"{root}/lib{bits}" for root in ("", "/usr", "/usr/local") for bits in ("", "32", "64"))
_MARKS = frozenset({"site-packages", "dist-packages", "envs", "venv", ".venv", ".pixi", "conda-meta"})
_CONDAS = ("conda", "miniconda", "anaconda", "miniforge", "mambaforge", "micromamba")


class OwnedDirectory(StrEnum):
    """Whose directory a file lies in."""

    PACKAGES = "in site-packages"
    ENVIRONMENT = "this environment's"
    SYSTEM = "the operating system's"
    OTHER_ENVIRONMENT = "another environment's"
    ELSEWHERE = "of a place outside this environment"


def place_of(context: CheckContext, path: PurePath) -> OwnedDirectory:
    """Tell whose directory a file lies in; that of the base interpreter counts as this environment's."""
    facts = context.facts
    homes = {facts.environment.prefix, facts.interpreter.prefix, facts.interpreter.base_prefix} - _SHARED
    if path.is_relative_to(facts.interpreter.site_packages):
        return OwnedDirectory.PACKAGES
    if any(path.is_relative_to(home) for home in homes) or _is_same_environment(path, facts.environment.prefix):
        return OwnedDirectory.ENVIRONMENT
    if any(path.is_relative_to(directory) for directory in _SYSTEM):
        return OwnedDirectory.SYSTEM
    if any(part in _MARKS or part.rstrip("0123456789").lower() in _CONDAS for part in path.parts):
        return OwnedDirectory.OTHER_ENVIRONMENT
    return OwnedDirectory.ELSEWHERE


def describe_file_owner(context: CheckContext, path: PurePath) -> str:
    """Say whose a file is: "pillow.libs of pillow 13.0.0", "this conda environment's jpeg-9e-h166bdaf_2"."""
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
    package = package_of(context, path)
    unclaimed = ", and none of conda's packages claims it" if is_unclaimed(context, path) else ""
    return f"this {conda}environment's{f' {package}' if package else unclaimed}"


def _is_same_environment(path: PurePath, prefix: PurePath) -> bool:
    """Whether the path goes through a directory that ends as the prefix does: "envs/fast", reached by another link."""
    end = prefix.parts[-2:]
    return any(directory.parts[-2:] == end for directory in path.parents if len(directory.parts) > len(end))


def mapped_files(context: CheckContext) -> tuple[PurePath, ...]:
    """Give the files that were mapped, in the order in which they came, each once.

    Those of the live process where one was named: it answers for itself, and what a fresh process would map
    does not count beside it. Else those of the subprocess that imported and used PIL; of one that died on the
    way, those that it had mapped by then.

    Returns:
        Paths as the kernel or the loader names them; nothing where no process was looked at.
    """
    facts = context.facts
    if facts.process is not None:
        return facts.process.mapped
    if facts.runtime is None:
        return ()
    return facts.runtime.mapped or facts.runtime.mapped_by_import


def lacking(context: CheckContext) -> tuple[MissingLibrary, ...]:
    """Give what is not found, in the loader's order; without a simulated process, what the core itself lacks."""
    core = context.readable_core
    return context.linkage.missing if context.linkage.modules or core is None else _list_needs_of(core)


def _list_needs_of(core: ImagingCore) -> tuple[MissingLibrary, ...]:
    names = (library.soname for library in core.libraries if library.path is None)
    return tuple(MissingLibrary(name=name, needed_by=core.path, problem="not found") for name in names)


def show_lacking(context: CheckContext, need: MissingLibrary) -> str:
    """Word a command: where the loader looks, who asks where it never gets there, or what is wrong with a module."""
    directory, missing = context.facts.stack.directory, lacking(context)
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


_RUNTIMES = frozenset(
    ("c", "m", "dl", "rt", "util", "pthread", "resolv", "nsl", "anl", "mvec", "crypt", "gcc_s", "stdc++")
)
"""The C library's own files, and what compilers bring, without "lib": one of each for all processes."""
_PROMISED = frozenset(
    ("z", "expat", "atomic", "X11", "Xext", "Xrender", "ICE", "SM", "GL", "glib-2.0", "gobject-2.0", "gthread-2.0")
)
"""What a manylinux wheel may leave to the system, beside those (PEP 600; auditwheel's policies)."""
_DIGEST = 8


def displacement(context: CheckContext, file: LoadedFile) -> str:
    """Say why a file should not come from its place; empty if it may.

    What the interpreter itself and LD_PRELOAD bring, and the files of the C library, may come from anywhere.
    """
    place, name = place_of(context, file.path), file.name.rpartition("/")[2]
    stem, linkage = _strip_library_name(name), context.linkage
    is_runtime = name.startswith(("ld-linux", "ld-musl", "libc.musl")) or stem in _RUNTIMES
    is_of_modules = any(path in linkage.modules for path in trace_askers(linkage, file))
    if file.path in linkage.modules or is_runtime or not is_of_modules:
        return ""
    if is_bundled(name) and place is not OwnedDirectory.PACKAGES:
        return "was bundled with the wheel, and is taken from elsewhere"
    if place is OwnedDirectory.OTHER_ENVIRONMENT:
        return "comes out of another environment"
    # A wheel that brings its other libraries along takes these from wherever it runs.
    promised = stem in _PROMISED and any(is_bundled(known.path.name) for known in linkage.files)
    outside = place in {OwnedDirectory.SYSTEM, OwnedDirectory.ELSEWHERE} and not promised
    is_conda = context.facts.environment.kind is EnvironmentKind.CONDA
    return "comes from outside this conda environment" if is_conda and outside else ""


def is_of_the_interpreter(context: CheckContext, name: str, path: PurePath | None) -> bool:
    """Whether a library that wheels leave to the system is this environment's own.

    The interpreter's modules have brought it by then: its `zlib` module loads conda's libz before PIL's core asks for
    one. Without them the loader would take the system's; either will do.
    """
    return (
        path is not None
        and _strip_library_name(name) in _PROMISED
        and place_of(context, path) is OwnedDirectory.ENVIRONMENT
    )


def is_bundled(name: str) -> bool:
    """Whether a library's name is as auditwheel gives it to what it puts into a wheel: "libjpeg-0d45d2bd.so.62"."""
    stem, dash, digest = _strip_library_name(name).rpartition("-")
    return bool(stem and dash) and len(digest) >= _DIGEST and set(digest) <= set("0123456789abcdef")


def is_by_variable(file: LoadedFile) -> bool:
    """Whether LD_LIBRARY_PATH or LD_PRELOAD of the shell made the loader take this file."""
    return file.reason.startswith(("LD_LIBRARY_PATH", "LD_PRELOAD"))


def _strip_library_name(name: str) -> str:
    """The name alone: "jpeg" of "libjpeg.so.62"."""
    return name.partition(".so")[0].removeprefix("lib")


UNSET_VARIABLES = Remedy(text="unset LD_LIBRARY_PATH and LD_PRELOAD, unless they are wanted")
"""Go without what the shell tells the loader."""


def bring(context: CheckContext, name: str) -> Remedy:
    """Say how to get a library back, by its soname.

    One that was bundled comes with the stack. Of others the recipe knows packages; a package brings the version
    that is current there, which may be another soname: then only a build here helps.
    """
    receipt, requirement = context.receipt, _find_requirement(context, name)
    bundled = receipt is not None and receipt.link is LinkMode.BUNDLE
    if requirement is None or bundled or is_bundled(name):
        return repair(context)
    if context.facts.environment.kind is EnvironmentKind.CONDA and requirement.conda:
        prefix = str(context.facts.environment.prefix)
        command = shlex.join(("conda", "install", "--prefix", prefix, *requirement.conda))
        return Remedy(text="install the package that brings it", command=command)
    return Remedy(
        text=f"install the package that brings it ({_name_packages(requirement)}), or build the stack again here"
    )


def packages_with(context: CheckContext, name: str) -> tuple[str, ...]:
    """Name the packages that have a library, as evidence; empty for a wheel's own, and for those of no recipe."""
    requirement = None if is_bundled(name) else _find_requirement(context, name)
    return (f"packages that bring it: {_name_packages(requirement)}",) if requirement is not None else ()


def absent_packages(context: CheckContext, name: str) -> tuple[str, ...]:
    """Name conda's packages that would bring a library and are not installed in this conda environment, as evidence."""
    conda, requirement = context.facts.conda, _find_requirement(context, name)
    if conda is None or requirement is None:
        return ()
    absent = [package for package in requirement.conda if conda.named(package) is None]
    return tuple(f"conda's {package} is not installed: a build finds the system's instead" for package in absent)


def _find_requirement(context: CheckContext, name: str) -> NativeRequirement | None:
    libraries = context.recipe.libraries.values()
    return next((each for each in libraries if re.match(rf"lib{re.escape(each.link)}(-[0-9a-f]+)?\.so\b", name)), None)


def _name_packages(requirement: NativeRequirement) -> str:
    managers = {"apt": requirement.apt, "dnf": requirement.dnf, "conda": requirement.conda}
    return ", ".join(f"{' '.join(packages)} of {manager}" for manager, packages in managers.items() if packages)


@immutable
class Jpeg:
    """A libjpeg that is there.

    Attributes:
        library: what it is.
        path: the file that holds it.
        inside: whether that is the file of the core itself.
    """

    library: LoadedLibrary
    path: PurePath
    inside: bool


def missing_jpeg(context: CheckContext, core: ImagingCore) -> MissingLibrary | None:
    """The libjpeg whose absence keeps the core from being loaded."""
    linkage = context.linkage
    missing = linkage.missing if linkage.modules else _list_needs_of(core)
    is_loaded = any(file.path == core.path for file in linkage.files)
    return None if is_loaded else next((each for each in missing if _is_jpeg(each.name)), None)


def jpeg_of_core(context: CheckContext, core: ImagingCore) -> Jpeg | None:
    """The libjpeg that the core is bound to, by the simulated process, else by what the core was found to need."""
    codec = core_codec(context, "jpeg")
    if codec is not None and codec.library.path is not None:
        return Jpeg(library=codec.library, path=codec.library.path, inside=codec.inside)
    for library in core.libraries:
        if _is_jpeg(library.soname) and library.path is not None:
            return Jpeg(library=library, path=library.path, inside=False)
    return None


def portray(context: CheckContext, jpeg: Jpeg) -> tuple[str, ...]:
    """What can be seen of it: where it is and why there, SIMD and interface, whose it is."""
    library = jpeg.library
    where = f"linked into {jpeg.path}" if jpeg.inside else f"{library.soname} resolves to {jpeg.path}"
    reason = "" if jpeg.inside else reason_for(context, jpeg.path)
    simd = {True: "with SIMD code", False: "without SIMD code", None: "SIMD code cannot be told"}[library.simd]
    abi = f", interface of libjpeg {library.abi[:-1]}.{library.abi[-1]}" if library.abi else ""
    mapped = ("mapped, as was seen in a process",) if jpeg.path in mapped_files(context) else ()
    by_whom = (f"it is {describe_file_owner(context, jpeg.path)}",)
    return (f"{where}{f' ({reason})' if reason else ''}", f"{simd}{abi}", *by_whom, *mapped)


def _is_jpeg(name: str) -> bool:
    """Whether a library is named as libjpeg is, in a wheel too; libturbojpeg has another interface."""
    file = name.rpartition("/")[2]  # a library without a soname is asked for by the path that the linker was given
    return file.startswith("libjpeg.so") or (file.startswith("libjpeg-") and is_bundled(file))

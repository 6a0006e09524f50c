"""Whether every library that PIL needs is found, and in the right place.

- error: a library is not found, or the file that the loader finds is damaged.
- warning: a library that was bundled with the wheel is loaded from elsewhere. Or a library comes from outside a conda
  environment, or from another environment. Or a process has mapped other files than the loader's rules predict.
- hint: LD_LIBRARY_PATH or LD_PRELOAD decides which files are loaded.

The check follows the rules of glibc's loader (`man ld.so`) for all modules, through all levels of dependencies. It
simulates a fresh process of the target; nothing is run. The C library and the libraries that the interpreter loads may
come from any directory. The interpreter's libz may serve a wheel that leaves libz to the system. The check is skipped
if Python runs on musl, whose loader is not simulated.

`fastinstall doctor -v libraries-resolve` lists the libraries behind the codecs as a table. Its columns are kind, name
and version, SIMD code, owner, path. The JSON has the same rows as evidence. SIMD code is detected in libjpeg only; for
other libraries the column is "-".

Why it matters:
If the library of a module is missing, the module cannot be imported. PIL then silently lacks the format. A library from
the wrong place may have another version, or disappear with its environment. The RUNPATH that conda's compilers write is
absolute. So a wheel that was built in one environment and installed in another loads the first environment's libraries.
A build in a conda environment without libtiff finds the system's libtiff, and with it the system's libjpeg.

How to fix it:
Install the missing library, or restore the stack with `fastinstall doctor --fix`. If a library comes from the wrong
place, build again in this environment. Or use a wheel that contains its libraries. Unset LD_LIBRARY_PATH and LD_PRELOAD
if you do not want them.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.messages import format_count
from fastinstall.doctor import codec_libraries as libraries
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import explain_no_core
from fastinstall.doctor.remedies import offer_repair, show, show_needed, show_variables, trace_search
from fastinstall.elf.description import Linkage, LoadedFile, MissingLibrary
from fastinstall.model.facts import EnvironmentKind
from fastinstall.model.finding import COLUMN, Finding, Remedy, shorten_evidence
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.request import LinkMode

_RUNTIMES = frozenset(
    ("c", "m", "dl", "rt", "util", "pthread", "resolv", "nsl", "anl", "mvec", "crypt", "gcc_s", "stdc++")
)
"""Names, without "lib", of the C library's files and of compilers' runtime libraries, which all modules share."""
_PROMISED = frozenset(
    ("z", "expat", "atomic", "X11", "Xext", "Xrender", "ICE", "SM", "GL", "glib-2.0", "gobject-2.0", "gthread-2.0")
)
"""Names, without "lib", of other libraries that a manylinux wheel may take from the system (PEP 600; auditwheel)."""


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the libraries of PIL's modules; without a simulated process, only those that the core needs directly."""
    linkage, core = context.linkage, context.readable_core
    if not linkage.modules and core is None:
        yield Finding.skipped(explain_no_core(context.facts))
        return
    if core is not None and libraries.is_unresolved(context, core):
        yield Finding.skipped(libraries.explain_no_simulation(context), verify=show_needed(core.path))
        return
    groups: dict[tuple[str, str], list[MissingLibrary]] = {}
    for need in libraries.list_missing(context):
        groups.setdefault((need.name, need.problem), []).append(need)
    problems = [_report_missing(context, needs) for needs in groups.values()]
    if linkage.modules:
        problems += [*_report_displaced(context, linkage), *_report_disagreements(context, linkage)]
        yield from problems or (_report_resolved(context, linkage),)
    elif core is not None:
        message, verify = f"the {len(core.libraries)} libraries of the core are found", show_needed(core.path)
        yield from problems or (
            Finding.ok(message, evidence=(libraries.explain_no_simulation(context),), verify=verify),
        )


def _report_resolved(context: CheckContext, linkage: Linkage) -> Finding:
    modules = set(linkage.modules)
    found = [file.path for file in linkage.files[1:] if file.path not in modules]
    places = dict.fromkeys(f"{libraries.describe_file_owner(context, path)}: {path.parent}" for path in found)
    return Finding.ok(
        f"{len(found)} libraries of {format_count(len(modules), 'module')} are found where they should be",
        evidence=(*_list_codecs(context, linkage), *shorten_evidence(places)),
        verify=show_needed(linkage.modules[0]),
    )


def _list_codecs(context: CheckContext, linkage: Linkage) -> Iterator[str]:
    """Yield a row for each library behind a codec: kind, name and version, SIMD code, owner, path."""
    simd, prefix = {True: "SIMD", False: "no SIMD", None: "-"}, context.facts.environment.prefix
    for codec in linkage.codecs:
        path, name = codec.path, libraries.name_library(codec.library)
        owner = libraries.describe_file_owner(context, path)
        linked = " (linked in)" if codec.inside else ""
        place = path.relative_to(prefix) if path.is_relative_to(prefix) else path
        yield COLUMN.join((codec.kind, f"{name}{linked}", simd[codec.library.simd], owner, str(place)))


def _report_missing(context: CheckContext, needs: list[MissingLibrary]) -> Finding:
    first, name = needs[0], needs[0].name.rpartition("/")[2]
    users = shorten_evidence(f"needed by {need.needed_by}" for need in needs if "/" not in need.name)
    requirement = None if libraries.is_bundled(name) else _find_requirement(context, name)
    packages = (f"packages that contain it: {_name_packages(requirement)}",) if requirement is not None else ()
    evidence, remedy, verify = (*users, *packages), _bring(context, requirement), libraries.show_lacking(context, first)
    return Finding.error(_explain_failure(needs, name), evidence=evidence, remedy=remedy, verify=verify)


def _explain_failure(needs: list[MissingLibrary], name: str) -> str:
    """Return why a library or an extension module cannot be loaded; `name` is the file's name.

    An extension module is recognised by a slash in `MissingLibrary.name`, since Python loads it by its path.
    """
    problem, users = needs[0].problem, " and ".join(need.needed_by.name for need in needs)
    verb = "need" if needs[1:] else "needs"
    if "/" in needs[0].name:
        return f"{name} cannot be loaded: {problem}"
    if problem == "not found":
        return f"{name} is not found; {users} {verb} it and cannot be loaded"
    return f"{users} {verb} {name}, and cannot be loaded: {problem}"


def _report_displaced(context: CheckContext, linkage: Linkage) -> Iterator[Finding]:
    """Report libraries from wrong directories, grouped by problem, and others chosen by the shell's variables."""
    wrong: dict[str, list[LoadedFile]] = {}
    for file in linkage.files[1:]:
        wrong.setdefault(_explain_displacement(context, file), []).append(file)
    well_placed = wrong.pop("", [])
    for problem, files in wrong.items():
        first, *others = files
        yield Finding.warning(
            f"{_name(first)} {problem}{f', and {len(others)} more' if others else ''}",
            evidence=(
                _describe_file(first),
                f"it is {libraries.describe_file_owner(context, first.path)}",
                *shorten_evidence(map(_describe_file, others)),
                *_list_absent_packages(context, _name(first)),
            ),
            expected=f"below {context.facts.environment.prefix}",
            observed=str(first.path),
            remedy=libraries.UNSET_VARIABLES if any(map(libraries.is_by_variable, files)) else offer_repair(context),
            verify=trace_search(context, _name(first)),
        )
    if files := [file for file in well_placed if libraries.is_by_variable(file)]:
        variables = " and ".join(sorted({file.reason for file in files}))
        decide, come = "decide" if " and " in variables else "decides", "come" if files[1:] else "comes"
        names = " and ".join(map(_name, files))
        yield Finding.hint(
            f"the shell's {variables} {decide} where {names} {come} from: another shell may load others",
            evidence=shorten_evidence(map(_describe_file, files)),
            remedy=libraries.UNSET_VARIABLES,
            verify=show_variables("LD_LIBRARY_PATH", "LD_PRELOAD"),
        )


def _report_disagreements(context: CheckContext, linkage: Linkage) -> Iterator[Finding]:
    every = find_disagreements(linkage, libraries.list_mapped_files(context))
    found = [each for each in every if not _is_of_the_interpreter(context, each[0], each[2])]
    if found:
        names = ", ".join(name for name, *_ in found)
        yield Finding.warning(
            f"the interpreter that imported PIL has loaded other files than the loader's rules predict: {names}",
            evidence=shorten_evidence(f"{name}: by the rules {path}, mapped {mapped}" for name, path, mapped in found),
            expected="; ".join(str(path) for _, path, _ in found),
            observed="; ".join(str(mapped) for *_, mapped in found),
            verify=trace_search(context, found[0][0]),
        )


def find_disagreements(linkage: Linkage, mapped: tuple[PurePath, ...]) -> Iterator[tuple[str, str, PurePath]]:
    """Yield PIL's libraries for which a real process has mapped another file than the simulated one.

    Other mapped files are ignored: the interpreter and other packages load their own libraries.

    Args:
        linkage: the simulated process.
        mapped: the files that the real process has mapped, as named by the loader. If the core is not one of them, its
            paths are not comparable with the simulated ones, and nothing is yielded.

    Yields:
        The name of the library, the file that the loader's rules find ("nothing" if they find none), and the mapped
        file.
    """
    if not linkage.modules or linkage.modules[0] not in mapped:
        return
    simulated = {file.path for file in linkage.files}
    unmapped = [file for file in linkage.files if file.path not in mapped]
    wanted = [(_name(file), str(file.path), {_name(file), file.soname, file.path.name}) for file in unmapped]
    wanted += [(need.name, "nothing", {need.name}) for need in linkage.missing]
    for name, path, names in wanted:
        yield from ((name, path, other) for other in mapped if other.name in names and other not in simulated)


def trace_askers(linkage: Linkage, file: LoadedFile) -> list[PurePath]:
    """Return the chain of files that caused a file to be loaded.

    It begins with the file itself, and goes on with the file that needs it. It ends with the program, or with a module
    that Python opened.
    """
    askers = {known.path: known.needed_by for known in linkage.files}
    chain, asker = [file.path], file.needed_by
    while asker is not None and asker not in chain:
        chain.append(asker)
        asker = askers.get(asker)
    return chain


def _describe_file(file: LoadedFile) -> str:
    asked = f", required by {file.needed_by}" if file.needed_by is not None else ""
    return f"{file.path}: found by {file.reason}{asked}"


def _name(file: LoadedFile) -> str:
    return file.name.rpartition("/")[2]


def _explain_displacement(context: CheckContext, file: LoadedFile) -> str:
    """Return why a library should not be loaded from its directory; empty if nothing speaks against the directory.

    Libraries that the interpreter or LD_PRELOAD loads, and the C library's own files, may come from any directory.
    """
    place, name = libraries.place_of(context, file.path), _name(file)
    stem, linkage = libraries.strip_library_name(name), context.linkage
    is_runtime = name.startswith(("ld-linux", "ld-musl", "libc.musl")) or stem in _RUNTIMES
    is_of_modules = any(path in linkage.modules for path in trace_askers(linkage, file))
    if file.path in linkage.modules or is_runtime or not is_of_modules:
        return ""
    if libraries.is_bundled(name) and place is not libraries.OwnedDirectory.PACKAGES:
        return "was bundled with the wheel, but is loaded from elsewhere"
    if place is libraries.OwnedDirectory.OTHER_ENVIRONMENT:
        return "comes from another environment"
    # A wheel with bundled libraries may take the libraries in _PROMISED from the system.
    promised = stem in _PROMISED and any(libraries.is_bundled(known.path.name) for known in linkage.files)
    outside = place in {libraries.OwnedDirectory.SYSTEM, libraries.OwnedDirectory.ELSEWHERE} and not promised
    is_conda = context.facts.environment.kind is EnvironmentKind.CONDA
    return "comes from outside this conda environment" if is_conda and outside else ""


def _is_of_the_interpreter(context: CheckContext, name: str, path: PurePath) -> bool:
    """Return whether a mapped library is of this environment, and of a kind that wheels take from the system.

    The interpreter's own modules load such libraries before PIL: its `zlib` module loads conda's libz. The simulation,
    which has no such modules, finds the system's libz instead. PIL works with either libz.
    """
    is_own = libraries.place_of(context, path) is libraries.OwnedDirectory.ENVIRONMENT
    return is_own and libraries.strip_library_name(name) in _PROMISED


def _bring(context: CheckContext, requirement: NativeRequirement | None) -> Remedy:
    """Return the remedy for a missing library.

    A bundled library is restored with the stack. For other libraries, the recipe names packages to install. If the
    packages of this machine have the library with another soname, the stack must be built again here.
    """
    environment, receipt = context.facts.environment, context.receipt
    if requirement is None or (receipt is not None and receipt.link is LinkMode.BUNDLE):
        return offer_repair(context)
    if environment.kind is EnvironmentKind.CONDA and requirement.conda:
        command = show("conda", "install", "--prefix", environment.prefix, *requirement.conda)
        return Remedy(text="install the package that contains it", command=command)
    packages = _name_packages(requirement)
    return Remedy(text=f"install the package that contains it ({packages}), or build the stack again here")


def _list_absent_packages(context: CheckContext, name: str) -> tuple[str, ...]:
    """Return a line of evidence for each conda package that contains a library and is not installed."""
    conda, requirement = context.facts.conda, _find_requirement(context, name)
    if conda is None or requirement is None:
        return ()
    absent = [package for package in requirement.conda if conda.named(package) is None]
    return tuple(f"conda's {package} is not installed: a build would use the system's instead" for package in absent)


def _find_requirement(context: CheckContext, name: str) -> NativeRequirement | None:
    known = context.recipe.libraries.values()
    return next((each for each in known if re.match(rf"lib{re.escape(each.link)}(-[0-9a-f]+)?\.so\b", name)), None)


def _name_packages(requirement: NativeRequirement) -> str:
    managers = {"apt": requirement.apt, "dnf": requirement.dnf, "conda": requirement.conda}
    return ", ".join(f"{' '.join(packages)} of {manager}" for manager, packages in managers.items() if packages)

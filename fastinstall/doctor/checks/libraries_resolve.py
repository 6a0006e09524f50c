"""Whether the loader finds every library that PIL's modules need, and where it should.

- error: a library is not found, or the file at which the search for it ends is damaged.
- warning: a library that was bundled with the wheel is taken from elsewhere; one comes from outside a conda
  environment, or from another environment; a process has mapped other files than the loader's rules give.
- hint: LD_LIBRARY_PATH or LD_PRELOAD decide what is loaded.

The files of every module are followed through, directly needed or not, by the rules of glibc's loader (`man ld.so`),
as for a fresh process of the target; nothing is run. The C library's own files are the system's everywhere, and so are
the libraries that the interpreter itself brings; its own libz may serve a wheel that leaves libz to the system. Where
Python runs on musl, nothing is followed through, and the check is skipped.

Why it matters:
A module whose library is not found cannot be imported, and PIL then does without the format, silently. A library that
is found at a place where it was not meant to be is another version, or goes away with the environment it belongs to:
the RUNPATH that conda's compilers write is absolute, so that a wheel that was built in one environment loads that
one's libraries in another. A build in a conda environment without libtiff finds the system's, and with it the
system's libjpeg.

How to fix it:
Install the library that is missing, or put the stack back by `fastinstall doctor --fix`. Where the place is wrong,
build again in this environment, or take a wheel that has its libraries inside; unset LD_LIBRARY_PATH and LD_PRELOAD
where they are not wanted.
"""

from collections.abc import Iterator

from fastinstall.doctor.check_context import CheckContext, FindingFactory, listing
from fastinstall.doctor.codec_libraries import (
    UNSET_VARIABLES,
    absent_packages,
    bring,
    describe_file_owner,
    displacement,
    is_by_variable,
    is_of_the_interpreter,
    is_unresolved,
    lacking,
    mapped_files,
    no_simulation,
    packages_with,
    show_lacking,
)
from fastinstall.doctor.loader_agreement import Disagreement, disagreements
from fastinstall.doctor.owners import is_other_libc, why_no_core
from fastinstall.doctor.remedies import repair, show_maps, show_needed, show_variables, trace_search
from fastinstall.elf.description import Linkage, LoadedFile, MissingLibrary
from fastinstall.model.finding import Finding

SUMMARY = "Whether every library that PIL needs is found, and inside this environment where it should be."
NEEDS_RUNTIME = True
ORDER = 120
VERIFIES_SETUP = True

_SAY = FindingFactory("libraries-resolve")


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the libraries of PIL's modules; without a simulated process, what the core alone was found to need."""
    linkage, core = context.linkage, context.readable_core
    if not linkage.modules and core is None:
        yield _SAY.skipped(why_no_core(context.facts))
        return
    if core is not None and is_unresolved(context, core):
        yield _SAY.skipped(no_simulation(context), verify=show_needed(core.path))
        return
    groups: dict[tuple[str, str], list[MissingLibrary]] = {}
    for need in lacking(context):
        groups.setdefault((need.name, need.problem), []).append(need)
    problems = [_report_missing(context, needs) for needs in groups.values()]
    if linkage.modules:
        problems += [*_report_displaced(context, linkage), *_report_disagreements(context, linkage)]
        yield from problems or (_report_resolved(context, linkage),)
    elif core is not None:
        message, verify = f"the {len(core.libraries)} libraries of the core are found", show_needed(core.path)
        yield from problems or (_SAY.ok(message, evidence=(no_simulation(context),), verify=verify),)


def _report_resolved(context: CheckContext, linkage: Linkage) -> Finding:
    modules = set(linkage.modules)
    libraries = [file for file in linkage.files[1:] if file.path not in modules]
    places = dict.fromkeys(f"{describe_file_owner(context, file.path)}: {file.path.parent}" for file in libraries)
    return _SAY.ok(
        f"{len(libraries)} libraries of {len(modules)} modules are found where they should be",
        evidence=listing(places),
        verify=show_needed(linkage.modules[0]),
    )


def _report_missing(context: CheckContext, needs: list[MissingLibrary]) -> Finding:
    first, name = needs[0], needs[0].name.rpartition("/")[2]
    users = tuple(f"needed by {need.needed_by}" for need in needs if "/" not in need.name)
    return _SAY.error(
        _explain_failure(context, needs, name),
        evidence=(*listing(users), *packages_with(context, name)),
        remedy=bring(context, name),
        verify=show_lacking(context, first),
    )


def _explain_failure(context: CheckContext, needs: list[MissingLibrary], name: str) -> str:
    """The name of a module is its path: nothing but Python asks for it."""
    problem, users = needs[0].problem, " and ".join(need.needed_by.name for need in needs)
    verb, libc = "need" if needs[1:] else "needs", context.facts.interpreter.libc
    if is_other_libc(context.facts, name) and problem == "not found":
        files = f"{len(needs)} files ask" if needs[1:] else f"{users} asks"
        return f"{files} for {name}, another C library than {libc}, which this Python runs on"
    if "/" in needs[0].name:
        return f"{name} cannot be loaded: {problem}"
    if problem == "not found":
        return f"{name} is not found; {users} {verb} it, and cannot be loaded without it"
    return f"{users} {verb} {name}, and cannot be loaded with what there is: {problem}"


def _report_displaced(context: CheckContext, linkage: Linkage) -> Iterator[Finding]:
    """One finding for each file at a wrong place, together with those that only it brings to the same one."""
    problems = {file.path: displacement(context, file) for file in linkage.files[1:]}
    wrong = [file for file in linkage.files[1:] if problems[file.path]]
    for file in wrong:
        problem = problems[file.path]
        if file.needed_by is not None and problems.get(file.needed_by) == problem:
            continue
        along = [other for other in _find_brought_files(wrong, file) if problems[other.path] == problem]
        more = f", and {len(along)} more that it brings along" if along else ""
        yield _SAY.warning(
            f"{_name(file)} {problem}{more}",
            evidence=(
                _describe_file(file),
                f"it is {describe_file_owner(context, file.path)}",
                *listing(map(_describe_file, along)),
                *absent_packages(context, _name(file)),
            ),
            expected=f"below {context.facts.environment.prefix}",
            observed=str(file.path),
            remedy=UNSET_VARIABLES if is_by_variable(file) else repair(context),
            verify=trace_search(context, _name(file)),
        )
    # What a variable of the shell decides, and is at a place where it may be.
    if files := [file for file in linkage.files if is_by_variable(file) and not displacement(context, file)]:
        variables = " and ".join(sorted({file.reason for file in files}))
        decide, come = "decide" if " and " in variables else "decides", "come" if files[1:] else "comes"
        names = " and ".join(map(_name, files))
        yield _SAY.hint(
            f"the shell's {variables} {decide} where {names} {come} from: another shell may load others",
            evidence=listing(map(_describe_file, files)),
            remedy=UNSET_VARIABLES,
            verify=show_variables("LD_LIBRARY_PATH", "LD_PRELOAD"),
        )


def _find_brought_files(files: list[LoadedFile], first: LoadedFile) -> Iterator[LoadedFile]:
    """The files that came in on behalf of the first, which stand behind it in load order."""
    known = {first.path}
    for file in files:
        if file.needed_by in known:
            known.add(file.path)
            yield file


def _report_disagreements(context: CheckContext, linkage: Linkage) -> Iterator[Finding]:
    process = context.facts.process
    differences = disagreements(linkage, mapped_files(context))
    found = tuple(each for each in differences if not is_of_the_interpreter(context, each.name, each.mapped))
    if found:
        who = f"process {process.pid}" if process is not None else "the interpreter that imported PIL"
        maps = show_maps(process, "[.]so") if process is not None else ""
        yield _SAY.warning(
            f"{who} has loaded other files than the loader's rules give: {', '.join(each.name for each in found)}",
            evidence=listing(map(_describe_disagreement, found)),
            expected="; ".join(str(each.simulated or "nothing") for each in found),
            observed="; ".join(str(each.mapped or "nothing") for each in found),
            verify=maps or trace_search(context, found[0].name),
        )


def _describe_disagreement(difference: Disagreement) -> str:
    package = f", of {difference.package}" if difference.package else ""
    simulated, mapped = difference.simulated or "nothing", difference.mapped or "nothing"
    return f"{difference.name}: by the rules {simulated}, mapped {mapped}{package}"


def _describe_file(file: LoadedFile) -> str:
    asked = f", asked for by {file.needed_by}" if file.needed_by is not None else ""
    return f"{file.path}: found by {file.reason}{asked}"


def _name(file: LoadedFile) -> str:
    return file.name.rpartition("/")[2]

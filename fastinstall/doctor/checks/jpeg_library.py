"""Which libjpeg really loads: found in the files by the loader's rules, without loading it.

- error: the loader would not find it; the core was compiled for another interface or another implementation, so that
  JPEG fails; or the JPEG support that was set up is gone.
- warning: not libjpeg-turbo (IJG's has no SIMD, mozjpeg trades speed for size), or a libjpeg-turbo without SIMD; not
  the file that the setup recorded; outside this environment although the libraries were bundled; another one than
  this is mapped in a running process; no JPEG at all; in a conda environment another package has written its headers
  and `libjpeg.so` over those of libjpeg-turbo.
- hint: the core asks for no libjpeg, and has JPEG all the same: it is linked statically, and which one cannot be told.
- unknown: the library could not be identified.

Of a libjpeg that is linked into the core the same is told as of one in a file of its own. A file that was copied, with
another inode and the same contents, is the same. Where Python runs on musl, whose loader is not simulated, the check
is skipped.

Why it matters:
libjpeg-turbo decodes and encodes JPEG several times as fast as the IJG's libjpeg, by its SIMD code; an environment in
which one has taken the other's place works, or seems to, and is slow. `PIL.features` cannot tell: it says what the core
was compiled with, "libjpeg_turbo True" with the IJG's library loaded too, and then writing a JPEG fails.
libjpeg-turbo decodes JPEG for stock Pillow too: a fast stack does not decode JPEG faster than Pillow's own wheels.
conda's packages `jpeg` and `libjpeg-turbo` bring headers of the same names; what is built where those of `jpeg` were
installed last is compiled for, and linked to, the IJG's library, whatever else is there.

How to fix it:
Where fastinstall has set up the stack, `fastinstall doctor --fix` puts the library back that belongs to it. Elsewhere
a new set-up brings its own libjpeg-turbo, which no other package can replace. In a conda environment install
libjpeg-turbo last: the packages `jpeg` and `libjpeg-turbo` write files of the same names.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.conda.reinstall import is_taken, name_of
from fastinstall.core.messages import listing as joined
from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext, Details, FindingFactory, listing
from fastinstall.doctor.codec_libraries import (
    Jpeg,
    OwnedDirectory,
    claimed_features,
    describe_file_owner,
    is_unresolved,
    jpeg_of_core,
    missing_jpeg,
    name_library,
    no_simulation,
    place_of,
    portray,
    show_lacking,
    simulation,
)
from fastinstall.doctor.loader_agreement import disagreements
from fastinstall.doctor.owners import (
    describe,
    describe_revision,
    find_bringing_revision,
    package_of,
    readable_core,
    why_no_core,
)
from fastinstall.doctor.remedies import (
    PRINT_FEATURES,
    find_text,
    repair,
    run_python,
    show_digests,
    show_lines,
    show_needed,
    show_strings,
    suggest_conda_reinstall,
    trace_search,
)
from fastinstall.elf.description import ImagingCore, LoadedLibrary, MissingLibrary
from fastinstall.model.conda import CondaClash
from fastinstall.model.conda_packages import TURBO
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.request import EnvironmentKind, LinkMode

NAME = "jpeg-library"
SUMMARY = "Which libjpeg really loads: implementation, version, SIMD, and whose it is."
NEEDS_RUNTIME = True
ORDER = 100
VERIFIES_SETUP = True
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)
_TURBO = "libjpeg-turbo"
_SLOW = {"IJG libjpeg": "it has no SIMD code, and is slower", "mozjpeg": "it is slower, for the sake of smaller files"}
_MARKS = "libjpeg-turbo|mozjpeg|Thomas G. Lane"


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the libjpeg of the core."""
    yield from _check_core(context)
    yield from _check_headers(context)


def _check_core(context: CheckContext) -> Iterator[Finding]:
    core = readable_core(context.facts.stack)
    if core is None:
        yield _SAY.skipped(why_no_core(context.facts))
    elif is_unresolved(context, core):
        yield _SAY.skipped(no_simulation(context), verify=show_needed(core.path))
    elif (missing := missing_jpeg(context, core)) is not None:
        yield _report_unresolved(context, missing)
    elif (jpeg := jpeg_of_core(context, core)) is None:
        yield _report_unlinked(context, core)
    elif context.facts.process is not None and context.facts.process.taken:
        yield _SAY.skipped(
            f"process {context.facts.process.pid} calls another library's functions: see jpeg-duplicates"
        )
    else:
        problems = tuple(
            finding
            for judge in (_check_identity, _report_changed, _check_outside, _report_other)
            for finding in judge(context, jpeg)
        )
        yield from problems or (_report_success(context, jpeg),)


def _report_success(context: CheckContext, jpeg: Jpeg) -> Finding:
    how = "has linked in" if jpeg.inside else "loads"
    traits = ("with SIMD code",) if jpeg.library.simd else ()
    message = (
        f"the core {how} {name_library(jpeg.library)} ({', '.join((*traits, describe_file_owner(context, jpeg.path)))})"
    )
    return _SAY.ok(message, evidence=portray(context, jpeg), verify=show_strings(jpeg.path, _MARKS))


def _check_headers(context: CheckContext) -> Iterator[Finding]:
    """What the next build in this conda environment would compile for."""
    if context.facts.conda is None:
        return

    clash = find_symbols_taken_from_turbo(context)
    if clash is not None:
        yield _SAY.warning(
            f"{clash.files} {clash.verb} {clash.holder}, though {clash.loser} claims them too: what is built here next "
            "is linked to another libjpeg, without SIMD code",
            evidence=clash.evidence,
            expected=f"those of {clash.loser}",
            observed=clash.holder,
            remedy=suggest_conda_reinstall(context, "install libjpeg-turbo again, so that its files win", _TURBO),
            verify=clash.verify,
        )


def _report_unlinked(context: CheckContext, core: ImagingCore) -> Finding:
    asked = ", ".join(library.soname for library in core.libraries) or "no library"
    evidence, verify = (f"{core.path} asks for {asked}",), show_needed(core.path)
    runtime = context.facts.runtime
    if runtime is not None and "jpg" in runtime.features:
        message = "the core has JPEG without asking for a libjpeg: it is linked statically"
        return _SAY.hint(message, evidence=evidence, verify=verify)
    message, remedy = "the core asks for no libjpeg: it was built without JPEG", repair(context)
    verify = run_python(context, PRINT_FEATURES)
    if context.receipt is not None and context.receipt.jpeg is not None:
        was = name_library(context.receipt.jpeg)
        return _SAY.error(message, evidence=evidence, expected=was, observed="none", remedy=remedy, verify=verify)
    return _SAY.warning(message, evidence=evidence, expected="libjpeg", observed="none", remedy=remedy, verify=verify)


def _report_unresolved(context: CheckContext, missing: MissingLibrary) -> Finding:
    name, problem = missing.name, missing.problem
    told = "is not found" if problem == "not found" else f"cannot be used: {problem}"
    return _SAY.error(
        f"{name} {told}; PIL cannot be imported",
        evidence=(f"needed by {missing.needed_by}",),
        expected=f"{name} on a path that the loader searches for {missing.needed_by.name}",
        observed=problem,
        remedy=repair(context),
        verify=show_lacking(context, missing),
    )


def _check_identity(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    library, name = jpeg.library, name_library(jpeg.library)
    failure = "" if jpeg.inside else explain_jpeg_mismatch(context, library)
    evidence = (*portray(context, jpeg), *(claims_and_failures(context) if failure else ()))
    details = Details(
        evidence=evidence,
        expected=_TURBO,
        observed=name,
        remedy=repair(context),
        verify=show_strings(jpeg.path, _MARKS),
    )
    if failure:
        yield _SAY.error(failure, **details)
    elif not library.implementation:
        yield _SAY.unknown("the libjpeg of the core could not be identified", **details)
    elif library.implementation != _TURBO:
        why = _SLOW.get(library.implementation, "it is not known to be fast")
        yield _SAY.warning(f"the core loads {name}, not {_TURBO}: {why}", **details)
    elif library.simd is False:
        details |= Details(expected="SIMD code inside", observed="none")
        yield _SAY.warning(f"the core loads a {name} that was built without SIMD: JPEG is slower", **details)


def _report_changed(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    recorded = context.receipt.jpeg if context.receipt is not None and context.core_is_ours else None
    if recorded is None or not (changes := describe_change_since_setup(context, recorded, jpeg.library)):
        return
    now, was = name_library(jpeg.library), name_library(recorded)
    told = f"{now} instead of {was}" if now != was else f"another file of {now}"
    yield _SAY.warning(
        f"the libjpeg of the core is not the one that was set up: {told}",
        evidence=(*changes, *portray(context, jpeg)),
        expected=f"{recorded.path} (sha256 {recorded.sha256[:16]})",
        observed=f"{jpeg.path} (sha256 {jpeg.library.sha256[:16]})",
        remedy=repair(context),
        verify=show_digests(jpeg.path),
    )


def _check_outside(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    receipt, prefix = context.receipt, context.facts.environment.prefix
    bundled = receipt is not None and receipt.link is LinkMode.BUNDLE and context.core_is_ours
    if bundled and not jpeg.path.is_relative_to(prefix):
        yield _SAY.warning(
            "the libjpeg of the core lies outside this environment, although the libraries were bundled",
            evidence=portray(context, jpeg),
            expected=f"below {prefix}",
            observed=str(jpeg.path),
            remedy=repair(context),
            verify=trace_search(context, jpeg.path.name),
        )


def _report_other(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    """Another file in its place, in a process that runs already."""
    process, linkage = context.facts.process, simulation(context)
    if process is None or linkage is None:
        return
    for difference in disagreements(linkage, process.mapped):
        if difference.simulated == jpeg.path and difference.mapped is not None:
            yield _SAY.warning(
                f"process {process.pid} has another libjpeg than a fresh one would load: {difference.mapped}",
                evidence=(f"it is {describe_file_owner(context, difference.mapped)}", *portray(context, jpeg)),
                expected=str(jpeg.path),
                observed=str(difference.mapped),
                remedy=Remedy(text="import PIL before the package that brings the other one, or restart the process"),
                verify=show_lines("libjpeg", PurePath(f"/proc/{process.pid}/maps")),
            )


_SHOWN = 16


def describe_change_since_setup(
    context: CheckContext, recorded: LoadedLibrary, library: LoadedLibrary
) -> tuple[str, ...]:
    """Say what changed, as evidence; empty if it is the same library.

    The same contents at another place, or in another inode, are the same library. Where one of the two has no
    sha256, the build-ids and sizes decide, if both have them.
    """
    if _is_same(recorded, library):
        return ()
    rows = (
        ("path", recorded.path, library.path),
        ("library", name_library(recorded), name_library(library)),
        ("size", recorded.size or "", library.size or ""),
        ("sha256", recorded.sha256[:_SHOWN], library.sha256[:_SHOWN]),
        ("build-id", recorded.build_id[:_SHOWN], library.build_id[:_SHOWN]),
    )
    changes = tuple(f"{name} was {was}, is {now}" for name, was, now in rows if was and now and was != now)
    return (*changes, *_describe_author(context, recorded, library))


def _is_same(recorded: LoadedLibrary, library: LoadedLibrary) -> bool:
    if recorded.sha256 and library.sha256:
        return recorded.sha256 == library.sha256
    fingerprints = ((recorded.build_id, library.build_id), (recorded.size, library.size))
    return all(was == now for was, now in fingerprints if was and now)


def _describe_author(context: CheckContext, recorded: LoadedLibrary, library: LoadedLibrary) -> tuple[str, ...]:
    path = library.path
    if path is None:
        return ()
    if recorded.path != path:
        return ("the recorded file is no longer the one that is found first",)
    place = place_of(context, path)
    if place is OwnedDirectory.PACKAGES:
        return _describe_record_author(context, path)
    if place is OwnedDirectory.ENVIRONMENT and context.facts.environment.kind is EnvironmentKind.CONDA:
        return (_describe_conda_author(context, library, path),)
    if place is OwnedDirectory.SYSTEM:
        return ("replaced in place, as an upgrade of the operating system's packages does",)
    return ("overwritten in place, by something that left no trace",)


def _describe_conda_author(context: CheckContext, library: LoadedLibrary, path: PurePath) -> str:
    """The package of conda's that wrote it, with its command; guessed where conda's records do not tell."""
    package = package_of(context, path)
    if package:
        brought = describe_revision(find_bringing_revision(context.facts, package))
        return f"as it is, it belongs to conda's {package}{brought}"
    likely = "libjpeg-turbo" if library.implementation == "libjpeg-turbo" else "jpeg"
    records = find_text(f"lib/{path.name}", context.facts.environment.prefix / "conda-meta")
    return f"clobbered in place, as conda's package {likely} does; who did: {records}"


def _describe_record_author(context: CheckContext, path: PurePath) -> tuple[str, ...]:
    """Whose RECORD lists the file as it is now, or that none does."""
    name = str(path.relative_to(context.facts.interpreter.site_packages))
    listing = [owner for owner in context.facts.stack.owners if PurePath(name).parts[0] in owner.entries]
    if any(name in owner.mismatched for owner in listing):
        return ("clobbered in place: RECORD lists other contents",)
    return tuple(f"as it is, it belongs to {describe(owner)}" for owner in listing[:1])


_NAMED = ("libjpeg.so", "jpeglib.h")
_VERBS = {
    (False, False): "is",
    (False, True): "is that of",
    (True, False): "are",
    (True, True): "are those of",
}
"""By whether there are several, and whether somebody has them."""


@immutable
class TakenSymbols:
    """What was taken from libjpeg-turbo.

    Attributes:
        files: for a sentence: "libjpeg.so and jpeglib.h".
        verb: what goes before the holder.
        holder: the package whose they are by now.
        loser: the libjpeg-turbo.
        evidence: each file, and who brought the holder.
        verify: a command that shows it.
    """

    files: str
    verb: str
    holder: str
    loser: str
    evidence: tuple[str, ...]
    verify: str


def find_symbols_taken_from_turbo(context: CheckContext) -> TakenSymbols | None:
    """Find what another package took from libjpeg-turbo, or return None if nothing was taken."""
    conda = context.facts.conda
    taken = tuple(clash for clash in (conda.clashes if conda is not None else ()) if _is_taken(clash))
    if not taken:
        return None
    names = _choose_named_files(taken)
    holder, loser = taken[0].holder, next(filter(_is_turbo, taken[0].claimants))
    headers = tuple(clash.path for clash in taken if clash.path.startswith("include/"))
    prefix = context.facts.environment.prefix
    return TakenSymbols(
        files=joined(names),
        verb=_VERBS[len(names) > 1, bool(holder)],
        holder=holder or "nobody's",
        loser=loser,
        evidence=(*listing(tuple(map(_describe_clash, taken))), *_find_clash_author(context, holder)),
        verify=show_lines("JPEG_LIB_VERSION\\|LIBJPEG_TURBO_VERSION", *(prefix / path for path in headers[:3]))
        if headers
        else show_lines('"lib/libjpeg', prefix / f"conda-meta/{loser}.json"),
    )


def _is_taken(clash: CondaClash) -> bool:
    return any(map(_is_turbo, clash.claimants)) and is_taken(clash)


def _is_turbo(dist: str) -> bool:
    return name_of(dist) == TURBO


def _choose_named_files(taken: tuple[CondaClash, ...]) -> list[str]:
    """The two that matter to a build, or else the first ones."""
    names = [clash.path.rpartition("/")[2] for clash in taken]
    return [name for name in _NAMED if name in names] or names[:2]


def _describe_clash(clash: CondaClash) -> str:
    return f"{clash.path}: claimed by {joined(clash.claimants)}; it is that of {clash.holder or 'none of them'}"


def _find_clash_author(context: CheckContext, holder: str) -> tuple[str, ...]:
    revision = find_bringing_revision(context.facts, holder)
    return (f"{holder} was installed{describe_revision(revision)}",) if revision is not None else ()


_INTERFACE = re.compile(r"([6-9])\.(\d)")


def explain_jpeg_mismatch(context: CheckContext, library: LoadedLibrary) -> str:
    """Say why the core cannot work with this libjpeg; empty if it can, or if nothing is known of either.

    A libjpeg refuses callers that were compiled for another interface ("Wrong JPEG library version"). The IJG's
    does not know the colour spaces that a core which was compiled for libjpeg-turbo asks for when it writes. Where
    an operation with JPEG was seen to work, it works.
    """
    if _has_worked(context):
        return ""
    compiled_for = _find_interface(context)
    if compiled_for and library.abi and compiled_for != library.abi:
        asked, has = (f"{number[:-1]}.{number[-1]}" for number in (compiled_for, library.abi))
        return (
            f"the core was compiled for libjpeg's interface {asked}, and loads {name_library(library)}, which has {has}"
        )
    claimed = claimed_features(context).get("libjpeg_turbo")
    if claimed is not None and library.implementation == "IJG libjpeg":
        turbo = f"{_TURBO} {claimed}".rstrip()
        return f"the core was compiled for {turbo}, and loads {name_library(library)}: JPEG files cannot be written"
    return ""


def claims_and_failures(context: CheckContext) -> tuple[str, ...]:
    """What `PIL.features` says all the same, and the operations that failed."""
    features, runtime = claimed_features(context), context.facts.runtime
    claims = (f"PIL.features says {name} {features[name]}" for name in ("jpg", "libjpeg_turbo") if name in features)
    operations = runtime.operations if runtime is not None else ()
    failed = (f"{each.name}: {each.error}" for each in operations if "jpeg" in each.name and not each.ok)
    return (*claims, *failed)


def _has_worked(context: CheckContext) -> bool:
    runtime = context.facts.runtime
    return runtime is not None and any("jpeg" in each.name and each.ok for each in runtime.operations)


def _find_interface(context: CheckContext) -> str:
    """The interface that the core was compiled for, as a libjpeg counts it: "62"; `PIL.features` says "6.2"."""
    told = _INTERFACE.fullmatch(claimed_features(context).get("jpg", ""))
    return f"{told[1]}{told[2]}" if told else ""

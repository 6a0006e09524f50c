"""Which libjpeg really loads: implementation, version, SIMD, and whose it is.

- error: the loader would not find it. Or the core was compiled for another interface or implementation, so JPEG fails.
  Or the JPEG support that was set up is gone.
- warning: not libjpeg-turbo (IJG's has no SIMD, mozjpeg trades speed for size), or a libjpeg-turbo without SIMD. Or not
  the file that the setup recorded, or one outside this environment although the libraries were bundled. Or a running
  process has mapped another one, or there is no JPEG at all. In a conda environment another package may have
  overwritten the headers and `libjpeg.so` of libjpeg-turbo.
- hint: the core requires no libjpeg, and has JPEG all the same. It is linked statically, and which one cannot be told.
- unknown: the library could not be identified.

A libjpeg that is linked into the core is judged like one in a file of its own. A file that was copied, with another
inode and the same contents, is the same. Where Python runs on musl, whose loader is not simulated, the check is
skipped.

Why it matters:
libjpeg-turbo decodes and encodes JPEG several times as fast as the IJG's libjpeg, by its SIMD code. An environment with
the wrong one works, or seems to, and is slow. `PIL.features` cannot tell, because it says what the core was compiled
with. It says "libjpeg_turbo True" with the IJG's library loaded too, and then writing a JPEG fails. libjpeg-turbo
decodes JPEG for stock Pillow too: a fast stack does not decode JPEG faster than Pillow's own wheels. conda's packages
`jpeg` and `libjpeg-turbo` bring headers of the same names. If those of `jpeg` were installed last, builds are compiled
for, and linked to, the IJG's library.

How to fix it:
Where fastinstall has set up the stack, `fastinstall doctor --fix` puts the library back that belongs to it. Elsewhere
a new set-up brings its own libjpeg-turbo, which no other package can replace. In a conda environment install
libjpeg-turbo last: the packages `jpeg` and `libjpeg-turbo` write files of the same names.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.messages import listing as joined
from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext, FindingFactory, shorten_evidence
from fastinstall.doctor.codec_libraries import (
    OwnedDirectory,
    claimed_features,
    core_codec,
    describe_file_owner,
    is_bundled,
    is_unresolved,
    list_needs_of,
    mapped_files,
    name_library,
    no_simulation,
    place_of,
    reason_for,
    show_lacking,
)
from fastinstall.doctor.loader_agreement import disagreements
from fastinstall.doctor.owners import describe_arrival, describe_owner, find_owning_package, why_no_core
from fastinstall.doctor.remedies import (
    PRINT_FEATURES,
    find_text,
    offer_repair,
    run_python,
    show_digests,
    show_lines,
    show_maps,
    show_needed,
    show_strings,
    suggest_conda_reinstall,
    trace_search,
)
from fastinstall.elf.description import ImagingCore, LoadedLibrary, MissingLibrary
from fastinstall.model.conda import CondaClash
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.request import LinkMode

NEEDS_RUNTIME = True
ORDER = 100
VERIFIES_SETUP = True

_SAY = FindingFactory("jpeg-library")
_TURBO = "libjpeg-turbo"
_SLOW = {"IJG libjpeg": "it has no SIMD code, and is slower", "mozjpeg": "it is slower, but makes smaller files"}
_MARKS = "libjpeg-turbo|mozjpeg|Thomas G. Lane"
_SHOWN = 16


@immutable
class Jpeg:
    """A libjpeg that is there.

    Attributes:
        library: the libjpeg: its file and what it was identified as.
        path: the file that holds it.
        inside: whether that is the file of the core itself.
    """

    library: LoadedLibrary
    path: PurePath
    inside: bool


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the libjpeg of the core, and what the next build in this conda environment would compile for."""
    yield from _check_core(context)
    yield from _check_headers(context)


def _check_core(context: CheckContext) -> Iterator[Finding]:
    core, process = context.readable_core, context.facts.process
    if core is None:
        yield _SAY.skipped(why_no_core(context.facts))
    elif is_unresolved(context, core):
        yield _SAY.skipped(no_simulation(context), verify=show_needed(core.path))
    elif (missing := _find_missing_jpeg(context, core)) is not None:
        yield _report_unresolved(context, missing)
    elif (jpeg := _find_jpeg(context, core)) is None:
        yield _report_unlinked(context, core)
    elif process is not None and process.taken:
        yield _SAY.skipped(f"process {process.pid} calls another library's functions: see jpeg-duplicates")
    else:
        problems = (
            *_report_identity(context, jpeg),
            *_report_changed(context, jpeg),
            *_report_outside(context, jpeg),
            *_report_other(context, jpeg),
        )
        how = "has linked in" if jpeg.inside else "loads"
        simd = "with SIMD code, " if jpeg.library.simd else ""
        message = f"the core {how} {name_library(jpeg.library)} ({simd}{describe_file_owner(context, jpeg.path)})"
        fine = _SAY.ok(message, evidence=_portray(context, jpeg), verify=show_strings(jpeg.path, _MARKS))
        yield from problems or (fine,)


def _check_headers(context: CheckContext) -> Iterator[Finding]:
    """Tell of libjpeg-turbo's files for builds that another package of conda's has overwritten."""
    conda, prefix = context.facts.conda, context.facts.environment.prefix
    if conda is None:
        return
    from fastinstall.conda.reinstall import is_taken  # noqa: PLC0415 (only in conda environments)

    taken = [clash for clash in conda.clashes if any(map(_is_turbo, clash.claimants)) and is_taken(clash)]
    if not taken:
        return
    names = [clash.path.rpartition("/")[2] for clash in taken]
    told = [name for name in ("libjpeg.so", "jpeglib.h") if name in names] or names[:2]
    holder, loser = taken[0].holder, next(filter(_is_turbo, taken[0].claimants))
    are = "are" if told[1:] else "is"
    whose = f"{'those' if told[1:] else 'that'} of {holder}" if holder else "nobody's"
    arrival = describe_arrival(context.facts, holder)
    brought = (f"{holder} was installed{arrival}",) if arrival else ()
    headers = [prefix / clash.path for clash in taken if clash.path.startswith("include/")]
    record = show_lines('"lib/libjpeg', prefix / f"conda-meta/{loser}.json")
    yield _SAY.warning(
        f"{joined(told)} {are} {whose}, though {loser} claims them too: "
        "what is built here next is linked to another libjpeg, without SIMD code",
        evidence=(*shorten_evidence(map(_describe_clash, taken)), *brought),
        expected=f"those of {loser}",
        observed=holder or "nobody's",
        remedy=suggest_conda_reinstall(context, "install libjpeg-turbo again, so that its files win", _TURBO),
        verify=show_lines("JPEG_LIB_VERSION\\|LIBJPEG_TURBO_VERSION", *headers[:3]) if headers else record,
    )


def _is_turbo(dist: str) -> bool:
    from fastinstall.conda.reinstall import name_of_dist  # noqa: PLC0415 (likewise)

    return name_of_dist(dist) == _TURBO


def _describe_clash(clash: CondaClash) -> str:
    return f"{clash.path}: claimed by {joined(clash.claimants)}; it belongs to {clash.holder or 'none of them'}"


def _report_unlinked(context: CheckContext, core: ImagingCore) -> Finding:
    asked = ", ".join(library.soname for library in core.libraries) or "no library"
    evidence = (f"{core.path} requires {asked}",)
    runtime, receipt = context.facts.runtime, context.receipt
    if runtime is not None and "jpg" in runtime.features:
        message = "the core has JPEG but needs no libjpeg: it is linked statically"
        return _SAY.hint(message, evidence=evidence, verify=show_needed(core.path))
    recorded = receipt.jpeg if receipt is not None else None
    return _SAY.say(
        Status.WARNING if recorded is None else Status.ERROR,
        "the core needs no libjpeg: it was built without JPEG",
        evidence=evidence,
        expected=name_library(recorded) if recorded is not None else "libjpeg",
        observed="none",
        remedy=offer_repair(context),
        verify=run_python(context, PRINT_FEATURES),
    )


def _report_unresolved(context: CheckContext, missing: MissingLibrary) -> Finding:
    told = "is not found" if missing.problem == "not found" else f"cannot be used: {missing.problem}"
    return _SAY.error(
        f"{missing.name} {told}; PIL cannot be imported",
        evidence=(f"needed by {missing.needed_by}",),
        remedy=offer_repair(context),
        verify=show_lacking(context, missing),
    )


def _report_identity(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    library, name = jpeg.library, name_library(jpeg.library)
    failure = "" if jpeg.inside else _explain_mismatch(context, library)
    status, expected, message = Status.WARNING, _TURBO, ""
    if failure:
        status, message = Status.ERROR, failure
    elif not library.implementation:
        status, message = Status.UNKNOWN, "the core's libjpeg could not be identified"
    elif library.implementation != _TURBO:
        why = _SLOW.get(library.implementation, "it is not known to be fast")
        message = f"the core loads {name}, not {_TURBO}: {why}"
    elif library.simd is False:
        expected, message = "SIMD code inside", f"the core loads a {name} that was built without SIMD: JPEG is slower"
    if message:
        yield _SAY.say(
            status,
            message,
            evidence=(*_portray(context, jpeg), *(_list_claims_and_failures(context) if failure else ())),
            expected=expected,
            observed=name,
            remedy=offer_repair(context),
            verify=show_strings(jpeg.path, _MARKS),
        )


def _report_changed(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    recorded = context.own_receipt.jpeg if context.own_receipt is not None else None
    if recorded is None or not (changes := describe_change_since_setup(context, recorded, jpeg.library)):
        return
    now, was = name_library(jpeg.library), name_library(recorded)
    told = f"{now} instead of {was}" if now != was else f"another file of {now}"
    yield _SAY.warning(
        f"the core's libjpeg is not the one that was set up: {told}",
        evidence=(*changes, *_portray(context, jpeg)),
        expected=f"{recorded.path} (sha256 {recorded.sha256[:_SHOWN]})",
        observed=f"{jpeg.path} (sha256 {jpeg.library.sha256[:_SHOWN]})",
        remedy=offer_repair(context),
        verify=show_digests(jpeg.path),
    )


def _report_outside(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    receipt, prefix = context.own_receipt, context.facts.environment.prefix
    bundled = receipt is not None and receipt.link is LinkMode.BUNDLE
    if bundled and not jpeg.path.is_relative_to(prefix):
        yield _SAY.warning(
            "the core's libjpeg is outside this environment, although the libraries were bundled",
            evidence=_portray(context, jpeg),
            expected=f"below {prefix}",
            observed=str(jpeg.path),
            remedy=offer_repair(context),
            verify=trace_search(context, jpeg.path.name),
        )


def _report_other(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    """Report another file in its place, in a process that runs already."""
    process = context.facts.process
    for difference in disagreements(context.linkage, process.mapped) if process is not None else ():
        if process is not None and difference.simulated == jpeg.path and difference.mapped is not None:
            yield _SAY.warning(
                f"process {process.pid} has loaded another libjpeg than a new process would: {difference.mapped}",
                evidence=(f"it is {describe_file_owner(context, difference.mapped)}", *_portray(context, jpeg)),
                expected=str(jpeg.path),
                observed=str(difference.mapped),
                remedy=Remedy(text="import PIL before the package that brings the other one, or restart the process"),
                verify=show_maps(process, "libjpeg"),
            )


def describe_change_since_setup(
    context: CheckContext, recorded: LoadedLibrary, library: LoadedLibrary
) -> tuple[str, ...]:
    """Describe what changed, as evidence; empty if it is the same library.

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
    pairs = ((recorded.build_id, library.build_id), (recorded.size, library.size))
    return all(was == now for was, now in pairs if was and now)


def _describe_author(context: CheckContext, recorded: LoadedLibrary, library: LoadedLibrary) -> tuple[str, ...]:
    path, facts = library.path, context.facts
    if path is None or recorded.path != path:
        return ("the loader now finds another file first",)
    place = place_of(context, path)
    if place is OwnedDirectory.PACKAGES:
        return _describe_record_author(context, path)
    if place is OwnedDirectory.SYSTEM:
        return ("replaced in place, as an upgrade of the operating system's packages does",)
    if place is not OwnedDirectory.ENVIRONMENT or facts.environment.kind is not EnvironmentKind.CONDA:
        return ("overwritten in place, by an unknown tool",)
    if package := find_owning_package(context, path):
        return (f"now it belongs to conda's {package}{describe_arrival(facts, package)}",)
    likely = _TURBO if library.implementation == _TURBO else "jpeg"
    records = find_text(f"lib/{path.name}", facts.environment.prefix / "conda-meta")
    return (f"clobbered in place, as conda's package {likely} does; to find out which: {records}",)


def _describe_record_author(context: CheckContext, path: PurePath) -> tuple[str, ...]:
    """Say whose RECORD lists the file, or that it lists other contents; nothing if no distribution has it."""
    name = path.relative_to(context.facts.interpreter.site_packages)
    owners = [owner for owner in context.facts.stack.owners if name.parts[0] in owner.entries]
    if any(str(name) in owner.mismatched for owner in owners):
        return ("clobbered in place: RECORD lists other contents",)
    return tuple(f"now it belongs to {describe_owner(owner)}" for owner in owners[:1])


def _explain_mismatch(context: CheckContext, library: LoadedLibrary) -> str:
    """Explain why the core cannot work with this libjpeg; empty if it can, or if nothing is known of either.

    A libjpeg refuses callers that were compiled for another interface ("Wrong JPEG library version"). The IJG's
    does not know the colour spaces that a core which was compiled for libjpeg-turbo asks for when it writes. Where
    an operation with JPEG was seen to work, it works.
    """
    runtime, features = context.facts.runtime, claimed_features(context)
    if runtime is not None and any("jpeg" in each.name and each.ok for each in runtime.operations):
        return ""
    asked, name = features.get("jpg", ""), name_library(library)
    if re.fullmatch(r"[6-9]\.\d", asked) and library.abi and library.abi != asked.replace(".", ""):
        has = f"{library.abi[:-1]}.{library.abi[-1]}"
        return f"the core was compiled for libjpeg's interface {asked}, but loads {name}, which has {has}"
    if "libjpeg_turbo" in features and library.implementation == "IJG libjpeg":
        turbo = f"{_TURBO} {features['libjpeg_turbo']}".rstrip()
        return f"the core was compiled for {turbo}, but loads {name}: JPEG files cannot be written"
    return ""


def _list_claims_and_failures(context: CheckContext) -> tuple[str, ...]:
    """List what `PIL.features` says all the same, and the operations that failed."""
    features, runtime = claimed_features(context), context.facts.runtime
    claims = (f"PIL.features says {name} {features[name]}" for name in ("jpg", "libjpeg_turbo") if name in features)
    operations = runtime.operations if runtime is not None else ()
    failed = (f"{each.name}: {each.error}" for each in operations if "jpeg" in each.name and not each.ok)
    return (*claims, *failed)


def _find_missing_jpeg(context: CheckContext, core: ImagingCore) -> MissingLibrary | None:
    """Find the libjpeg whose absence keeps the core from being loaded."""
    linkage = context.linkage
    missing = linkage.missing if linkage.modules else list_needs_of(core)
    is_loaded = any(file.path == core.path for file in linkage.files)
    return None if is_loaded else next((each for each in missing if _is_jpeg(each.name)), None)


def _find_jpeg(context: CheckContext, core: ImagingCore) -> Jpeg | None:
    """Find the libjpeg that the core is bound to, by the simulated process, else by what the core was found to need."""
    codec = core_codec(context, "jpeg")
    if codec is not None and codec.library.path is not None:
        return Jpeg(library=codec.library, path=codec.library.path, inside=codec.inside)
    for library in core.libraries:
        if _is_jpeg(library.soname) and library.path is not None:
            return Jpeg(library=library, path=library.path, inside=False)
    return None


def _portray(context: CheckContext, jpeg: Jpeg) -> tuple[str, ...]:
    """Describe what can be seen of it: where it is and why there, SIMD and interface, whose it is."""
    library = jpeg.library
    where = f"linked into {jpeg.path}" if jpeg.inside else f"{library.soname} resolves to {jpeg.path}"
    reason = "" if jpeg.inside else reason_for(context, jpeg.path)
    simd = {True: "with SIMD code", False: "without SIMD code", None: "SIMD code unknown"}[library.simd]
    abi = f", interface of libjpeg {library.abi[:-1]}.{library.abi[-1]}" if library.abi else ""
    mapped = ("mapped, as was seen in a process",) if jpeg.path in mapped_files(context) else ()
    by_whom = (f"it is {describe_file_owner(context, jpeg.path)}",)
    return (f"{where}{f' ({reason})' if reason else ''}", f"{simd}{abi}", *by_whom, *mapped)


def _is_jpeg(name: str) -> bool:
    """Tell whether a library is named as libjpeg is, in a wheel too; libturbojpeg has another interface."""
    file = name.rpartition("/")[2]  # a library without a soname is asked for by the path that the linker was given
    return file.startswith("libjpeg.so") or (file.startswith("libjpeg-") and is_bundled(file))

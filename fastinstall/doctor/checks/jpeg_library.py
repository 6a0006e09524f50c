"""Which libjpeg is really loaded: implementation, version, SIMD, and owner.

- error: the loader would not find libjpeg. Or the core was compiled for another interface or implementation, so JPEG
  fails. Or the setup had JPEG support, and it is gone.
- warning: the library is not libjpeg-turbo (IJG's has no SIMD, mozjpeg trades speed for size), or it lacks SIMD. Or it
  is not the file that the setup recorded, or there is no JPEG at all.
- hint: the core has JPEG without loading a libjpeg. A libjpeg is linked statically, and its implementation is unknown.
- unknown: the library could not be identified.

A libjpeg that is linked into the core is judged like a libjpeg in a separate file. A copied file with the same contents
counts as the recorded file. The check is skipped if Python runs on musl, whose loader is not simulated.

Why it matters:
With its SIMD code, libjpeg-turbo decodes and encodes JPEG several times as fast as the IJG's libjpeg. An environment
with the wrong library works, or seems to work, but is slow. `PIL.features` does not show that, because it reports the
library that the core was compiled with. It says "libjpeg_turbo True" even if the IJG's library is loaded and JPEG files
cannot be written. Stock Pillow uses libjpeg-turbo too: a fast stack does not decode JPEG faster than Pillow's own
wheels.

How to fix it:
If fastinstall has set up the stack, `fastinstall doctor --fix` restores its library. Otherwise a setup installs its own
libjpeg-turbo, which no other package can replace. In a conda environment install libjpeg-turbo last: the packages
`jpeg` and `libjpeg-turbo` write files of the same names.
"""

import re
from collections.abc import Iterator

from fastinstall.doctor import codec_libraries as libraries
from fastinstall.doctor import remedies
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import explain_no_core
from fastinstall.elf.description import Codec, ImagingCore, LoadedLibrary, MissingLibrary
from fastinstall.model.finding import Finding, Status

_TURBO = "libjpeg-turbo"
_SLOW = {"IJG libjpeg": "it has no SIMD code, and is slower", "mozjpeg": "it is slower, but makes smaller files"}
_MARKS = "libjpeg-turbo|mozjpeg|Thomas G. Lane"
_SHOWN = 16


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the libjpeg of the core."""
    core = context.readable_core
    if core is None:
        yield Finding.skipped(explain_no_core(context.facts))
    elif libraries.is_unresolved(context, core):
        yield Finding.skipped(libraries.explain_no_simulation(context), verify=remedies.show_needed(core.path))
    elif (missing := _find_missing_jpeg(context, core)) is not None:
        yield _report_unresolved(context, missing)
    elif (jpeg := _find_jpeg(context, core)) is None:
        yield _report_unlinked(context, core)
    else:
        problems = (*_report_identity(context, jpeg), *_report_changed(context, jpeg))
        how = "has linked in" if jpeg.inside else "loads"
        simd = "with SIMD code, " if jpeg.library.simd else ""
        name, whose = libraries.name_library(jpeg.library), libraries.describe_file_owner(context, jpeg.path)
        message = f"the core {how} {name} ({simd}{whose})"
        fine = Finding.ok(message, evidence=_portray(context, jpeg), verify=remedies.show_strings(jpeg.path, _MARKS))
        yield from problems or (fine,)


def _report_unlinked(context: CheckContext, core: ImagingCore) -> Finding:
    asked = ", ".join(library.soname for library in core.libraries) or "no library"
    evidence = (f"{core.path} requires {asked}",)
    runtime, receipt = context.facts.runtime, context.receipt
    if runtime is not None and "jpg" in runtime.features:
        message = "the core has JPEG but needs no libjpeg: it is linked statically"
        return Finding.hint(message, evidence=evidence, verify=remedies.show_needed(core.path))
    recorded = receipt.jpeg if receipt is not None else None
    return Finding.of(
        Status.WARNING if recorded is None else Status.ERROR,
        "the core needs no libjpeg: it was built without JPEG",
        evidence=evidence,
        expected=libraries.name_library(recorded) if recorded is not None else "libjpeg",
        observed="none",
        remedy=remedies.offer_repair(context),
        verify=remedies.run_python(context, remedies.PRINT_FEATURES),
    )


def _report_unresolved(context: CheckContext, missing: MissingLibrary) -> Finding:
    told = "is not found" if missing.problem == "not found" else f"cannot be used: {missing.problem}"
    return Finding.error(
        f"{missing.name} {told}; PIL cannot be imported",
        evidence=(f"needed by {missing.needed_by}",),
        remedy=remedies.offer_repair(context),
        verify=libraries.show_lacking(context, missing),
    )


def _report_identity(context: CheckContext, jpeg: Codec) -> Iterator[Finding]:
    library, name = jpeg.library, libraries.name_library(jpeg.library)
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
        yield Finding.of(
            status,
            message,
            evidence=(*_portray(context, jpeg), *(_list_claims_and_failures(context) if failure else ())),
            expected=expected,
            observed=name,
            remedy=remedies.offer_repair(context),
            verify=remedies.show_strings(jpeg.path, _MARKS),
        )


def _report_changed(context: CheckContext, jpeg: Codec) -> Iterator[Finding]:
    recorded = context.own_receipt.jpeg if context.own_receipt is not None else None
    if recorded is None or not (changes := describe_change_since_setup(recorded, jpeg.library)):
        return
    now, was = libraries.name_library(jpeg.library), libraries.name_library(recorded)
    told = f"{now} instead of {was}" if now != was else f"another file of {now}"
    yield Finding.warning(
        f"the core's libjpeg is not the one that was set up: {told}",
        evidence=(*changes, *_portray(context, jpeg)),
        expected=f"{recorded.path} (sha256 {recorded.sha256[:_SHOWN]})",
        observed=f"{jpeg.path} (sha256 {jpeg.library.sha256[:_SHOWN]})",
        remedy=remedies.offer_repair(context),
        verify=remedies.show("sha256sum", jpeg.path),
    )


def describe_change_since_setup(recorded: LoadedLibrary, library: LoadedLibrary) -> tuple[str, ...]:
    """Return evidence of how a libjpeg differs from the one that the setup recorded; empty if they are the same.

    Libraries are the same if their contents are, even at different paths or inodes. If one of the SHA-256 hashes is
    missing, build-ids and sizes are compared, if known for both libraries.
    """
    if _is_same(recorded, library):
        return ()
    rows = (
        ("path", recorded.path, library.path),
        ("library", libraries.name_library(recorded), libraries.name_library(library)),
        ("size", recorded.size or "", library.size or ""),
        ("sha256", recorded.sha256[:_SHOWN], library.sha256[:_SHOWN]),
        ("build-id", recorded.build_id[:_SHOWN], library.build_id[:_SHOWN]),
    )
    return tuple(f"{name} was {was}, is {now}" for name, was, now in rows if was and now and was != now)


def _is_same(recorded: LoadedLibrary, library: LoadedLibrary) -> bool:
    if recorded.sha256 and library.sha256:
        return recorded.sha256 == library.sha256
    pairs = ((recorded.build_id, library.build_id), (recorded.size, library.size))
    return all(was == now for was, now in pairs if was and now)


def _explain_mismatch(context: CheckContext, library: LoadedLibrary) -> str:
    """Return why the core cannot work with a libjpeg; empty if no mismatch is known.

    A libjpeg refuses callers that were compiled for another interface ("Wrong JPEG library version"). The IJG's library
    lacks colour spaces that a core compiled for libjpeg-turbo uses for writing. If a JPEG operation succeeded in the
    target, there is no mismatch.
    """
    runtime, features = context.facts.runtime, libraries.list_features(context)
    if runtime is not None and any("jpeg" in each.name and each.ok for each in runtime.operations):
        return ""
    asked, name = features.get("jpg", ""), libraries.name_library(library)
    if re.fullmatch(r"[6-9]\.\d", asked) and library.abi and library.abi != asked.replace(".", ""):
        has = f"{library.abi[:-1]}.{library.abi[-1]}"
        return f"the core was compiled for libjpeg's interface {asked}, but loads {name}, which has {has}"
    if "libjpeg_turbo" in features and library.implementation == "IJG libjpeg":
        turbo = f"{_TURBO} {features['libjpeg_turbo']}".rstrip()
        return f"the core was compiled for {turbo}, but loads {name}: JPEG files cannot be written"
    return ""


def _list_claims_and_failures(context: CheckContext) -> tuple[str, ...]:
    """Return evidence of a mismatch: the JPEG versions that `PIL.features` claims, and the operations that failed."""
    features, runtime = libraries.list_features(context), context.facts.runtime
    claims = (f"PIL.features says {name} {features[name]}" for name in ("jpg", "libjpeg_turbo") if name in features)
    operations = runtime.operations if runtime is not None else ()
    failed = (f"{each.name}: {each.error}" for each in operations if "jpeg" in each.name and not each.ok)
    return (*claims, *failed)


def _find_missing_jpeg(context: CheckContext, core: ImagingCore) -> MissingLibrary | None:
    """Return the missing libjpeg that keeps the core from being loaded, or None."""
    is_loaded = any(file.path == core.path for file in context.linkage.files)
    return None if is_loaded else next((each for each in libraries.list_missing(context) if _is_jpeg(each.name)), None)


def _find_jpeg(context: CheckContext, core: ImagingCore) -> Codec | None:
    """Return the libjpeg that the core uses, or None if none is found.

    The libjpeg of the simulated process is preferred. Otherwise, it is a libjpeg that the core needs directly.
    """
    needed = (each for each in core.libraries if _is_jpeg(each.soname) and each.path is not None)
    direct = next((Codec(kind="jpeg", library=library) for library in needed), None)
    return libraries.find_core_codec(context, "jpeg") or direct


def _portray(context: CheckContext, jpeg: Codec) -> tuple[str, ...]:
    """Return evidence on a libjpeg: its path, why the loader chose that file, SIMD code, interface, and owner."""
    library = jpeg.library
    where = f"linked into {jpeg.path}" if jpeg.inside else f"{library.soname} resolves to {jpeg.path}"
    reason = "" if jpeg.inside else libraries.explain_choice_of(context, jpeg.path)
    simd = {True: "with SIMD code", False: "without SIMD code", None: "SIMD code unknown"}[library.simd]
    abi = f", interface of libjpeg {library.abi[:-1]}.{library.abi[-1]}" if library.abi else ""
    mapped = ("mapped, as was seen in a process",) if jpeg.path in libraries.list_mapped_files(context) else ()
    by_whom = (f"it is {libraries.describe_file_owner(context, jpeg.path)}",)
    return (f"{where}{f' ({reason})' if reason else ''}", f"{simd}{abi}", *by_whom, *mapped)


def _is_jpeg(name: str) -> bool:
    """Return whether a library's name is that of a libjpeg, even if auditwheel has added a digest to the name.

    False for libturbojpeg, which has another interface.
    """
    file = name.rpartition("/")[2]  # a library without a soname is recorded by the path that the linker was given
    return file.startswith("libjpeg.so") or (file.startswith("libjpeg-") and libraries.is_bundled(file))

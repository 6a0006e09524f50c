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
another inode and the same contents, is the same.

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

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.model.core import Core
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.linkage import MissingLibrary
from fastinstall.model.wish import LinkMode
from fastinstall.rules.agreement import disagreements
from fastinstall.rules.checks._codecs import called, simulation
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._jpeg_change import changed_since_setup
from fastinstall.rules.checks._jpeg_fit import claims_and_failures, misfit
from fastinstall.rules.checks._jpeg_found import Jpeg, jpeg_of_core, missing_jpeg, portray
from fastinstall.rules.checks._lacking import show_lacking
from fastinstall.rules.checks._places import whose
from fastinstall.rules.checks._remedies import reinstalled, repair
from fastinstall.rules.checks._stack import readable_core, why_no_core
from fastinstall.rules.checks._verify import (
    FEATURES,
    run_python,
    show_digests,
    show_lines,
    show_needed,
    show_strings,
    trace_search,
)
from fastinstall.rules.checks._voice import Details, Voice

NAME = "jpeg-library"
SUMMARY = "Which libjpeg really loads: implementation, version, SIMD, and whose it is."
NEEDS_RUNTIME = True
ORDER = 100
VERIFIES_SETUP = True
SETUP_REPAIRS = True

_SAY = Voice(NAME)
_TURBO = "libjpeg-turbo"
_SLOW = {"IJG libjpeg": "it has no SIMD code, and is slower", "mozjpeg": "it is slower, for the sake of smaller files"}
_MARKS = "libjpeg-turbo|mozjpeg|Thomas G. Lane"


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the libjpeg of the core."""
    yield from _of_core(context)
    yield from _headers(context)


def _of_core(context: CheckContext) -> Iterator[Finding]:
    core = readable_core(context.facts.stack)
    if core is None:
        yield _SAY.skipped(why_no_core(context.facts))
    elif (missing := missing_jpeg(context, core)) is not None:
        yield _unresolved(context, missing)
    elif (jpeg := jpeg_of_core(context, core)) is None:
        yield _unlinked(context, core)
    elif context.facts.process is not None and context.facts.process.taken:
        yield _SAY.skipped(
            f"process {context.facts.process.pid} calls another library's functions: see jpeg-duplicates"
        )
    else:
        problems = tuple(
            finding for judge in (_identity, _changed, _outside, _other) for finding in judge(context, jpeg)
        )
        yield from problems or (_well(context, jpeg),)


def _well(context: CheckContext, jpeg: Jpeg) -> Finding:
    how = "has linked in" if jpeg.inside else "loads"
    traits = ("with SIMD code",) if jpeg.library.simd else ()
    message = f"the core {how} {called(jpeg.library)} ({', '.join((*traits, whose(context, jpeg.path)))})"
    return _SAY.ok(message, evidence=portray(context, jpeg), verify=show_strings(jpeg.path, _MARKS))


def _headers(context: CheckContext) -> Iterator[Finding]:
    """What the next build in this conda environment would compile for."""
    if context.facts.conda is None:
        return
    from fastinstall.rules.checks._jpeg_clash import taken_from_turbo  # noqa: PLC0415 (only in conda environments)

    clash = taken_from_turbo(context)
    if clash is not None:
        yield _SAY.warning(
            f"{clash.files} {clash.verb} {clash.holder}, though {clash.loser} claims them too: what is built here next "
            "is linked to another libjpeg, without SIMD code",
            evidence=clash.evidence,
            expected=f"those of {clash.loser}",
            observed=clash.holder,
            remedy=reinstalled(context, "install libjpeg-turbo again, so that its files win", _TURBO),
            verify=clash.verify,
        )


def _unlinked(context: CheckContext, core: Core) -> Finding:
    asked = ", ".join(library.soname for library in core.libraries) or "no library"
    evidence, verify = (f"{core.path} asks for {asked}",), show_needed(core.path)
    runtime = context.facts.runtime
    if runtime is not None and "jpg" in runtime.features:
        message = "the core has JPEG without asking for a libjpeg: it is linked statically"
        return _SAY.hint(message, evidence=evidence, verify=verify)
    message, remedy = "the core asks for no libjpeg: it was built without JPEG", repair(context)
    verify = run_python(context, FEATURES)
    if context.receipt is not None and context.receipt.jpeg is not None:
        was = called(context.receipt.jpeg)
        return _SAY.error(message, evidence=evidence, expected=was, observed="none", remedy=remedy, verify=verify)
    return _SAY.warning(message, evidence=evidence, expected="libjpeg", observed="none", remedy=remedy, verify=verify)


def _unresolved(context: CheckContext, missing: MissingLibrary) -> Finding:
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


def _identity(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    library, name = jpeg.library, called(jpeg.library)
    failure = "" if jpeg.inside else misfit(context, library)
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


def _changed(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    recorded = context.receipt.jpeg if context.receipt is not None and context.core_is_ours else None
    if recorded is None or not (changes := changed_since_setup(context, recorded, jpeg.library)):
        return
    now, was = called(jpeg.library), called(recorded)
    told = f"{now} instead of {was}" if now != was else f"another file of {now}"
    yield _SAY.warning(
        f"the libjpeg of the core is not the one that was set up: {told}",
        evidence=(*changes, *portray(context, jpeg)),
        expected=f"{recorded.path} (sha256 {recorded.sha256[:16]})",
        observed=f"{jpeg.path} (sha256 {jpeg.library.sha256[:16]})",
        remedy=repair(context),
        verify=show_digests(jpeg.path),
    )


def _outside(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
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


def _other(context: CheckContext, jpeg: Jpeg) -> Iterator[Finding]:
    """Another file in its place, in a process that runs already."""
    process, linkage = context.facts.process, simulation(context)
    if process is None or linkage is None:
        return
    for difference in disagreements(linkage, process.mapped):
        if difference.simulated == jpeg.path and difference.mapped is not None:
            yield _SAY.warning(
                f"process {process.pid} has another libjpeg than a fresh one would load: {difference.mapped}",
                evidence=(f"it is {whose(context, difference.mapped)}", *portray(context, jpeg)),
                expected=str(jpeg.path),
                observed=str(difference.mapped),
                remedy=Remedy(text="import PIL before the package that brings the other one, or restart the process"),
                verify=show_lines("libjpeg", PurePath(f"/proc/{process.pid}/maps")),
            )

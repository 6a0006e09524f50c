"""Which libjpeg the core would load, found in its files by the loader's rules, without loading it.

- error: the loader would not find it, or the JPEG support that was set up is gone.
- warning: not libjpeg-turbo (IJG's has no SIMD, mozjpeg trades speed for size), or a libjpeg-turbo without SIMD; not
  the file that the setup recorded; outside this environment although the libraries were bundled; no JPEG at all.
- hint: the core asks for no libjpeg, and has JPEG all the same: it is linked statically.
- unknown: the library could not be identified.

libjpeg-turbo decodes JPEG for stock Pillow too: a fast stack does not decode JPEG faster than Pillow's own wheels.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.model.core import Core, Library
from fastinstall.model.finding import Finding
from fastinstall.model.wish import LinkMode
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair
from fastinstall.rules.checks._stack import readable_core
from fastinstall.rules.checks._voice import Voice

NAME = "jpeg-library"
SUMMARY = "Which libjpeg the imaging core would load: implementation, version, SIMD, and whose it is."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)
_STEM = re.compile(r"libjpeg(-[0-9a-f]{8,})?\.so\b")
_TURBO = "libjpeg-turbo"
_SLOW = {"IJG libjpeg": "it has no SIMD code, and is slower", "mozjpeg": "it is slower, for the sake of smaller files"}


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the libjpeg of the core."""
    core = readable_core(context.facts.stack)
    if core is None:
        yield _SAY.skipped("there is no readable imaging core")
        return
    library = next((library for library in core.libraries if _STEM.match(library.soname)), None)
    if library is None:
        yield _unlinked(context, core)
    elif library.path is None:
        yield _unresolved(context, library)
    else:
        problems = (*_identity(context, library), *_changed(context, library), *_outside(context, library.path))
        yield from problems or (_SAY.ok(f"the core loads {_name(library)}", evidence=_evidence(library)),)


def _unlinked(context: CheckContext, core: Core) -> Finding:
    evidence = (f"{core.path} asks for {', '.join(library.soname for library in core.libraries) or 'no library'}",)
    runtime = context.facts.runtime
    if runtime is not None and "jpg" in runtime.features:
        return _SAY.hint("the core has JPEG without asking for a libjpeg: it is linked statically", evidence=evidence)
    message = "the core asks for no libjpeg: it was built without JPEG"
    if context.receipt is not None and context.receipt.jpeg is not None:
        was = _name(context.receipt.jpeg)
        return _SAY.error(message, evidence=evidence, expected=was, observed="none", remedy=repair(context))
    return _SAY.warning(message, evidence=evidence, expected="libjpeg", observed="none", remedy=repair(context))


def _unresolved(context: CheckContext, library: Library) -> Finding:
    return _SAY.error(
        f"{library.soname} is not found: PIL cannot be imported",
        evidence=(f"{library.soname} is not on any path that the loader searches for this core",),
        expected=f"{library.soname} in this environment",
        observed="not found",
        remedy=repair(context),
    )


def _identity(context: CheckContext, library: Library) -> Iterator[Finding]:
    evidence, remedy = _evidence(library), repair(context)
    if not library.implementation:
        yield _SAY.unknown("the libjpeg of the core could not be identified", evidence=evidence, expected=_TURBO)
    elif library.implementation != _TURBO:
        why = _SLOW.get(library.implementation, "it is not known to be fast")
        message = f"the core loads {_name(library)}, not {_TURBO}: {why}"
        yield _SAY.warning(message, evidence=evidence, expected=_TURBO, observed=_name(library), remedy=remedy)
    elif library.simd is False:
        message = f"the core loads a {_name(library)} that was built without SIMD: JPEG is slower"
        yield _SAY.warning(message, evidence=evidence, expected="SIMD code inside", observed="none", remedy=remedy)


def _changed(context: CheckContext, library: Library) -> Iterator[Finding]:
    recorded = context.receipt.jpeg if context.receipt is not None and context.core_is_ours else None
    if recorded is not None and recorded.sha256 and library.sha256 and recorded.sha256 != library.sha256:
        yield _SAY.warning(
            f"the libjpeg of the core is not the one that was set up: {_name(library)} instead of {_name(recorded)}",
            evidence=_evidence(library),
            expected=f"{recorded.path} (sha256 {recorded.sha256[:16]})",
            observed=f"{library.path} (sha256 {library.sha256[:16]})",
            remedy=repair(context),
        )


def _outside(context: CheckContext, path: PurePath) -> Iterator[Finding]:
    receipt, prefix = context.receipt, context.facts.environment.prefix
    if receipt is None or receipt.link is not LinkMode.BUNDLE or not context.core_is_ours:
        return
    if not path.is_relative_to(prefix):
        yield _SAY.warning(
            "the libjpeg of the core lies outside this environment, although the libraries were bundled",
            evidence=(str(path),),
            expected=f"below {prefix}",
            observed=str(path),
            remedy=repair(context),
        )


def _name(library: Library) -> str:
    return f"{library.implementation or library.soname} {library.version}".rstrip()


def _evidence(library: Library) -> tuple[str, ...]:
    simd = {True: "with SIMD code", False: "without SIMD code", None: "SIMD code cannot be told"}[library.simd]
    return (f"{library.soname} resolves to {library.path}", simd)

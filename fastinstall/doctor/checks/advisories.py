"""Known vulnerabilities and defects of the installed Pillow and its libraries, with their dates and sources.

- error: a critical advisory affects this version, and the risk was not accepted. Or a pin set by fastinstall keeps a
  later version out.
- warning: advisories affect this version; the message counts them by severity, and the evidence has the sources.
  Critical advisories are warnings if `--allow vulnerable` accepted them at the setup. Later critical ones are errors.
  For a package of the operating system they are warnings, because such packages may get fixes without a new version.
- hint: the data on advisories is older than 90 days; a later fastinstall has later data.

Pillow is judged by its version: a build with SIMD kernels has all fixes of that version. A defect of a fork's kernels
counts only if the core has these kernels. The evidence includes a line of Python that shows the defect. The data
includes nothing later than its date, and a version without a known advisory is not proved safe. Libraries are judged by
their versions alone, and a distribution may have patched its own build.

If a pin keeps the stack at its version, later versions are installed only by hand. So every advisory that affects a
pinned stack is an error, unless the risk was accepted at the setup.

Why it matters:
Images come from strangers, and their decoders are written in C. A fork that follows Pillow lacks the fixes of later
releases. A scanner that looks for `pillow` misses `pillow-simd`.

How to fix it:
Set up the newest Pillow with SIMD kernels, or go back to the newest stock Pillow. To keep an older Pillow knowingly,
use `--allow vulnerable` at the setup. The critical advisories known on that day are then warnings. If another
distribution in the environment allows no version with the fixes, the remedy names this distribution, and proposes no
version. If the stack is pinned, `fastinstall setup --upgrade` installs the newest Pillow and updates the pin;
`fastinstall guard remove` removes the pin.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from fastinstall.core.version_numbers import is_version
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.codec_libraries import find_codec, find_core_codec, list_features
from fastinstall.doctor.owners import is_of_the_system
from fastinstall.doctor.remedies import PRINT_FEATURES, VERSION, offer_setup, offer_stock, run_python, word_command
from fastinstall.index.upgrades import environment_command, forecast_upgrade
from fastinstall.model import advisories
from fastinstall.model.dependants import dependants_of
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.guards import PinKind, PinState
from fastinstall.model.request import LinkMode, Request, Risk

_FRESH_DAYS = 90


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the versions of Pillow and of its libraries for known advisories."""
    version, known = context.facts.stack.version, context.recipe.advisories
    if not known:
        yield Finding.skipped(f"the recipe {context.recipe.name} has no data on advisories")
        return
    if version is None:
        yield Finding.skipped("there is no Pillow, or its version is unknown")
        return
    dated = max(advisory.dated for advisory in known)
    age = (context.today - dated).days
    data = (f"data of {dated}, {age} {'day' if age == 1 else 'days'} old",)
    yield from _check_pillow(context, version, data)
    yield from _check_libraries(context, data)
    if age > _FRESH_DAYS:
        yield Finding.hint(
            f"the data on advisories is {age} days old: later ones are not known to fastinstall {context.tool_version}",
            evidence=data,
            remedy=Remedy(text="install a later fastinstall, which brings later data"),
        )


def _check_pillow(context: CheckContext, version: str, data: tuple[str, ...]) -> Iterator[Finding]:
    known = tuple(advisory for advisory in context.recipe.advisories if not advisory.component)
    verify = run_python(context, VERSION)
    try:
        affecting = advisories.select_applicable_advisories(known, version, kernels=_has_kernels(context))
    except ValueError:
        message = "PIL/_version.py holds no version that could be compared"
        yield Finding.unknown(message, observed=version, verify=verify)
        return
    if not affecting:
        message = f"none of {len(known)} known advisories affects Pillow {version}"
        yield Finding.ok(message, evidence=data, verify=verify)
    for kernels_only, what in ((False, f"Pillow {version}"), (True, f"the SIMD kernels of Pillow {version}")):
        these = tuple(advisory for advisory in affecting if advisory.kernels_only is kernels_only)
        if these:
            yield _report_affected(context, what, these)


def _check_libraries(context: CheckContext, data: tuple[str, ...]) -> Iterator[Finding]:
    known = context.recipe.advisories
    watched = {advisory.component for advisory in known}
    told = advisories.select_comparable_versions(find_library_versions(context))
    versions = {name: version for name, version in told.items() if name in watched}
    affecting = advisories.select_library_advisories(known, versions)
    named = {advisory.component for advisory in affecting} or versions
    joined = ", ".join(f"{name} {version}" for name, version in versions.items() if name in named)
    if affecting:
        yield _report_affected(context, joined, affecting)
    elif versions:
        message, verify = f"no known advisory affects the libraries {joined}", run_python(context, PRINT_FEATURES)
        yield Finding.ok(message, evidence=data, verify=verify)


def _has_kernels(context: CheckContext) -> bool:
    return context.readable_core is not None and bool(context.readable_core.simd_symbols)


def _report_affected(context: CheckContext, what: str, affecting: tuple[advisories.Advisory, ...]) -> Finding:
    counts = ", ".join(f"{count} {severity}" for severity, count in advisories.count_by_severity(affecting).items())
    subject = "1 known advisory affects" if len(affecting) == 1 else f"{len(affecting)} known advisories affect"
    of_libraries = any(advisory.component for advisory in affecting)
    is_bundled = context.receipt is not None and context.receipt.link is LinkMode.BUNDLE
    status, consent = _weigh_advisories(context, affecting)
    pin = _find_pin(context)
    if pin is not None and (not of_libraries or is_bundled):
        # A pin keeps later versions out: the finding is an error, unless the risk was accepted at the setup.
        status = Status.WARNING if status is Status.WARNING and consent else Status.ERROR
        consent += f"; the pin ({pin.requirement}) keeps a later one out"
    shown = next((advisory.demonstration for advisory in affecting if advisory.demonstration), "")
    return Finding.of(
        status,
        f"{subject} {what}: {counts}{consent}",
        evidence=tuple(line for advisory in affecting for line in _describe_advisory(context, advisory)),
        expected="a version with the fixes",
        observed=what.rpartition("Pillow ")[2],
        remedy=_make_remedy(context),
        verify=run_python(context, shown or (PRINT_FEATURES if of_libraries else VERSION)),
    )


def _weigh_advisories(context: CheckContext, affecting: tuple[advisories.Advisory, ...]) -> tuple[Status, str]:
    """Return the status for some advisories, and a clause to append to the message.

    The clause says that the risk was accepted, or that the operating system may have patched its build. It may be
    empty.
    """
    if is_of_the_system(context.facts):
        return Status.WARNING, "; the operating system may have patched its own build"
    critical = [advisory for advisory in affecting if advisory.severity is advisories.Severity.CRITICAL]
    if not critical:
        return Status.WARNING, ""
    receipt = context.own_receipt
    if receipt is None or Risk.VULNERABLE not in receipt.request.allow:
        return Status.ERROR, ""
    accepted = date.fromisoformat(receipt.created_at[:10])
    later = sum(advisory.dated > accepted for advisory in critical)
    if later:
        return Status.ERROR, f"; {later} critical since the risk was accepted on {accepted}"
    return Status.WARNING, f"; the risk was accepted on {accepted}"


def _find_pin(context: CheckContext) -> PinState | None:
    """Return an effective pin of the stack; None without such a pin, or if the receipt records another core."""
    return next((pin for pin in context.facts.pins if not pin.problems), None) if context.core_is_ours else None


def _describe_advisory(context: CheckContext, advisory: advisories.Advisory) -> Iterator[str]:
    names = " = ".join((advisory.id, *advisory.aliases))
    affects = f"{advisory.component} {advisory.affects}".lstrip()
    yield f"{names} ({advisory.severity}, affects {affects}): {advisory.summary} [{advisory.source}]"
    if advisory.demonstration:
        yield f"shown by: {run_python(context, advisory.demonstration)}"


def _make_remedy(context: CheckContext) -> Remedy:
    """Return the remedy: install a later version that this Python and the installed distributions allow.

    The same remedy serves advisories on kernels and libraries, since both come with a version of Pillow.
    """
    facts, version = context.facts, context.facts.stack.version or ""
    known = context.recipe.advisories
    affecting = advisories.select_applicable_advisories(known, version) if is_version(version) else ()
    view = forecast_upgrade(affecting, version, facts.interpreter, dependants_of(facts))
    if not view.is_held:
        remedy = _make_upgrade_remedy(context, view.allowed)
        return replace(remedy, text="; ".join((remedy.text, *view.sentences)))
    text = "; ".join(view.sentences)
    if view.keepers and context.receipt is not None and not context.core_is_ours:
        return Remedy(text=f"{text}; or accept what is installed", command=word_command(context, "guard accept"))
    return Remedy(text=text, command=environment_command(view.python) if view.python and not view.keepers else None)


def _make_upgrade_remedy(context: CheckContext, least: str) -> Remedy:
    if not _has_kernels(context):
        return offer_stock(context, upgrade=True, least=least)
    text, options = "set up the newest Pillow, with SIMD kernels", ["--recipe", Request().recipe]
    if context.receipt is not None and context.receipt.recipe == Request().recipe:
        options.append("--upgrade")
    pin = _find_pin(context)
    if pin is not None:
        text = f"{text}, which the pin then keeps; or remove the pin: {word_command(context, 'guard remove')}"
        if pin.kind not in (PinKind.PIP, PinKind.CONDA):
            text = "set up the newest Pillow, with SIMD kernels; then pin that in the project: fastinstall guard pin"
    return offer_setup(context, text, *options)


JPEG = "libjpeg-turbo"
FEATURES = {"libtiff": "libtiff", "libwebp": "webp", "freetype": "freetype2", "openjpeg": "jpg_2000", "zlib": "zlib"}
"""Libraries whose version `PIL.features` gets from the library itself; the value is the feature's name there."""

_KINDS = {"libtiff": "tiff", "libwebp": "webp", "freetype": "freetype", "openjpeg": "openjpeg", "zlib": "zlib"}
"""The same libraries; the value is the library's kind (`Codec.kind`) in the simulated process."""
_OTHERWISE_NUMBERED = ("zlib-ng", "zlib-ng compat")
"""Implementations that replace zlib, but have their own version numbers and advisories."""


def find_library_versions(context: CheckContext) -> dict[str, str]:
    """Return the known versions of libraries, by name.

    For most libraries, the version that the library itself reports to `PIL.features` is preferred to the version found
    in its file. For libjpeg, `PIL.features` reports the version of the headers that the core was compiled with. So the
    file is preferred, and the headers' version is used only if no libjpeg file was found, because libjpeg may then be
    linked into the core.
    """
    features, found = list_features(context), {JPEG: _find_jpeg_version(context)}
    for name, feature in FEATURES.items():
        codec = find_codec(context, _KINDS[name])
        found[name] = features.get(feature, "")
        if not found[name] and codec is not None and codec.library.implementation not in _OTHERWISE_NUMBERED:
            found[name] = codec.library.version
    return {name: version for name, version in sorted(found.items()) if version}


def _find_jpeg_version(context: CheckContext) -> str:
    core, codec = context.readable_core, find_core_codec(context, "jpeg")
    if codec is not None:
        return codec.library.version if codec.library.implementation == JPEG else ""
    libraries = core.libraries if core is not None else ()
    if any(library.is_called_libjpeg for library in libraries):
        return next((library.version for library in libraries if library.implementation == JPEG), "")
    return list_features(context).get("libjpeg_turbo", "")

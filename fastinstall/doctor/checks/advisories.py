"""Known vulnerabilities and defects of the Pillow in place and of its libraries, from the data of the recipe.

- error: some of them are critical, and the risk was not accepted; or a pin of ours keeps a later version out.
- warning: some affect this version, counted by severity, each with its source; or the critical ones were accepted by
  `--allow vulnerable` at the setup, which speaks of no later data than that day's. Critical ones after it are errors.
  Of a package of the operating system, which may have the fixes without their versions, even critical ones.
- hint: the data is older than 90 days: ask for later data with a later fastinstall.

What counts is the version of Pillow in place: SIMD kernels merged onto a version leave it that version's fixes. A
defect of the fork's kernels counts only where they are in the core, and comes with a line that shows it. A fork follows
Pillow with a delay, and scanners that look for the name `pillow` may miss it. The data is dated; a version without a
known advisory is not a safe version. Libraries are told by their versions alone, and a distribution may have mended
its own build.

Where a pin holds the stack, nothing but a person brings a later version, so whatever affects it is an error; unless the
risk was accepted at the setup.

Why it matters:
Images come from strangers, and their decoders are written in C. A fork that follows Pillow lacks the fixes of the
releases after the one that it follows, and a scanner that looks for `pillow` passes over `pillow-simd`.

How to fix it:
Set up the newest Pillow, with the kernels merged in; or go back to stock Pillow of the newest version. To stay with an
older one knowingly, say `--allow vulnerable` at the setup: the critical ones of that day are warnings from then on.
Where a distribution in the environment takes no version with the fixes, the hint names it, and proposes none. Where the
stack is pinned, `fastinstall setup --upgrade` brings the newest, and the pin goes along; `fastinstall guard
remove` takes it away.
"""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from fastinstall.core.version_numbers import is_version
from fastinstall.doctor.check_context import CheckContext, Details, FindingFactory
from fastinstall.doctor.codec_libraries import claimed_features, codec_in_use, core_codec
from fastinstall.doctor.owners import is_of_the_system
from fastinstall.doctor.remedies import PRINT_FEATURES, VERSION, command, run_python, setup, stock
from fastinstall.index.upgrades import UpgradeForecast, environment_command, forecast_upgrade
from fastinstall.model.conda_packages import dependants_of
from fastinstall.model.facts import PinKind, PinState
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.recipe import (
    Advisory,
    Severity,
    count_by_severity,
    select_applicable_advisories,
    select_comparable_versions,
    select_library_advisories,
)
from fastinstall.model.request import LinkMode, Risk

NAME = "advisories"
SUMMARY = "Known vulnerabilities and defects of this version and its libraries, with their dates and sources."
NEEDS_RUNTIME = True
ORDER = 200
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)
_FRESH_DAYS = 90
_MERGED = "pillow-merged"


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the version of Pillow, and those of its libraries."""
    version, known = context.facts.stack.version, context.recipe.advisories
    if not known:
        yield _SAY.skipped(f"the recipe {context.recipe.name} has no data on advisories")
    elif version is None:
        yield _SAY.skipped("there is no Pillow, or it does not tell its version")
    else:
        yield from _check_pillow(context, version)
        yield from _check_libraries(context)
        yield from _report_stale_data(context)


def _check_pillow(context: CheckContext, version: str) -> Iterator[Finding]:
    known = tuple(advisory for advisory in context.recipe.advisories if not advisory.component)
    try:
        affecting = select_applicable_advisories(known, version, kernels=_has_kernels(context))
    except ValueError:
        message = "PIL/_version.py holds no version that could be compared"
        yield _SAY.unknown(message, observed=version, verify=run_python(context, VERSION))
        return
    if not affecting:
        message = f"none of {len(known)} known advisories affects Pillow {version}"
        yield _SAY.ok(message, **_make_details(context, VERSION))
    for kernels_only, what in ((False, f"Pillow {version}"), (True, f"the SIMD kernels of Pillow {version}")):
        these = tuple(advisory for advisory in affecting if advisory.kernels_only is kernels_only)
        if these:
            yield _report_affected(context, what, these)


def _check_libraries(context: CheckContext) -> Iterator[Finding]:
    watched = {advisory.component for advisory in context.recipe.advisories if advisory.component}
    told = select_comparable_versions(library_versions(context))
    versions = {name: version for name, version in told.items() if name in watched}
    affecting = select_library_advisories(context.recipe.advisories, versions)
    if affecting:
        affected = {advisory.component for advisory in affecting}
        named = {name: version for name, version in versions.items() if name in affected}
        yield _report_affected(context, _join_versions(named), affecting)
    elif versions:
        message = f"no known advisory affects the libraries {_join_versions(versions)}"
        yield _SAY.ok(message, **_make_details(context, PRINT_FEATURES))


def _make_details(context: CheckContext, code: str) -> Details:
    return Details(evidence=(_describe_data_age(context),), verify=run_python(context, code))


def _join_versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _has_kernels(context: CheckContext) -> bool:
    core = context.readable_core
    return core is not None and bool(core.simd_symbols)


def _report_affected(context: CheckContext, what: str, affecting: tuple[Advisory, ...]) -> Finding:
    counts = ", ".join(f"{count} {severity}" for severity, count in count_by_severity(affecting).items())
    subject = "1 known advisory affects" if len(affecting) == 1 else f"{len(affecting)} known advisories affect"
    of_libraries = any(advisory.component for advisory in affecting)
    status, consent = _weigh_advisories(context, affecting)
    pin = _pin(context)
    if pin is not None and (not of_libraries or _is_bundled(context)):
        # One step graver where a pin keeps a later version out, unless somebody has accepted the risk.
        status = Status.WARNING if status is Status.WARNING and consent else Status.ERROR
        consent += f"; the pin ({pin.requirement}) keeps a later one out"
    shown = next((advisory.demonstration for advisory in affecting if advisory.demonstration), "")
    return _SAY.say(
        status,
        f"{subject} {what}: {counts}{consent}",
        evidence=tuple(line for advisory in affecting for line in _describe_advisory(context, advisory)),
        expected="a version with the fixes",
        observed=what.rpartition("Pillow ")[2],
        remedy=_make_remedy(context),
        verify=run_python(context, shown or (PRINT_FEATURES if of_libraries else VERSION)),
    )


def _weigh_advisories(context: CheckContext, affecting: tuple[Advisory, ...]) -> tuple[Status, str]:
    """How grave they are together, and what to say of the risk that was accepted."""
    if is_of_the_system(context.facts):
        return Status.WARNING, "; the operating system may have mended its own build"
    critical = [advisory for advisory in affecting if advisory.severity is Severity.CRITICAL]
    if not critical:
        return Status.WARNING, ""
    receipt = context.receipt
    if receipt is None or not context.core_is_ours or Risk.VULNERABLE not in receipt.wish.allow:
        return Status.ERROR, ""
    accepted = date.fromisoformat(receipt.created_at[:10])
    later = sum(advisory.dated > accepted for advisory in critical)
    if later:
        return Status.ERROR, f"; {later} critical since the risk was accepted on {accepted}"
    return Status.WARNING, f"; the risk was accepted on {accepted}"


def _is_bundled(context: CheckContext) -> bool:
    return context.receipt is not None and context.receipt.link is LinkMode.BUNDLE


def _pin(context: CheckContext) -> PinState | None:
    """A pin that holds the stack in place, as far as it is ours."""
    return next((pin for pin in context.facts.pins if not pin.problems), None) if context.core_is_ours else None


def _describe_advisory(context: CheckContext, advisory: Advisory) -> Iterator[str]:
    names = " = ".join((advisory.id, *advisory.aliases))
    affects = f"{advisory.component} {advisory.affects}".lstrip()
    yield f"{names} ({advisory.severity}, affects {affects}): {advisory.summary} [{advisory.source}]"
    if advisory.demonstration:
        python = str(context.facts.environment.python)
        yield f"shown by: {shlex.join((python, '-c', advisory.demonstration))}"


def _make_remedy(context: CheckContext) -> Remedy:
    """The way to a later version, as far as the installed distributions and this Python take one.

    What is known of Pillow decides for its kernels and libraries too: they come with it.
    """
    facts, version = context.facts, context.facts.stack.version or ""
    affecting = select_applicable_advisories(context.recipe.advisories, version) if is_version(version) else ()
    view = forecast_upgrade(affecting, version, facts.interpreter, dependants_of(facts))
    if view.is_held:
        return _make_remedy_for_held_version(context, view)
    remedy = _make_upgrade_remedy(context, view)
    return replace(remedy, text="; ".join((remedy.text, *view.sentences)))


def _make_remedy_for_held_version(context: CheckContext, view: UpgradeForecast) -> Remedy:
    """No version with fixes is allowed here: who keeps them out, and what is left."""
    text = "; ".join(view.sentences)
    if view.keepers and context.receipt is not None and not context.core_is_ours:
        return Remedy(text=f"{text}; or accept what is in place", command=command(context, "guard accept"))
    return Remedy(text=text, command=environment_command(view.python) if view.python and not view.keepers else None)


def _make_upgrade_remedy(context: CheckContext, view: UpgradeForecast) -> Remedy:
    if not _has_kernels(context):
        return stock(context, upgrade=True, least=view.allowed)
    text, options = "set up the newest Pillow, with the SIMD kernels merged in", ["--recipe", _MERGED]
    if context.receipt is not None and context.receipt.recipe == _MERGED:
        options.append("--upgrade")
    pin = _pin(context)
    if pin is not None:
        text = f"{text}, which the pin then holds; or take the pin away: {command(context, 'guard remove')}"
        options += ["--pin"] if pin.kind not in (PinKind.PIP, PinKind.CONDA) else []
    return setup(context, text, *options)


def _report_stale_data(context: CheckContext) -> Iterator[Finding]:
    age = _count_days(context)
    if age > _FRESH_DAYS:
        yield _SAY.hint(
            f"the data on advisories is {age} days old: later ones are not known to fastinstall {context.tool_version}",
            evidence=(_describe_data_age(context),),
            expected=f"at most {_FRESH_DAYS} days",
            observed=f"{age} days",
            remedy=Remedy(text="install a later fastinstall, which brings later data"),
        )


def _describe_data_age(context: CheckContext) -> str:
    age = _count_days(context)
    return f"data of {_find_data_date(context)}, {age} {'day' if age == 1 else 'days'} old"


def _count_days(context: CheckContext) -> int:
    return (context.today - _find_data_date(context)).days


def _find_data_date(context: CheckContext) -> date:
    return max(advisory.dated for advisory in context.recipe.advisories)


JPEG = "libjpeg-turbo"
FEATURES = {"libtiff": "libtiff", "libwebp": "webp", "freetype": "freetype2", "openjpeg": "jpg_2000", "zlib": "zlib"}
"""Names of libraries whose version `PIL.features` asks of the library itself, and its names for them."""

_KINDS = {"libtiff": "tiff", "libwebp": "webp", "freetype": "freetype", "openjpeg": "openjpeg", "zlib": "zlib"}
"""The same libraries as the simulated process has them."""
_OTHERWISE_NUMBERED = ("zlib-ng", "zlib-ng compat")
"""Libraries that take the place of one, with versions and advisories of their own."""


def library_versions(context: CheckContext) -> dict[str, str]:
    """The libraries' versions, as far as they are known, by name.

    What a library says of itself when asked counts before what its file shows. Of libjpeg the file that would be
    loaded counts: what `PIL.features` says of it is the version of the headers that the core was compiled with. It
    counts only where the core asks for no libjpeg, having one inside that was not identified.
    """
    features = claimed_features(context)
    found = {
        name: features.get(feature, "") or _find_linked_version(context, name) for name, feature in FEATURES.items()
    }
    found[JPEG] = _find_jpeg_version(context)
    return {name: version for name, version in sorted(found.items()) if version}


def _find_linked_version(context: CheckContext, name: str) -> str:
    codec = codec_in_use(context, _KINDS[name])
    if codec is None or codec.library.implementation in _OTHERWISE_NUMBERED:
        return ""
    return codec.library.version


def _find_jpeg_version(context: CheckContext) -> str:
    core, codec = context.readable_core, core_codec(context, "jpeg")
    if codec is not None:
        return codec.library.version if codec.library.implementation == JPEG else ""
    libraries = core.libraries if core is not None else ()
    if any(library.is_called_libjpeg for library in libraries):
        return next((library.version for library in libraries if library.implementation == JPEG), "")
    return claimed_features(context).get("libjpeg_turbo", "")

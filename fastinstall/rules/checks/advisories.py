"""Known vulnerabilities and defects of the Pillow in place, from the data of the recipe.

- warning: some affect this version; counted by severity, each with its source. SIMD forks follow Pillow with a delay,
  and scanners that look for the name `pillow` may miss them.
- hint: the data is older than 90 days: ask for later data with a later fastinstall.

The data is dated; a version without a known advisory is not a safe version. A defect of the fork's kernels counts only
where they are in the core.
"""

from collections.abc import Iterator

from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.recipe import Advisory
from fastinstall.rules.advisories import applicable, count_by_severity
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import setup, stock
from fastinstall.rules.checks._stack import readable_core
from fastinstall.rules.checks._voice import Voice

NAME = "advisories"
SUMMARY = "Known vulnerabilities and defects of this version, with their dates and sources."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)
_FRESH_DAYS = 90


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the version of Pillow."""
    version, known = context.facts.stack.version, context.recipe.advisories
    if not known:
        yield _SAY.skipped(f"the recipe {context.recipe.name} has no data on advisories")
    elif version is None:
        yield _SAY.skipped("there is no Pillow, or it does not tell its version")
    else:
        yield _judged(context, version)
        yield from _stale(context, known)


def _judged(context: CheckContext, version: str) -> Finding:
    known = context.recipe.advisories
    try:
        affecting = applicable(known, version, kernels=_has_kernels(context))
    except ValueError:
        return _SAY.unknown("PIL/_version.py holds no version that could be compared", observed=version)
    return _affected(context, version, affecting) if affecting else _clear(version, known)


def _has_kernels(context: CheckContext) -> bool:
    core = readable_core(context.facts.stack)
    return core is not None and bool(core.simd_symbols)


def _affected(context: CheckContext, version: str, affecting: tuple[Advisory, ...]) -> Finding:
    counts = ", ".join(f"{count} {severity}" for severity, count in count_by_severity(affecting).items())
    subject = "1 known advisory affects" if len(affecting) == 1 else f"{len(affecting)} known advisories affect"
    return _SAY.warning(
        f"{subject} Pillow {version}: {counts}",
        evidence=tuple(_line(advisory) for advisory in affecting),
        expected="a version with the fixes",
        observed=version,
        remedy=_remedy(context),
    )


def _line(advisory: Advisory) -> str:
    names = " = ".join((advisory.id, *advisory.aliases))
    return f"{names} ({advisory.severity}, affects {advisory.affects}): {advisory.summary} [{advisory.source}]"


def _remedy(context: CheckContext) -> Remedy:
    if not _has_kernels(context):
        return stock(context, upgrade=True)
    return setup(context, "until the fork has the fixes, build the latest stock Pillow instead", "--recipe", "pillow")


def _clear(version: str, known: tuple[Advisory, ...]) -> Finding:
    taken = max(advisory.dated for advisory in known)
    return _SAY.ok(f"none of {len(known)} known advisories affects Pillow {version}", evidence=(f"data of {taken}",))


def _stale(context: CheckContext, known: tuple[Advisory, ...]) -> Iterator[Finding]:
    taken = max(advisory.dated for advisory in known)
    age = (context.today - taken).days
    if age > _FRESH_DAYS:
        yield _SAY.hint(
            f"the data on advisories is {age} days old: later ones are not known to fastinstall {context.tool_version}",
            evidence=(f"data of {taken}",),
            expected=f"at most {_FRESH_DAYS} days",
            observed=f"{age} days",
            remedy=Remedy(text="install a later fastinstall, which brings later data"),
        )

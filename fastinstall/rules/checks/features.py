"""What `PIL.features` says was compiled in, against the recipe and against what was set up.

- error: a feature that was set up and that the recipe expects is lost.
- warning: another one is lost, or one that the recipe expects was never there.

Compiled in is not loaded: `PIL.features` says "libjpeg_turbo" with another libjpeg loaded too. See `jpeg-library`.
"""

from collections.abc import Iterator

from fastinstall.model.facts import Runtime
from fastinstall.model.finding import Finding, Status
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair
from fastinstall.rules.checks._voice import Voice

NAME = "features"
SUMMARY = "Which features were compiled in, which are missing, and which were lost since the setup."
NEEDS_RUNTIME = True

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the features of PIL."""
    runtime = context.facts.runtime
    if runtime is None:
        yield _SAY.skipped("nothing was executed")
    elif not runtime.imported:
        yield _SAY.skipped("PIL could not be imported")
    else:
        problems = (*_lost(context, runtime), *_lacking(context, runtime))
        yield from problems or (_whole(runtime),)


def _whole(runtime: Runtime) -> Finding:
    return _SAY.ok(f"{len(runtime.features)} features are there", evidence=_shown(runtime.features))


def _lost(context: CheckContext, runtime: Runtime) -> Iterator[Finding]:
    before = context.receipt.features if context.receipt is not None else {}
    lost = {name: version for name, version in before.items() if name not in runtime.features}
    if lost:
        expected = any(name in context.recipe.expect.features for name in lost)
        yield _SAY.say(
            Status.ERROR if expected else Status.WARNING,
            f"features are lost since the setup: {', '.join(lost)}",
            evidence=tuple(f"was there: {feature}" for feature in _shown(lost)),
            expected=", ".join(before),
            observed=", ".join(runtime.features),
            remedy=repair(context),
        )


def _lacking(context: CheckContext, runtime: Runtime) -> Iterator[Finding]:
    before = context.receipt.features if context.receipt is not None else {}
    expected = context.recipe.expect.features
    lacking = tuple(name for name in expected if name not in runtime.features and name not in before)
    if lacking:
        yield _SAY.warning(
            f"features that {context.recipe.name} should have are missing: {', '.join(lacking)}",
            evidence=_shown(runtime.features),
            expected=", ".join(expected),
            observed=", ".join(runtime.features),
            remedy=repair(context),
        )


def _shown(features: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{name} {version}".rstrip() for name, version in features.items())

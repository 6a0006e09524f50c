"""Which SIMD kernels the core contains: told by its symbols, since a name proves nothing.

- error: the kernels that were set up are gone, or only some of them are there.
- warning: some of the kernels are there without a setup of ours, or the distribution calls itself SIMD and has none.
- hint: this is stock Pillow, which has none.
"""

from collections.abc import Iterator

from fastinstall.model.facts import Core
from fastinstall.model.finding import Finding, Status
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair, setup
from fastinstall.rules.checks._stack import readable_core
from fastinstall.rules.checks._voice import Voice, listing

NAME = "simd-active"
SUMMARY = "Which SIMD kernels are in the imaging core, by symbol; partial sets are named."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the kernels in the core."""
    core, wanted = readable_core(context.facts.stack), context.recipe.expect.symbols
    if core is None:
        yield _SAY.skipped("there is no readable imaging core")
    elif not wanted:
        yield _SAY.skipped(f"the recipe {context.recipe.name} builds no SIMD kernels")
    elif not (missing := tuple(symbol for symbol in wanted if symbol not in core.simd_symbols)):
        yield _SAY.ok(f"the SIMD kernels are in the core ({len(wanted)} of {len(wanted)} symbols)", evidence=wanted)
    elif len(missing) < len(wanted):
        yield _partial(context, core, missing)
    else:
        yield _none(context, core, missing)


def _partial(context: CheckContext, core: Core, missing: tuple[str, ...]) -> Finding:
    status = Status.WARNING if context.receipt is None else Status.ERROR
    wanted = context.recipe.expect.symbols
    return _SAY.say(
        status,
        f"the core has only some of the SIMD kernels: {len(core.simd_symbols)} of {len(wanted)} symbols",
        evidence=listing(tuple(f"missing: {symbol}" for symbol in missing)),
        expected=", ".join(wanted),
        observed=", ".join(core.simd_symbols),
        remedy=repair(context),
    )


def _none(context: CheckContext, core: Core, missing: tuple[str, ...]) -> Finding:
    evidence = (f"{core.path} defines none of {', '.join(missing)}",)
    if context.receipt is not None:
        return _lacking(context, Status.ERROR, "the SIMD kernels are gone: the core in place has none", evidence)
    if pretender := _pretender(context):
        message = f"{pretender} calls itself SIMD, but its core has no SIMD kernels"
        return _lacking(context, Status.WARNING, message, evidence)
    if context.facts.cpu.architecture != "x86_64":
        architecture = context.facts.cpu.architecture
        return _SAY.skipped(f"this is stock Pillow; there are no SIMD kernels for {architecture}", evidence=evidence)
    remedy = setup(context, "set up the fast stack")
    return _SAY.hint("this is stock Pillow, without SIMD kernels", evidence=evidence, remedy=remedy)


def _lacking(context: CheckContext, status: Status, message: str, evidence: tuple[str, ...]) -> Finding:
    expected = f"{len(context.recipe.expect.symbols)} symbols of SIMD kernels"
    return _SAY.say(status, message, evidence=evidence, expected=expected, observed="none", remedy=repair(context))


def _pretender(context: CheckContext) -> str:
    names = (f"{owner.distribution.name} {owner.distribution.version}" for owner in context.facts.stack.owners)
    return next((name for name in names if "simd" in name), "")

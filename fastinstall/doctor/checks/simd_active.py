"""Which SIMD kernels the core contains: told by its symbols, since a name proves nothing.

- error: the kernels that were set up are gone, or only some of them are there; where a wheel holds one copy of the core
  per CPU level, every copy is judged, since another CPU would load another one.
- warning: some of the kernels are there without a setup of ours, or the distribution calls itself SIMD and has none.
- hint: this is stock Pillow, which has none; or the setup left some of them out.

Why it matters:
The version and the name of a distribution are what somebody typed. Packages that called themselves Pillow-SIMD have
been stock Pillow, since the build had found no reason to compile the kernels, and everything worked, as slowly as ever.

How to fix it:
`fastinstall setup` builds the kernels, and refuses its own result if they are not in it; where they were set up and
are gone, `fastinstall doctor --fix` puts them back.
"""

from collections.abc import Iterator

from fastinstall.doctor.check_context import CheckContext, Details, FindingFactory, listing
from fastinstall.doctor.owners import loaded_file, name_core_copy, whole_copies, why_no_core
from fastinstall.doctor.remedies import count_symbols, repair, setup, show_symbols
from fastinstall.elf.description import CoreLevel, ImagingCore
from fastinstall.model.finding import Finding, Status

NAME = "simd-active"
SUMMARY = "Which SIMD kernels are in the imaging core, by symbol; partial sets are named."
ORDER = 70
VERIFIES_SETUP = True
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the kernels in the core, in every copy of it."""
    core, wanted = context.readable_core, context.recipe.expect.symbols
    if core is None:
        yield _SAY.skipped(why_no_core(context.facts))
    elif not wanted:
        yield _SAY.skipped(f"the recipe {context.recipe.name} builds no SIMD kernels")
    elif core.levels:
        lacking = (_report_lacking_copy(context, core, copy) for copy in whole_copies(core))
        yield from [finding for finding in lacking if finding is not None] or (_report_complete(context, core),)
    elif not (missing := _list_missing_symbols(context, core.simd_symbols)):
        yield _report_complete(context, core)
    elif len(missing) < len(wanted):
        yield _report_partial(context, core, missing)
    else:
        yield _report_none_active(context, core, missing)


def _list_missing_symbols(context: CheckContext, symbols: tuple[str, ...]) -> tuple[str, ...]:
    left_out = _list_omitted_symbols(context)
    wanted = context.recipe.expect.symbols
    return tuple(symbol for symbol in wanted if symbol not in symbols and symbol not in left_out)


def _list_omitted_symbols(context: CheckContext) -> tuple[str, ...]:
    """What the core in place lacked already when it was set up, because a part of the kernels was left out."""
    receipt = context.receipt
    if receipt is None or not context.core_is_ours or not receipt.core.simd_symbols:
        return ()
    return tuple(symbol for symbol in context.recipe.expect.symbols if symbol not in receipt.core.simd_symbols)


def _report_complete(context: CheckContext, core: ImagingCore) -> Finding:
    wanted, left_out = context.recipe.expect.symbols, _list_omitted_symbols(context)
    levels = ", ".join(copy.level for copy in whole_copies(core))
    where = f"every copy of the core, {levels}" if core.levels else "the core"
    verify = show_symbols(loaded_file(core), wanted[0])
    if left_out:
        message = f"{len(wanted) - len(left_out)} of {len(wanted)} symbols of SIMD kernels are in {where}"
        evidence = listing(tuple(f"left out by the setup: {symbol}" for symbol in left_out))
        return _SAY.hint(message, evidence=evidence, verify=verify)
    message = f"the SIMD kernels are in {where} ({len(wanted)} of {len(wanted)} symbols)"
    return _SAY.ok(message, evidence=wanted, verify=verify)


def _report_lacking_copy(context: CheckContext, core: ImagingCore, copy: CoreLevel) -> Finding | None:
    missing, wanted = _list_missing_symbols(context, copy.simd_symbols), context.recipe.expect.symbols
    if not missing:
        return None
    some = f"only some of the SIMD kernels: {len(copy.simd_symbols)} of {len(wanted)} symbols"
    has = some if copy.simd_symbols else "no SIMD kernels"
    return _SAY.error(
        f"{name_core_copy(core, copy)} of the imaging core has {has}",
        evidence=listing((str(copy.path), *(f"missing: {symbol}" for symbol in missing))),
        expected=", ".join(wanted),
        observed=", ".join(copy.simd_symbols) or "none",
        remedy=repair(context),
        verify=count_symbols(copy.path, missing[0]),
    )


def _report_partial(context: CheckContext, core: ImagingCore, missing: tuple[str, ...]) -> Finding:
    status = Status.WARNING if context.receipt is None else Status.ERROR
    wanted = context.recipe.expect.symbols
    return _SAY.say(
        status,
        f"the core has only some of the SIMD kernels: {len(core.simd_symbols)} of {len(wanted)} symbols",
        evidence=listing(tuple(f"missing: {symbol}" for symbol in missing)),
        expected=", ".join(wanted),
        observed=", ".join(core.simd_symbols),
        remedy=repair(context),
        verify=count_symbols(core.path, missing[0]),
    )


def _report_none_active(context: CheckContext, core: ImagingCore, missing: tuple[str, ...]) -> Finding:
    architecture, pretender = context.facts.cpu.architecture, _find_simd_claimant(context)
    told = Details(
        evidence=(f"{core.path} defines none of {', '.join(missing)}",), verify=count_symbols(core.path, missing[0])
    )
    lost = Details(
        expected=f"{len(context.recipe.expect.symbols)} symbols of SIMD kernels",
        observed="none",
        remedy=repair(context),
    )
    if context.receipt is not None:
        return _SAY.error("the SIMD kernels are gone: the core in place has none", **(told | lost))
    if pretender:
        return _SAY.warning(f"{pretender} calls itself SIMD, but its core has no SIMD kernels", **(told | lost))
    if architecture != "x86_64":
        return _SAY.skipped(f"this is stock Pillow; there are no SIMD kernels for {architecture}", **told)
    told["remedy"] = setup(context, "set up the fast stack")
    return _SAY.hint("this is stock Pillow, without SIMD kernels", **told)


def _find_simd_claimant(context: CheckContext) -> str:
    names = (f"{owner.distribution.name} {owner.distribution.version}" for owner in context.facts.stack.owners)
    return next((name for name in names if "simd" in name), "")

"""Which SIMD kernels are in the imaging core, by symbol, and which are missing.

- error: all or some kernels of the setup are missing. If there are copies for CPU levels, every copy is checked, since
  another CPU may load another copy.
- warning: the core has some of the kernels, but fastinstall has set up nothing. Or the distribution has SIMD in its
  name, but its core has no kernels.
- hint: this is stock Pillow, which has no kernels. Or the build left some of them out.

Why it matters:
The version and the name of a distribution prove nothing. Some packages called Pillow-SIMD were in fact stock Pillow:
their build had skipped the kernels, and everything worked, as slowly as before.

How to fix it:
`fastinstall setup` builds the kernels, and refuses its own result without them. If the kernels of a setup are missing,
`fastinstall doctor --fix` restores them.
"""

from collections.abc import Iterator

from fastinstall.core.architecture import architecture_of
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import explain_no_core, list_whole_copies, name_core_copy
from fastinstall.doctor.remedies import offer_repair, offer_setup, show
from fastinstall.elf.description import ImagingCore
from fastinstall.model.finding import Finding, Status, shorten_evidence


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the kernels in the core, or in every copy of it."""
    core, wanted = context.readable_core, context.recipe.expect.symbols
    if core is None:
        yield Finding.skipped(explain_no_core(context.facts))
    elif not wanted:
        yield Finding.skipped(f"the recipe {context.recipe.name} builds no SIMD kernels")
    elif core.levels:
        yield from tuple(_report_lacking_copies(context, core)) or (_report_complete(context, core),)
    elif missing := _list_missing_symbols(context, core.simd_symbols):
        yield _report_lacking(context, core, missing)
    else:
        yield _report_complete(context, core)


def _list_missing_symbols(context: CheckContext, symbols: tuple[str, ...]) -> tuple[str, ...]:
    there = {*symbols, *_list_omitted_symbols(context)}
    return tuple(symbol for symbol in context.recipe.expect.symbols if symbol not in there)


def _list_omitted_symbols(context: CheckContext) -> tuple[str, ...]:
    """Return the expected symbols that the installed core has lacked since it was built; empty if that is unknown."""
    receipt = context.own_receipt
    built = receipt.core.simd_symbols if receipt is not None else _list_symbols_of_intact_build(context)
    return tuple(symbol for symbol in context.recipe.expect.symbols if symbol not in built) if built else ()


def _list_symbols_of_intact_build(context: CheckContext) -> tuple[str, ...]:
    """Return the kernel symbols that all copies of the core have, for a build of ours that another tool installed.

    The result is empty if fastinstall installed the core, if it is not our build, or if files were altered.
    """
    core, owners = context.readable_core, context.facts.stack.owners
    changed = any(owner.mismatched or owner.missing or not owner.has_record for owner in owners)
    if core is None or changed or not context.is_built_elsewhere:
        return ()
    return tuple(symbol for symbol in core.simd_symbols if all(symbol in copy.simd_symbols for copy in core.levels))


def _report_complete(context: CheckContext, core: ImagingCore) -> Finding:
    wanted, left_out = context.recipe.expect.symbols, _list_omitted_symbols(context)
    levels = ", ".join(copy.level for copy in list_whole_copies(core))
    where = f"every copy of the core, {levels}" if core.levels else "the core"
    verify = show("nm", "-D", core.loaded_file, "|", "grep", wanted[0])
    if left_out:
        message = f"{len(wanted) - len(left_out)} of {len(wanted)} symbols of SIMD kernels are in {where}"
        evidence = shorten_evidence(f"left out of the build: {symbol}" for symbol in left_out)
        return Finding.hint(message, evidence=evidence, verify=verify)
    message = f"the SIMD kernels are in {where} ({len(wanted)} of {len(wanted)} symbols)"
    return Finding.ok(message, evidence=wanted, verify=verify)


def _report_lacking_copies(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    wanted = context.recipe.expect.symbols
    for copy in list_whole_copies(core):
        some = f"only some of the SIMD kernels: {len(copy.simd_symbols)} of {len(wanted)} symbols"
        if missing := _list_missing_symbols(context, copy.simd_symbols):
            yield Finding.error(
                f"{name_core_copy(core, copy)} of the imaging core has "
                f"{some if len(missing) < len(wanted) else 'no SIMD kernels'}",
                evidence=shorten_evidence((str(copy.path), *(f"missing: {symbol}" for symbol in missing))),
                remedy=offer_repair(context),
                verify=show("nm", "-D", copy.path, "|", "grep", "-c", missing[0]),
            )


def _report_lacking(context: CheckContext, core: ImagingCore, missing: tuple[str, ...]) -> Finding:
    """Report that some or all kernels are missing; the status depends on the receipt and the distribution's name."""
    wanted, architecture, receipt = context.recipe.expect.symbols, context.facts.cpu.architecture, context.receipt
    names = (f"{owner.distribution.name} {owner.distribution.version}" for owner in context.facts.stack.owners)
    pretender = next((name for name in names if "simd" in name), "")
    evidence = shorten_evidence(f"missing: {symbol}" for symbol in missing)
    verify = show("nm", "-D", core.path, "|", "grep", "-c", missing[0])
    if len(missing) == len(wanted):
        evidence = (f"{core.path} defines none of {', '.join(missing)}",)
    if len(missing) < len(wanted):
        message = f"the core has only some of the SIMD kernels: {len(core.simd_symbols)} of {len(wanted)} symbols"
    elif receipt is not None:
        message = "the SIMD kernels are missing: the installed core has none"
    elif pretender:
        message = f"{pretender} calls itself SIMD, but its core has no SIMD kernels"
    elif not architecture_of(architecture).supported:
        message = f"this is stock Pillow; there are no SIMD kernels for {architecture}"
        return Finding.skipped(message, evidence=evidence, verify=verify)
    else:
        message, remedy = "this is stock Pillow, without SIMD kernels", offer_setup(context, "set up the fast stack")
        return Finding.hint(message, evidence=evidence, remedy=remedy, verify=verify)
    status = Status.WARNING if receipt is None else Status.ERROR
    return Finding.of(status, message, evidence=evidence, remedy=offer_repair(context), verify=verify)

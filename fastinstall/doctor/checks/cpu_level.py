"""The level of this CPU, features that are hidden from programs, and whether the installed code suits the CPU.

- error: the core declares, or was built for, a higher level than this CPU offers, and would crash with SIGILL. Or a
  copy of the core for a CPU level is missing, damaged or misplaced, even if this CPU loads another copy.
- warning: the recipe has no level for this CPU.
- hint: the recipe has no levels for this architecture. Or a virtual machine hides features. Or GLIBC_TUNABLES or an old
  glibc keeps the loader from choosing a better copy. Or this CPU supports a higher level than the code was built for.
- unknown: the level could not be determined.

Levels: x86-64 psABI, "Micro-architecture levels". `isa-compatible` checks which instructions the code really contains.

Why it matters:
Code for a CPU with more features crashes with an illegal instruction, not on import but at the first operation. Code
for a CPU with fewer features is slower than necessary. For most operations AVX2 matters, and AVX-512 does not.

How to fix it:
`fastinstall setup --level auto` builds for this CPU. `--levels x86-64-v2,x86-64-v3` puts a copy for each level into one
wheel, and each machine loads the best copy that it can run. If a virtual machine hides features, its administrator can
pass them through. If GLIBC_TUNABLES hides features, unset the variable.
"""

from collections.abc import Iterator

from fastinstall.doctor import owners, remedies
from fastinstall.doctor.check_context import CheckContext
from fastinstall.elf.cpu import LEVELS, find_offered_level, knows_levels, rank
from fastinstall.elf.description import ImagingCore
from fastinstall.model.finding import Finding, Remedy

_NOTE = "own note (GNU_PROPERTY_X86_ISA_1_NEEDED)"


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the CPU's level, and whether the core suits the CPU."""
    cpu, core = context.facts.cpu, context.facts.stack.core
    seen = _describe_cpu(context)
    if not context.recipe.serves(cpu.architecture):
        served = f"{context.recipe.name} is for {context.recipe.served}"
        message = f"this is {cpu.architecture}, and {served} only: stock Pillow is what there is"
        yield Finding.hint(message, evidence=seen, verify=remedies.show_cpu(context))
        return
    if not rank(cpu.level):
        yield Finding.unknown("the level of this CPU is unknown", evidence=seen, verify=remedies.show_cpu(context))
        return
    found = [*_report_overtaxed(context), *_report_unserved_or_masked(context), *_report_underused(context)]
    if core is not None and core.levels:
        found += _judge_copies(context, core)
    if not found:
        core = context.readable_core
        loads = f", and {name} is loaded" if (name := owners.name_loaded_copy(core)) else ""
        evidence = (*seen, *owners.list_core_copies(core))
        message = f"this CPU offers {cpu.level}{loads}"
        found.append(Finding.ok(message, evidence=evidence, verify=remedies.show_cpu(context)))
    yield from found


def _report_overtaxed(context: CheckContext) -> Iterator[Finding]:
    core, offered, built = context.readable_core, find_offered_level(context.facts.cpu), context.own_levels
    noted = core.isa_note if core is not None else None
    highest = max((noted or "", *built[:1]), key=rank)
    if rank(highest) > rank(offered):
        receipt = f"built for {' and '.join(built)}, according to the receipt"
        told = ((noted, f"the core's {_NOTE}: {noted}"), (built, receipt))
        own = remedies.offer_setup(context, "set up the stack for this CPU", "--level", "auto")
        note = remedies.show_note(core.loaded_file) if core is not None and noted else ""
        yield Finding.error(
            f"the imaging core needs {highest}, this CPU offers {offered} only",
            evidence=(*(sentence for known, sentence in told if known), *_describe_cpu(context)),
            expected=f"at most {offered}",
            observed=highest,
            remedy=own if _find_best_level(context) else remedies.offer_stock(context),
            verify=note or remedies.show_cpu(context),
        )


def _report_unserved_or_masked(context: CheckContext) -> Iterator[Finding]:
    cpu, core, seen = context.facts.cpu, context.readable_core, _describe_cpu(context)
    if _find_best_level(context) is None:
        message = f"{context.recipe.name} has no level for this CPU: keep stock Pillow here"
        levels = ", ".join(level.name for level in context.recipe.list_levels(cpu.architecture))
        yield Finding.warning(message, evidence=seen, expected=f"one of {levels}", verify=remedies.show_cpu(context))
    if cpu.masked:
        who = "the virtual machine" if cpu.hypervisor else "the kernel or a container"
        hidden = f"{who} seems to hide features that the next level needs: {', '.join(cpu.masked)}"
        yield Finding.hint(
            f"this CPU offers {cpu.level}, and {hidden}", evidence=seen, verify=remedies.show_cpu(context)
        )
    offered = find_offered_level(cpu)
    if rank(offered) > rank(cpu.level):
        loads = f": {name} is loaded" if (name := owners.name_loaded_copy(core)) else ""
        mistaken = f"makes the loader take this CPU, which offers {offered}, for {cpu.level}"
        yield Finding.hint(
            f"GLIBC_TUNABLES ({cpu.tunables}) {mistaken}{loads}",
            evidence=(*seen, *owners.list_core_copies(core)),
            remedy=Remedy(text="unset GLIBC_TUNABLES, unless you want the lower level"),
            verify=remedies.show_variables("GLIBC_TUNABLES"),
        )


def _report_underused(context: CheckContext) -> Iterator[Finding]:
    receipt, built, best = context.receipt, context.own_levels, _find_best_level(context)
    named = receipt is not None and (receipt.request.level != "auto" or receipt.request.levels)
    if best is None or named or not 0 < max(map(rank, built), default=0) < rank(best):
        return
    message = f"the stack was built for {' and '.join(built)}, this CPU supports {best}"
    if name := owners.name_loaded_copy(context.readable_core):
        message = f"{name} is loaded; {best} would suit this CPU, but the wheel does not contain it"
    remedy = remedies.offer_setup(context, "build with the better level", "--levels", ",".join((*built, best)))
    if len(built) == 1:
        remedy = remedies.offer_setup(context, "build for the better level", "--level", best)
    yield Finding.hint(message, evidence=_describe_cpu(context), remedy=remedy, verify=remedies.show_cpu(context))


def _find_best_level(context: CheckContext) -> str | None:
    limit = rank(find_offered_level(context.facts.cpu))
    own = context.recipe.list_levels(context.facts.cpu.architecture)
    return next((level.name for level in own if level.automatic and rank(level.name) <= limit), None)


def _describe_cpu(context: CheckContext) -> tuple[str, ...]:
    cpu = context.facts.cpu
    name = f"{cpu.name or cpu.vendor or cpu.architecture}, {cpu.cores} logical CPUs"
    return (name, f"{cpu.level}, according to {cpu.level_source or 'the probe'}") if cpu.level else (name,)


def _judge_copies(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    """Report copies that are missing, damaged or misplaced, and a loader that ignores all copies but the baseline."""
    python, copies = context.facts.interpreter, owners.list_core_copies(core)
    for copy in core.levels:
        if copy.problem:
            message = f"{owners.name_core_copy(core, copy)} of the imaging core cannot be used: {copy.problem}"
            remedy, verify = remedies.offer_repair(context), remedies.show_files(copy.path)
            yield Finding.error(message, evidence=(str(copy.path),), remedy=remedy, verify=verify)
    # The baseline is skipped here: it is always in `core.levels`, and a missing file is reported above.
    for level in context.own_levels[1:]:
        if level not in {copy.level for copy in core.levels[1:]}:
            yield Finding.error(
                f"the copy of the imaging core for {level} is missing: such CPUs get a lower level",
                evidence=copies,
                expected=", ".join(context.own_levels),
                observed=", ".join(copy.level for copy in core.levels),
                remedy=remedies.offer_repair(context),
                verify=f"{remedies.show_files(core.levels[0].path.parent)} -R",
            )
    yield from _report_misplaced_copies(context, core)
    fitting = (copy.level for copy in owners.list_whole_copies(core)[1:] if rank(copy.level))
    passed = [level for level in fitting if rank(level) <= rank(context.facts.cpu.level)]
    if passed and not knows_levels(python.libc, python.libc_version):
        yield Finding.hint(
            f"{python.libc} {python.libc_version} loads the baseline, although this CPU offers {passed[-1]}: "
            "only glibc 2.33 and later choose by level",
            evidence=copies,
            verify=remedies.run_python(context, "import platform; print(*platform.libc_ver())"),
        )


def _report_misplaced_copies(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    """Report copies that declare a different level from the one that their directory is for.

    The baseline has no such directory. It may declare at most the level that the receipt has for it. Without a receipt,
    it must declare a lower level than all other copies.
    """
    baseline, *others = core.levels
    least = min((rank(copy.level) for copy in others if rank(copy.level)), default=0)
    below = next((level for level in LEVELS if rank(level) == least - 1), "")
    highest = context.own_levels[0] if context.own_levels else below
    wrong = [
        (copy, f"in the place of {copy.level}", copy.level, rank(copy.isa_note) > rank(copy.level))
        for copy in others
        if copy.isa_note is not None and rank(copy.isa_note) != rank(copy.level)
    ]
    if rank(baseline.isa_note) > rank(highest) > 0:
        wrong.insert(0, (baseline, "in the baseline's place", f"at most {highest}", True))
    for copy, place, expected, too_high in wrong:
        refused, slower = "CPUs that would load it refuse it", "CPUs that load it get a lower level than they support"
        yield Finding.error(
            f"the copy of the imaging core {place} is compiled for {copy.isa_note}: {refused if too_high else slower}",
            evidence=(str(copy.path), f"its {_NOTE}: {copy.isa_note}"),
            expected=expected,
            observed=str(copy.isa_note),
            remedy=remedies.offer_repair(context),
            verify=remedies.show_note(copy.path),
        )

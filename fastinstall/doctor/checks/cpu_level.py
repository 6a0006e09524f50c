"""The x86-64 micro-architecture level of this CPU, and whether the code in place suits it.

- error: the core declares, or was built for, a higher level than this CPU offers: it would die of SIGILL. Where a wheel
  holds one copy of the core per CPU level: a copy is missing or damaged, or is none for its level, so that CPUs that
  it is there for would refuse it; whether this CPU loads it or not.
- warning: the recipe has no level for this CPU; another copy was loaded than the loader's rules say.
- hint: another architecture than x86-64; features hidden by a virtual machine; GLIBC_TUNABLES or an old glibc keep the
  loader from the better copy; a better level that the CPU would bear.
- unknown: the level could not be told.

Levels: x86-64 psABI, "Micro-architecture levels". Which instructions the code really contains is another check's.

Why it matters:
Code for a CPU with more features than this one dies of an illegal instruction, at its first operation and not when it
is imported. Code for one with fewer leaves speed lying about: on most operations AVX2 counts, and AVX-512 does not.

How to fix it:
`fastinstall setup --level auto` builds for this CPU; `--levels x86-64-v2,x86-64-v3` puts a copy for each into one
wheel, of which every machine loads the best that it can. Where a virtual machine hides features, its administrator can
pass them through; where GLIBC_TUNABLES does, unset it.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.owners import (
    list_core_copies,
    loaded_copy,
    loaded_file,
    loaded_name,
    name_core_copy,
    readable_core,
    whole_copies,
)
from fastinstall.doctor.remedies import (
    repair,
    run_python,
    setup,
    show_cpu,
    show_digests,
    show_files,
    show_note,
    show_variables,
    stock,
)
from fastinstall.elf.cpu_levels import find_offered_level, knows_levels, rank
from fastinstall.elf.description import CoreLevel, Cpu, ImagingCore
from fastinstall.model.finding import Finding, Remedy
from fastinstall.model.recipe import Recipe

NAME = "cpu-level"
SUMMARY = "The level of this CPU, what hides parts of it, and whether the code in place suits it."
NEEDS_RUNTIME = True
ORDER = 30
VERIFIES_SETUP = False
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the processor, and the core against it."""
    cpu = context.facts.cpu
    if cpu.architecture != "x86_64":
        message = f"this is {cpu.architecture}: the kernels are for x86-64, and stock Pillow is the fastest stack here"
        yield _SAY.hint(message, evidence=_describe_cpu(cpu), verify=show_cpu())
    elif not rank(cpu.level):
        yield _SAY.unknown("the level of this CPU could not be told", evidence=_describe_cpu(cpu), verify=show_cpu())
    else:
        judges = (_report_overtaxed, _report_unserved, _report_masked, _report_hidden, _report_underused, judge_copies)
        found = [finding for judge in judges for finding in judge(context)]
        yield from found or (_report_success(context),)


def _report_success(context: CheckContext) -> Finding:
    cpu, core = context.facts.cpu, readable_core(context.facts.stack)
    loads = f", and {name} is loaded" if (name := loaded_name(core)) else ""
    message = f"this CPU offers {cpu.level}{loads}"
    return _SAY.ok(message, evidence=(*_describe_cpu(cpu), *list_core_copies(core)), verify=show_cpu())


def _report_overtaxed(context: CheckContext) -> Iterator[Finding]:
    demands, offered = _list_demands(context), find_offered_level(context.facts.cpu)
    core, best = readable_core(context.facts.stack), _find_best_level(context.recipe, context.facts.cpu)
    highest = max(demands, key=lambda demand: rank(demand[0]), default=("", ""))
    if rank(highest[0]) > rank(offered):
        yield _SAY.error(
            f"the imaging core needs {highest[0]}, this CPU offers {offered} only",
            evidence=(*(source for _level, source in demands), *_describe_cpu(context.facts.cpu)),
            expected=f"at most {offered}",
            observed=highest[0],
            remedy=setup(context, "set up the stack for this CPU", "--level", "auto") if best else stock(context),
            verify=show_note(loaded_file(core)) if core is not None and core.isa_note else show_cpu(),
        )


def _list_demands(context: CheckContext) -> tuple[tuple[str, str], ...]:
    core = readable_core(context.facts.stack)
    noted = core.isa_note if core is not None else None
    demands = [(noted, f"the core's own note (GNU_PROPERTY_X86_ISA_1_NEEDED): {noted}")] if noted else []
    if context.receipt is not None and context.core_is_ours:
        built = " and ".join(context.receipt.levels)
        demands.append((context.receipt.levels[0], f"built for {built}, says the receipt"))
    return tuple(demands)


def _report_unserved(context: CheckContext) -> Iterator[Finding]:
    if _find_best_level(context.recipe, context.facts.cpu) is None:
        names = ", ".join(level.name for level in context.recipe.levels)
        message = f"{context.recipe.name} has no level for this CPU: keep stock Pillow here"
        evidence, expected = _describe_cpu(context.facts.cpu), f"one of {names}"
        yield _SAY.warning(message, evidence=evidence, expected=expected, verify=show_cpu())


def _report_masked(context: CheckContext) -> Iterator[Finding]:
    cpu = context.facts.cpu
    if cpu.masked:
        who = "the virtual machine" if cpu.hypervisor else "the kernel or a container"
        yield _SAY.hint(
            f"this CPU offers {cpu.level}, and {who} seems to hide what the next level needs: {', '.join(cpu.masked)}",
            evidence=_describe_cpu(cpu),
            verify=show_cpu(),
        )


def _report_hidden(context: CheckContext) -> Iterator[Finding]:
    cpu, core = context.facts.cpu, readable_core(context.facts.stack)
    offered = find_offered_level(cpu)
    if rank(offered) <= rank(cpu.level):
        return
    loads = f": {name} is loaded" if (name := loaded_name(core)) else ""
    mistaken = f"makes the loader take this CPU, which offers {offered}, for {cpu.level}"
    yield _SAY.hint(
        f"GLIBC_TUNABLES ({cpu.tunables}) {mistaken}{loads}",
        evidence=(*_describe_cpu(cpu), *list_core_copies(core)),
        remedy=Remedy(text="unset GLIBC_TUNABLES, unless the lower level is wanted"),
        verify=show_variables("GLIBC_TUNABLES"),
    )


def _report_underused(context: CheckContext) -> Iterator[Finding]:
    receipt, best = context.receipt, _find_best_level(context.recipe, context.facts.cpu)
    if receipt is None or best is None or not context.core_is_ours:
        return
    named = receipt.wish.level != "auto" or receipt.wish.levels
    if named or not 0 < max(map(rank, receipt.levels)) < rank(best):
        return
    message = f"the stack was built for {' and '.join(receipt.levels)}, this CPU would bear {best}"
    if name := loaded_name(readable_core(context.facts.stack)):
        message = f"{name} is loaded; {best} would suit this CPU, but is not in the wheel"
    remedy = setup(context, "build with the better level", "--levels", ",".join((*receipt.levels, best)))
    if len(receipt.levels) == 1:
        remedy = setup(context, "build for the better level", "--level", best)
    yield _SAY.hint(message, evidence=_describe_cpu(context.facts.cpu), remedy=remedy, verify=show_cpu())


def _find_best_level(recipe: Recipe, cpu: Cpu) -> str | None:
    limit = rank(find_offered_level(cpu))
    return next((level.name for level in recipe.levels if level.automatic and rank(level.name) <= limit), None)


def _describe_cpu(cpu: Cpu) -> tuple[str, ...]:
    name = f"{cpu.name or cpu.vendor or cpu.architecture}, {cpu.cores} logical CPUs"
    source = (f"{cpu.level}, says {cpu.level_source or 'the probe'}",) if cpu.level else ()
    return (name, *source)


def judge_copies(context: CheckContext) -> Iterator[Finding]:
    """Find copies that are missing, damaged or in a wrong place, and say why a better one is not loaded."""
    core = context.facts.stack.core
    if core is None or not core.levels:
        return
    for judge in (
        _report_unusable_copies,
        _report_lost_copies,
        _report_misplaced_copies,
        _report_old_loader,
        _report_misprediction,
    ):
        yield from judge(context, core)


def _report_unusable_copies(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    for copy in core.levels:
        if copy.problem:
            yield _SAY.error(
                f"{name_core_copy(core, copy)} of the imaging core cannot be used: {copy.problem}",
                evidence=(str(copy.path),),
                expected="a whole copy of the core, for CPUs of its level",
                observed=copy.problem,
                remedy=repair(context),
                verify=show_files(copy.path),
            )


def _report_lost_copies(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    """What the receipt says that the wheel had; the baseline is always looked at, even where it is missing."""
    if context.receipt is None or not context.core_is_ours:
        return
    there = {copy.level for copy in core.levels[1:]}
    for level in context.receipt.levels[1:]:
        if level not in there:
            yield _SAY.error(
                f"the copy of the imaging core for {level} is gone: such CPUs get a lower level",
                evidence=list_core_copies(core),
                expected=", ".join(context.receipt.levels),
                observed=", ".join(copy.level for copy in core.levels),
                remedy=repair(context),
                verify=f"{show_files(core.levels[0].path.parent)} -R",
            )


def _report_misplaced_copies(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    highest = _find_highest_baseline_level(context, core)
    if rank(core.levels[0].isa_note) > rank(highest) > 0:
        yield _report_misplaced_copy(context, core, core.levels[0], f"at most {highest}")
    for copy in core.levels[1:]:
        if copy.isa_note is not None and rank(copy.isa_note) != rank(copy.level):
            yield _report_misplaced_copy(context, core, copy, copy.level)


def _find_highest_baseline_level(context: CheckContext, core: ImagingCore) -> str:
    """The level that the baseline was built for; untold, the one below the least of the others."""
    if context.receipt is not None and context.core_is_ours:
        return context.receipt.levels[0]
    least = min((rank(copy.level) for copy in core.levels[1:] if rank(copy.level)), default=0)
    return f"x86-64-v{least - 1}" if least > 1 else ""


def _report_misplaced_copy(context: CheckContext, core: ImagingCore, copy: CoreLevel, expected: str) -> Finding:
    too_high = copy is core.levels[0] or rank(copy.isa_note) > rank(copy.level)
    effect = "CPUs that would load it refuse it" if too_high else "CPUs that load it get a lower level than is theirs"
    place = "in the baseline's place" if copy is core.levels[0] else f"in the place of {copy.level}"
    return _SAY.error(
        f"the copy of the imaging core {place} is compiled for {copy.isa_note}: {effect}",
        evidence=(str(copy.path), f"its own note (GNU_PROPERTY_X86_ISA_1_NEEDED): {copy.isa_note}"),
        expected=expected,
        observed=str(copy.isa_note),
        remedy=repair(context),
        verify=show_note(copy.path),
    )


def _report_old_loader(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    """The loader itself is too old to look at any copy but the baseline."""
    python, cpu = context.facts.interpreter, context.facts.cpu
    if knows_levels(python.libc, python.libc_version):
        return
    passed = [copy.level for copy in whole_copies(core)[1:] if 0 < rank(copy.level) <= rank(cpu.level)]
    if passed:
        yield _SAY.hint(
            f"{python.libc} {python.libc_version} takes the baseline, although this CPU offers {passed[-1]}: "
            "only glibc 2.33 and later choose by level",
            evidence=list_core_copies(core),
            expected="glibc 2.33 or later",
            observed=f"{python.libc} {python.libc_version}",
            verify=run_python(context, "import platform; print(*platform.libc_ver())"),
        )


def _report_misprediction(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    """Hold the model of the loader against what ran."""
    runtime, predicted = context.facts.runtime, loaded_copy(core)
    if runtime is None or not runtime.core or predicted is None or _is_file(core, predicted, runtime.core):
        return
    taken = next((copy for copy in core.levels if _is_file(core, copy, runtime.core)), None)
    what = name_core_copy(core, taken) if taken is not None else "code from elsewhere"
    yield _SAY.warning(
        f"{what} was loaded, where the loader's rules say {name_core_copy(core, predicted)}",
        evidence=(f"the running core: {runtime.core}", *list_core_copies(core)),
        expected=str(predicted.path),
        observed=runtime.core,
        verify=show_digests(predicted.path, PurePath(runtime.core)),
    )


def _is_file(core: ImagingCore, copy: CoreLevel, running: str) -> bool:
    """Whether a running core's file is this copy, by its place in site-packages, which may be reached by links."""
    site_packages = core.path.parent.parent
    if not copy.path.is_relative_to(site_packages):
        return copy.path == PurePath(running)
    parts = copy.path.relative_to(site_packages).parts
    return PurePath(running).parts[-len(parts) :] == parts

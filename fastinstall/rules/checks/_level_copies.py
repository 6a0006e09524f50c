"""Judges the copies of a core that has one per CPU level, for the check of levels: each against the CPUs it is for."""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.model.core import Core, CoreLevel
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._copies import called, loaded_copy, portrait, whole_copies
from fastinstall.rules.checks._remedies import repair
from fastinstall.rules.checks._verify import run_python, show_digests, show_files, show_note
from fastinstall.rules.checks._voice import Voice
from fastinstall.rules.levels import knows_levels, rank


def judge_copies(say: Voice, context: CheckContext) -> Iterator[Finding]:
    """Find copies that are missing, damaged or in a wrong place, and say why a better one is not loaded.

    Args:
        say: the check that speaks.
        context: what it looks at; a core without copies gives no finding.
    """
    core = context.facts.stack.core
    if core is None or not core.levels:
        return
    yield from _unusable(say, context, core)
    yield from _lost(say, context, core)
    yield from _misplaced(say, context, core)
    yield from _out_of_reach(say, context, core)
    yield from _mispredicted(say, context, core)


def _unusable(say: Voice, context: CheckContext, core: Core) -> Iterator[Finding]:
    for copy in core.levels:
        if copy.problem:
            yield say.error(
                f"{called(core, copy)} of the imaging core cannot be used: {copy.problem}",
                evidence=(str(copy.path),),
                expected="a whole copy of the core, for CPUs of its level",
                observed=copy.problem,
                remedy=repair(context),
                verify=show_files(copy.path),
            )


def _lost(say: Voice, context: CheckContext, core: Core) -> Iterator[Finding]:
    """What the receipt says that the wheel had; the baseline is always looked at, even where it is missing."""
    if context.receipt is None or not context.core_is_ours:
        return
    there = {copy.level for copy in core.levels[1:]}
    for level in context.receipt.levels[1:]:
        if level not in there:
            yield say.error(
                f"the copy of the imaging core for {level} is gone: such CPUs get a lower level",
                evidence=portrait(core),
                expected=", ".join(context.receipt.levels),
                observed=", ".join(copy.level for copy in core.levels),
                remedy=repair(context),
                verify=_list_copies(core),
            )


def _list_copies(core: Core) -> str:
    """The directory of the baseline, below which the others lie."""
    return f"{show_files(core.levels[0].path.parent)} -R"


def _misplaced(say: Voice, context: CheckContext, core: Core) -> Iterator[Finding]:
    highest = _highest_for_baseline(context, core)
    if rank(core.levels[0].isa_note) > rank(highest) > 0:
        yield _wrong_place(say, context, core, core.levels[0], f"at most {highest}")
    for copy in core.levels[1:]:
        if copy.isa_note is not None and rank(copy.isa_note) != rank(copy.level):
            yield _wrong_place(say, context, core, copy, copy.level)


def _highest_for_baseline(context: CheckContext, core: Core) -> str:
    """The level that the baseline was built for; untold, the one below the least of the others."""
    if context.receipt is not None and context.core_is_ours:
        return context.receipt.levels[0]
    least = min((rank(copy.level) for copy in core.levels[1:] if rank(copy.level)), default=0)
    return f"x86-64-v{least - 1}" if least > 1 else ""


def _wrong_place(say: Voice, context: CheckContext, core: Core, copy: CoreLevel, expected: str) -> Finding:
    too_high = copy is core.levels[0] or rank(copy.isa_note) > rank(copy.level)
    effect = "CPUs that would load it refuse it" if too_high else "CPUs that load it get a lower level than is theirs"
    place = "in the baseline's place" if copy is core.levels[0] else f"in the place of {copy.level}"
    return say.error(
        f"the copy of the imaging core {place} is compiled for {copy.isa_note}: {effect}",
        evidence=(str(copy.path), f"its own note (GNU_PROPERTY_X86_ISA_1_NEEDED): {copy.isa_note}"),
        expected=expected,
        observed=str(copy.isa_note),
        remedy=repair(context),
        verify=show_note(copy.path),
    )


def _out_of_reach(say: Voice, context: CheckContext, core: Core) -> Iterator[Finding]:
    """The loader itself is too old to look at any copy but the baseline."""
    python, cpu = context.facts.interpreter, context.facts.cpu
    if knows_levels(python.libc, python.libc_version):
        return
    passed = [copy.level for copy in whole_copies(core)[1:] if 0 < rank(copy.level) <= rank(cpu.level)]
    if passed:
        yield say.hint(
            f"{python.libc} {python.libc_version} takes the baseline, although this CPU offers {passed[-1]}: "
            "only glibc 2.33 and later choose by level",
            evidence=portrait(core),
            expected="glibc 2.33 or later",
            observed=f"{python.libc} {python.libc_version}",
            verify=run_python(context, "import platform; print(*platform.libc_ver())"),
        )


def _mispredicted(say: Voice, context: CheckContext, core: Core) -> Iterator[Finding]:
    """Hold the model of the loader against what ran."""
    runtime, predicted = context.facts.runtime, loaded_copy(core)
    if runtime is None or not runtime.core or predicted is None or _is_file(core, predicted, runtime.core):
        return
    taken = next((copy for copy in core.levels if _is_file(core, copy, runtime.core)), None)
    what = called(core, taken) if taken is not None else "code from elsewhere"
    yield say.warning(
        f"{what} was loaded, where the loader's rules say {called(core, predicted)}",
        evidence=(f"the running core: {runtime.core}", *portrait(core)),
        expected=str(predicted.path),
        observed=runtime.core,
        verify=show_digests(predicted.path, PurePath(runtime.core)),
    )


def _is_file(core: Core, copy: CoreLevel, running: str) -> bool:
    """Whether a running core's file is this copy, by its place in site-packages, which may be reached by links."""
    site_packages = core.path.parent.parent
    if not copy.path.is_relative_to(site_packages):
        return copy.path == PurePath(running)
    parts = copy.path.relative_to(site_packages).parts
    return PurePath(running).parts[-len(parts) :] == parts

"""The x86-64 micro-architecture level of this CPU, and whether the code in place suits it.

- error: the core declares, or was built for, a higher level than this CPU offers: it would die of SIGILL.
- warning: the recipe has no level for this CPU.
- hint: another architecture than x86-64; features hidden by a virtual machine; a better level that the CPU would bear.
- unknown: the level could not be told.

Levels: x86-64 psABI, "Micro-architecture levels". Which instructions the code really contains is another check's.
"""

import re
from collections.abc import Iterator

from fastinstall.model.finding import Finding
from fastinstall.model.machine import Cpu
from fastinstall.model.recipe import Recipe
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import setup
from fastinstall.rules.checks._stack import readable_core
from fastinstall.rules.checks._voice import Voice

NAME = "cpu-level"
SUMMARY = "The level of this CPU, what hides parts of it, and whether the code in place suits it."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the processor, and the core against it."""
    cpu = context.facts.cpu
    if cpu.architecture != "x86_64":
        message = f"this is {cpu.architecture}: the kernels are for x86-64, and stock Pillow is the fastest stack here"
        yield _SAY.hint(message, evidence=_portrait(cpu))
    elif not _rank(cpu.level):
        yield _SAY.unknown("the level of this CPU could not be told", evidence=_portrait(cpu))
    else:
        problems = (*_overtaxed(context), *_unserved(context), *_masked(cpu), *_underused(context))
        yield from problems or (_SAY.ok(f"this CPU offers {cpu.level}", evidence=_portrait(cpu)),)


def _overtaxed(context: CheckContext) -> Iterator[Finding]:
    demands = _demands(context)
    highest = max(demands, key=lambda demand: _rank(demand[0]), default=("", ""))
    if _rank(highest[0]) > _rank(context.facts.cpu.level):
        yield _SAY.error(
            f"the imaging core needs {highest[0]}, this CPU offers {context.facts.cpu.level} only",
            evidence=(*(source for _level, source in demands), *_portrait(context.facts.cpu)),
            expected=f"at most {context.facts.cpu.level}",
            observed=highest[0],
            remedy=setup(context, "set up the stack for this CPU", "--level", "auto"),
        )


def _demands(context: CheckContext) -> tuple[tuple[str, str], ...]:
    core = readable_core(context.facts.stack)
    noted = core.isa_note if core is not None else None
    demands = [(noted, f"the core's own note (GNU_PROPERTY_X86_ISA_1_NEEDED): {noted}")] if noted else []
    if context.receipt is not None and context.core_is_ours:
        demands.append((context.receipt.level, f"built for {context.receipt.level}, says the receipt"))
    return tuple(demands)


def _unserved(context: CheckContext) -> Iterator[Finding]:
    if _best(context.recipe, context.facts.cpu) is None:
        names = ", ".join(level.name for level in context.recipe.levels)
        message = f"{context.recipe.name} has no level for this CPU: keep stock Pillow here"
        yield _SAY.warning(message, evidence=_portrait(context.facts.cpu), expected=f"one of {names}")


def _masked(cpu: Cpu) -> Iterator[Finding]:
    if cpu.masked:
        who = "the virtual machine" if cpu.hypervisor else "the kernel or a container"
        yield _SAY.hint(
            f"this CPU offers {cpu.level}, and {who} seems to hide what the next level needs: {', '.join(cpu.masked)}",
            evidence=_portrait(cpu),
        )


def _underused(context: CheckContext) -> Iterator[Finding]:
    receipt, best = context.receipt, _best(context.recipe, context.facts.cpu)
    if receipt is None or best is None or receipt.wish.level != "auto" or not context.core_is_ours:
        return
    if 0 < _rank(receipt.level) < _rank(best):
        yield _SAY.hint(
            f"the stack was built for {receipt.level}, this CPU would bear {best}",
            evidence=_portrait(context.facts.cpu),
            remedy=setup(context, "build for the better level", "--level", best),
        )


def _best(recipe: Recipe, cpu: Cpu) -> str | None:
    fitting = (level.name for level in recipe.levels if level.automatic and _rank(level.name) <= _rank(cpu.level))
    return next(fitting, None)


def _portrait(cpu: Cpu) -> tuple[str, ...]:
    name = f"{cpu.name or cpu.vendor or cpu.architecture}, {cpu.cores} logical CPUs"
    source = (f"{cpu.level}, says {cpu.level_source or 'the probe'}",) if cpu.level else ()
    return (name, *source)


def _rank(level: str | None) -> int:
    """1 to 4 for the levels of the psABI, 0 for what cannot be compared ("native")."""
    matched = re.fullmatch(r"x86-64(?:-v(\d)|-baseline)?", level or "")
    return int(matched[1] or 1) if matched else 0

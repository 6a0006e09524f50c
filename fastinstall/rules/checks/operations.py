"""Real operations on images, run in a subprocess of the target's interpreter.

- error: an operation failed, or a signal killed the interpreter. A core for another CPU is imported without
  complaint and dies of SIGILL at its first operation.
- unknown: PIL was imported, and no operation ran.
"""

from collections.abc import Iterator

from fastinstall.model.facts import Runtime
from fastinstall.model.finding import Finding, Remedy
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair, setup
from fastinstall.rules.checks._voice import Voice, listing

NAME = "operations"
SUMMARY = "Whether real operations work; a death by signal is named."
NEEDS_RUNTIME = True

_SAY = Voice(NAME)
_MEANING = {
    "SIGILL": "the code uses an instruction that this CPU does not have",
    "SIGBUS": "a file of the stack is truncated",
    "SIGSEGV": "the code, or a library under it, is broken or of another version",
    "SIGABRT": "a library under it gave up, or memory was corrupted",
    "SIGKILL": "it was killed from outside, as the kernel does when memory runs out",
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge what the operations did."""
    runtime = context.facts.runtime
    if runtime is None:
        yield _SAY.skipped("nothing was executed")
    elif not runtime.imported:
        yield _SAY.skipped("PIL could not be imported")
    elif runtime.signal:
        yield _killed(context, runtime)
    elif not runtime.operations:
        message = "PIL was imported, but no operation ran"
        yield _SAY.unknown(message, evidence=(runtime.error,) if runtime.error else ())
    else:
        yield _judged(context, runtime)


def _killed(context: CheckContext, runtime: Runtime) -> Finding:
    return _SAY.error(
        f"{runtime.signal} killed the interpreter during {runtime.during or 'its operations'}: "
        f"{_MEANING.get(runtime.signal, 'the operation cannot be used')}",
        evidence=(f"{len(runtime.operations)} operations had run before it", *_portrait(context)),
        expected="every operation returns",
        observed=runtime.signal,
        remedy=_after(context, runtime.signal),
    )


def _after(context: CheckContext, signal: str) -> Remedy:
    if signal == "SIGILL":
        return setup(context, "set up the stack for this CPU", "--level", "auto")
    return repair(context)


def _portrait(context: CheckContext) -> tuple[str, ...]:
    core, level = context.facts.stack.core, context.facts.cpu.level
    return (f"CPU level: {level or 'unknown'}", f"core: {core.path if core is not None else 'unknown'}")


def _judged(context: CheckContext, runtime: Runtime) -> Finding:
    failed = tuple(result for result in runtime.operations if not result.ok)
    if not failed:
        names = tuple(result.name for result in runtime.operations)
        return _SAY.ok(f"all {len(names)} operations work", evidence=(", ".join(names),))
    return _SAY.error(
        f"{len(failed)} of {len(runtime.operations)} operations fail: {', '.join(result.name for result in failed)}",
        evidence=listing(tuple(f"{result.name}: {result.error}" for result in failed)),
        expected="every operation returns",
        observed=f"{len(failed)} failures",
        remedy=repair(context),
    )

"""Whether PIL is there and can be imported, found out in a subprocess of the target's interpreter.

- error: the import fails or kills the interpreter (a truncated core gives SIGBUS); `PIL/__init__.py` is missing, so
  that PIL is a namespace package; the core is missing, empty, for another Python or of another version than the rest;
  PIL is gone although it was set up.
- warning: what is imported lies outside this environment.
- hint: there is no PIL, and none was set up.

With `--quick` nothing is executed, and the verdict comes from the files alone.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.model.facts import Runtime, Stack
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair, setup
from fastinstall.rules.checks._stack import version_conflict
from fastinstall.rules.checks._voice import Voice, listing

NAME = "pillow-importable"
SUMMARY = "Whether PIL is there, is a real package and can be imported."
NEEDS_RUNTIME = True

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the import of PIL."""
    stack, runtime = context.facts.stack, context.facts.runtime
    if runtime is not None and runtime.imported:
        yield _imported(context, runtime)
    elif stack.directory is None:
        yield _absent(context)
    elif runtime is not None:
        yield _failed(context, runtime)
    else:
        yield _unexecuted(context)


def _imported(context: CheckContext, runtime: Runtime) -> Finding:
    prefix = context.facts.environment.prefix
    if runtime.location and not PurePath(runtime.location).is_relative_to(prefix):
        return _SAY.warning(
            "PIL is imported from outside this environment",
            evidence=(runtime.location,),
            expected=f"below {prefix}",
            observed=runtime.location,
            remedy=setup(context, "give this environment a PIL of its own"),
        )
    return _SAY.ok(f"PIL {runtime.version} can be imported", evidence=(runtime.location,))


def _absent(context: CheckContext) -> Finding:
    site_packages = str(context.facts.interpreter.site_packages)
    if context.receipt is None:
        remedy = setup(context, "set up the fast stack")
        return _SAY.hint("there is no PIL in this environment", evidence=(site_packages,), remedy=remedy)
    return _SAY.error(
        "PIL is gone from this environment",
        evidence=(site_packages,),
        expected=f"{context.receipt.distribution} {context.receipt.version}",
        observed="no PIL directory",
        remedy=repair(context),
    )


def _failed(context: CheckContext, runtime: Runtime) -> Finding:
    cause = _cause(context)
    if runtime.signal:
        message = f"the import of PIL kills the interpreter with {runtime.signal}"
    else:
        message = "PIL cannot be imported"
    return _SAY.error(
        f"{message}: {cause or runtime.error or 'the interpreter gave no reason'}",
        evidence=_evidence(context.facts.stack),
        expected="import PIL.Image succeeds",
        observed=runtime.error or runtime.signal,
        remedy=repair(context),
    )


def _unexecuted(context: CheckContext) -> Finding:
    cause = _cause(context)
    if cause:
        message = f"PIL cannot be imported: {cause}"
        return _SAY.error(message, evidence=_evidence(context.facts.stack), remedy=repair(context))
    version = context.facts.stack.version or "of unknown version"
    return _SAY.ok(f"PIL {version} is complete enough to be imported; nothing was executed")


def _cause(context: CheckContext) -> str:
    stack = context.facts.stack
    if not stack.has_init:
        return "PIL/__init__.py is missing, so PIL is a namespace package (module 'PIL' has no attribute 'Image')"
    if stack.core is None and stack.foreign_cores:
        return f"the core is for another Python ({', '.join(stack.foreign_cores)}) than {context.facts.interpreter.abi}"
    if stack.core is None:
        return "the imaging core is missing"
    if not stack.core.readable:
        return f"the imaging core is damaged: {stack.core.problem}"
    return version_conflict(stack)


def _evidence(stack: Stack) -> tuple[str, ...]:
    core = (f"{stack.core.path}, {stack.core.size} bytes",) if stack.core is not None else ()
    return (str(stack.directory), *core, *listing(stack.foreign_cores))

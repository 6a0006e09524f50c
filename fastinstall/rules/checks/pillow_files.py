"""PIL's files on disk against what its distribution recorded.

- error: the core is missing, damaged, for another Python, or of another version than `PIL/_version.py`; an extension
  module (`_webp`, `_imagingft`, ...) is altered, or a stray one lies there (PIL imports fine with both); recorded files
  are missing.
- warning: other files altered, or claimed by nobody; a core of another Python beside the right one.

With several owners, the files are held against the one that they fit best.
"""

from collections.abc import Iterator

from fastinstall.model.facts import Owner, Stack
from fastinstall.model.finding import Finding, Status
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair
from fastinstall.rules.checks._stack import version_conflict
from fastinstall.rules.checks._voice import Voice, listing

NAME = "pillow-files"
SUMMARY = "PIL's files against RECORD: altered, missing, mixed or stray ones, and the core's ABI."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge PIL's files."""
    stack = context.facts.stack
    if stack.directory is None:
        yield _SAY.skipped("there is no PIL in this environment")
        return
    problems = (*_core(context), *_versions(context), *_recorded(context), *_stray(context))
    yield from problems or (_intact(stack),)


def _intact(stack: Stack) -> Finding:
    owner = _best_fit(stack)
    if owner is None:
        return _SAY.skipped("there is no RECORD to compare PIL's files with")
    recorder = f"{owner.distribution.name} {owner.distribution.version}"
    return _SAY.ok(f"all {owner.files} files are as {recorder} recorded them")


def _core(context: CheckContext) -> Iterator[Finding]:
    stack, suffix = context.facts.stack, context.facts.interpreter.extension_suffix
    expected = f"PIL/_imaging{suffix}"
    if stack.core is None and stack.foreign_cores:
        message = f"the imaging core has the wrong ABI tag: this Python is {context.facts.interpreter.abi}"
        yield _problem(context, Status.ERROR, message, stack.foreign_cores, expected=expected)
    elif stack.core is None:
        yield _problem(context, Status.ERROR, "the imaging core is missing", (), expected=expected)
    elif not stack.core.readable:
        message = f"the imaging core is damaged: {stack.core.problem}"
        yield _problem(context, Status.ERROR, message, (f"{stack.core.path}, {stack.core.size} bytes",))
    elif stack.foreign_cores:
        message = "a core for another Python lies beside the right one"
        yield _problem(context, Status.WARNING, message, stack.foreign_cores)


def _versions(context: CheckContext) -> Iterator[Finding]:
    stack = context.facts.stack
    if stack.core is not None and (conflict := version_conflict(stack)):
        message = f"PIL is mixed from two versions: {conflict}"
        yield _problem(context, Status.ERROR, message, (str(stack.core.path),), expected=str(stack.version))


def _recorded(context: CheckContext) -> Iterator[Finding]:
    owner = _best_fit(context.facts.stack)
    if owner is None:
        return
    name = f"{owner.distribution.name} {owner.distribution.version}"
    compiled, other = _divide(owner.mismatched)
    if compiled:
        message = f"extension modules are not those of {name}: {_names(compiled)}"
        yield _problem(context, Status.ERROR, message, compiled)
    if other:
        yield _problem(context, Status.WARNING, f"{len(other)} files differ from those of {name}", other)
    if owner.missing:
        yield _problem(context, Status.ERROR, f"{len(owner.missing)} files of {name} are missing", owner.missing)


def _stray(context: CheckContext) -> Iterator[Finding]:
    if _best_fit(context.facts.stack) is None:
        return
    compiled, other = _divide(context.facts.stack.unclaimed)
    if compiled:
        message = f"stray extension modules that no distribution claims: {_names(compiled)}"
        yield _problem(context, Status.ERROR, message, compiled)
    if other:
        message = f"{len(other)} files below PIL/ that no distribution claims"
        yield _problem(context, Status.WARNING, message, other)


def _problem(
    context: CheckContext, status: Status, message: str, evidence: tuple[str, ...], *, expected: str = ""
) -> Finding:
    return _SAY.say(status, message, evidence=listing(evidence), expected=expected, remedy=repair(context))


def _best_fit(stack: Stack) -> Owner | None:
    recorded = (owner for owner in stack.owners if owner.has_record)
    return min(recorded, key=lambda owner: len(owner.mismatched) + len(owner.missing), default=None)


def _divide(files: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    compiled = tuple(name for name in files if name.endswith(".so"))
    return compiled, tuple(name for name in files if name not in compiled)


def _names(files: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(name.rpartition("/")[2].partition(".")[0] for name in files))

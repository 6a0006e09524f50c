"""Whether PIL is there and can be imported, found out in a subprocess of the target's interpreter.

- error: the import fails or kills the interpreter (a truncated core gives SIGBUS); `PIL/__init__.py` is missing, so
  that PIL is a namespace package; the core is missing, empty, for another Python or of another version than the rest;
  PIL is gone although it was set up.
- warning: what is imported lies outside this environment.
- hint: there is no PIL, and none was set up.

With `--quick` nothing is executed, and the verdict comes from the files alone.

Why it matters:
Everything else rests on it. An import that fails tells a reason that leads astray ("module 'PIL' has no attribute
'Image'", "cannot open shared object file"), and a truncated core kills the interpreter without a word of Python's.

How to fix it:
Put the stack back that was set up, `fastinstall doctor --fix`; elsewhere install Pillow again, forced, since pip takes
a broken one for installed.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.doctor.check_context import CheckContext, FindingFactory, listing
from fastinstall.doctor.codec_libraries import code_files, lacking
from fastinstall.doctor.owners import other_libc, version_conflict
from fastinstall.doctor.remedies import VERSION, repair, run_python, setup, show_files
from fastinstall.model.facts import InstalledStack, Runtime
from fastinstall.model.finding import Finding

NAME = "pillow-importable"
SUMMARY = "Whether PIL is there, is a real package and can be imported."
NEEDS_RUNTIME = True
ORDER = 40
VERIFIES_SETUP = True
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)
_IMPORT = "import PIL.Image"


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the import of PIL."""
    stack, runtime = context.facts.stack, context.facts.runtime
    if runtime is not None and runtime.imported:
        yield _report_imported(context, runtime)
    elif stack.directory is None:
        yield _report_absent(context)
    elif runtime is not None:
        yield _report_failed(context, runtime)
    else:
        yield _report_unexecuted(context)


def _report_imported(context: CheckContext, runtime: Runtime) -> Finding:
    prefix = context.facts.environment.prefix
    if runtime.location and not PurePath(runtime.location).is_relative_to(prefix):
        return _SAY.warning(
            "PIL is imported from outside this environment",
            evidence=(runtime.location,),
            expected=f"below {prefix}",
            observed=runtime.location,
            remedy=setup(context, "give this environment a PIL of its own"),
            verify=run_python(context, VERSION),
        )
    message, verify = f"PIL {runtime.version} can be imported", run_python(context, _IMPORT)
    return _SAY.ok(message, evidence=(runtime.location,), verify=verify)


def _report_absent(context: CheckContext) -> Finding:
    site_packages = str(context.facts.interpreter.site_packages)
    if context.receipt is None:
        remedy = setup(context, "set up the fast stack")
        message = "there is no PIL in this environment"
        return _SAY.hint(message, evidence=(site_packages,), remedy=remedy, verify=run_python(context, _IMPORT))
    return _SAY.error(
        "PIL is gone from this environment",
        evidence=(site_packages,),
        expected=f"{context.receipt.distribution} {context.receipt.version}",
        observed="no PIL directory",
        remedy=repair(context),
        verify=run_python(context, _IMPORT),
    )


def _report_failed(context: CheckContext, runtime: Runtime) -> Finding:
    cause = _describe_cause(context) or _describe_damaged_library(context)
    if runtime.signal:
        message = f"the import of PIL kills the interpreter with {runtime.signal}"
    else:
        message = "PIL cannot be imported"
    return _SAY.error(
        f"{message}: {cause or runtime.error or 'the interpreter gave no reason'}",
        evidence=_list_evidence(context.facts.stack),
        expected="import PIL.Image succeeds",
        observed=runtime.error or runtime.signal,
        remedy=repair(context),
        verify=run_python(context, _IMPORT),
    )


def _report_unexecuted(context: CheckContext) -> Finding:
    cause = _describe_cause(context) or _describe_lacking_libraries(context.facts.stack)
    if cause:
        message, evidence = f"PIL cannot be imported: {cause}", _list_evidence(context.facts.stack)
        return _SAY.error(message, evidence=evidence, remedy=repair(context), verify=_list(context))
    version = context.facts.stack.version or "of unknown version"
    message = f"PIL {version} is complete enough to be imported; nothing was executed"
    return _SAY.ok(message, verify=_list(context))


def _list(context: CheckContext) -> str:
    """PIL's directory: what lies there is what the verdict from files alone rests on."""
    return show_files(context.facts.interpreter.site_packages / "PIL")


def _describe_cause(context: CheckContext) -> str:
    stack = context.facts.stack
    if not stack.has_init:
        return "PIL/__init__.py is missing, so PIL is a namespace package (module 'PIL' has no attribute 'Image')"
    if libc := other_libc(context.facts):
        return libc
    if stack.core is None and stack.foreign_cores:
        return f"the core is for another Python ({', '.join(stack.foreign_cores)}) than {context.facts.interpreter.abi}"
    if stack.core is None:
        return "the imaging core is missing"
    if not stack.core.readable:
        return f"the imaging core is damaged: {stack.core.problem}"
    return version_conflict(stack)


def _describe_damaged_library(context: CheckContext) -> str:
    """A library of the core that is there and cannot be loaded."""
    mine = code_files(context)
    needs = (need for need in lacking(context) if need.needed_by in mine and need.problem != "not found")
    return next((f"{need.name} is damaged: {need.problem}" for need in needs), "")


def _describe_lacking_libraries(stack: InstalledStack) -> str:
    libraries = stack.core.libraries if stack.core is not None else ()
    lost = ", ".join(library.soname for library in libraries if library.path is None)
    return f"the core needs {lost}, not found by the loader's rules" if lost else ""


def _list_evidence(stack: InstalledStack) -> tuple[str, ...]:
    core = (f"{stack.core.path}, {stack.core.size} bytes",) if stack.core is not None else ()
    return (str(stack.directory), *core, *listing(stack.foreign_cores))

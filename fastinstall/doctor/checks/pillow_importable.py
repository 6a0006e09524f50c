"""Whether PIL is installed, is a real package, can be imported, and is the PIL that programs import.

- error: the import fails or kills the interpreter (a truncated core gives SIGBUS). Or `PIL/__init__.py` is missing, so
  PIL is a namespace package. Or the core is missing, empty, for another Python or of another version than the rest. Or
  PIL was set up and is missing. Or programs import another PIL: from the user site, a directory in PYTHONPATH or the
  working directory. Code that runs when Python starts may cause that too (`sitecustomize.py`, a `.pth` file).
- warning: PIL is imported from outside this environment.
- hint: there is no PIL, and none was set up.

With `--quick` nothing is executed, and the verdict comes from files and variables alone.

Why it matters:
All other checks depend on this one. A failed import gives a misleading reason ("module 'PIL' has no attribute 'Image'",
"cannot open shared object file"). A truncated core kills the interpreter without a message. One `pip install --user`
hides the Pillow of every conda environment with the same Python, and neither pip nor conda says so.

How to fix it:
Restore the stack with `fastinstall doctor --fix`. Without a setup, force pip to install Pillow again, since pip
considers a broken Pillow installed. Only you can remove another PIL that is imported first; the finding names the
command. The environment variable `PYTHONNOUSERSITE=1` keeps the user site out of every Python.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.messages import quote
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.codec_libraries import list_code_files, list_missing
from fastinstall.doctor.owners import explain_broken_core, explain_conflict
from fastinstall.doctor.remedies import VERSION, offer_repair, offer_setup, run_python, show, show_files
from fastinstall.model.facts import EnvironmentKind, Facts, ImportSource, Runtime, ShadowingPil
from fastinstall.model.finding import Finding, Remedy, Status, shorten_evidence

_IMPORT = "import PIL.Image"


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the import of PIL."""
    stack, runtime = context.facts.stack, context.facts.runtime
    yield from list_shadow_findings(context.facts)
    if runtime is not None and runtime.imported:
        yield _report_imported(context, runtime)
    elif stack.directory is None:
        yield _report_absent(context)
    else:
        yield _report_by_files(context, runtime)


def _report_imported(context: CheckContext, runtime: Runtime) -> Finding:
    prefix = context.facts.environment.prefix
    if runtime.location and not PurePath(runtime.location).is_relative_to(prefix):
        return Finding.warning(
            "PIL is imported from outside this environment",
            evidence=(runtime.location,),
            expected=f"below {prefix}",
            observed=runtime.location,
            remedy=offer_setup(context, "install a PIL in this environment"),
            verify=run_python(context, VERSION),
        )
    message, verify = f"PIL {runtime.version} can be imported", run_python(context, _IMPORT)
    return Finding.ok(message, evidence=(runtime.location,), verify=verify)


def _report_absent(context: CheckContext) -> Finding:
    receipt, verify = context.receipt, run_python(context, _IMPORT)
    evidence = (str(context.facts.interpreter.site_packages),)
    if receipt is None:
        remedy, message = offer_setup(context, "set up the fast stack"), "there is no PIL in this environment"
        return Finding.hint(message, evidence=evidence, remedy=remedy, verify=verify)
    return Finding.error(
        "PIL is missing from this environment",
        evidence=evidence,
        expected=f"{receipt.distribution} {receipt.version}",
        observed="no PIL directory",
        remedy=offer_repair(context),
        verify=verify,
    )


def _report_by_files(context: CheckContext, runtime: Runtime | None) -> Finding:
    """Report why PIL cannot be imported or, if nothing was executed, whether its files look importable."""
    stack, directory = context.facts.stack, show_files(context.facts.interpreter.site_packages / "PIL")
    core = (f"{stack.core.path}, {stack.core.size} bytes",) if stack.core is not None else ()
    evidence, remedy = (str(stack.directory), *core, *shorten_evidence(stack.foreign_cores)), offer_repair(context)
    if runtime is not None:
        cause = _describe_cause(context) or _describe_damaged_library(context)
        killed = f"the import of PIL kills the interpreter with {runtime.signal}"
        message = killed if runtime.signal else "PIL cannot be imported"
        message = f"{message}: {cause or runtime.error or 'the interpreter gave no reason'}"
        return Finding.error(message, evidence=evidence, remedy=remedy, verify=run_python(context, _IMPORT))
    libraries = stack.core.libraries if stack.core is not None else ()
    lost = ", ".join(library.soname for library in libraries if library.path is None)
    lacking_libraries = f"the core needs {lost}, which the loader does not find" if lost else ""
    if cause := _describe_cause(context) or lacking_libraries:
        return Finding.error(f"PIL cannot be imported: {cause}", evidence=evidence, remedy=remedy, verify=directory)
    version = stack.version or "of unknown version"
    return Finding.ok(f"PIL {version} looks importable; nothing was executed", verify=directory)


def _describe_cause(context: CheckContext) -> str:
    stack = context.facts.stack
    if not stack.has_init:
        return "PIL/__init__.py is missing, so PIL is a namespace package (module 'PIL' has no attribute 'Image')"
    return explain_broken_core(context.facts) or explain_conflict(stack)


def _describe_damaged_library(context: CheckContext) -> str:
    """Return a clause that names a damaged library of the core and its problem; empty if none is damaged."""
    mine = list_code_files(context)
    needs = (need for need in list_missing(context) if need.needed_by in mine and need.problem != "not found")
    return next((f"{need.name} is damaged: {need.problem}" for need in needs), "")


def list_shadow_findings(facts: Facts) -> tuple[Finding, ...]:
    """Return a finding for each PIL that programs import instead of the environment's own."""
    return tuple(_report_shadow(facts, shadow) for shadow in facts.shadows)


def _report_shadow(facts: Facts, shadow: ShadowingPil) -> Finding:
    # Programs in an environment without its own PIL need the other PIL, so this is only a warning there.
    has_own = facts.stack.directory is not None and facts.environment.kind is not EnvironmentKind.SYSTEM
    return Finding.of(
        Status.ERROR if has_own else Status.WARNING,
        shadow.sentence,
        evidence=(shadow.location, *((f"added to sys.path by {shadow.origin}",) if shadow.origin else ())),
        expected=f"below {facts.interpreter.site_packages}",
        observed=shadow.location,
        remedy=_offer_end(facts, shadow),
        verify=show(facts.environment.python, "-c", VERSION),
    ).by("pillow-importable")


def warn_about_shadows(facts: Facts) -> tuple[str, ...]:
    """Return a sentence for each PIL that programs would import instead of the PIL that a setup installs.

    Each sentence ends with a remedy. A PIL in the working directory is left out.
    """
    remedies = ((shadow, _offer_end(facts, shadow)) for shadow in facts.shadows)
    return tuple(
        f"{shadow.sentence}; {remedy.text}" + (f": {remedy.command}" if remedy.command else "")
        for shadow, remedy in remedies
        # only programs that are started in the working directory import a PIL from it
        if shadow.source is not ImportSource.WORKING_DIRECTORY
    )


def _offer_end(facts: Facts, shadow: ShadowingPil) -> Remedy:
    """Return the remedy for a PIL that is imported first: what the user can do to stop that."""
    match shadow.source:
        case ImportSource.PYTHONPATH:
            command = f"export PYTHONPATH={quote(shadow.remaining)}" if shadow.remaining else "unset PYTHONPATH"
            return Remedy(text=f"take {shadow.entry} out of PYTHONPATH, also where your shell sets it", command=command)
        case ImportSource.WORKING_DIRECTORY:
            return Remedy(text="rename it, or start programs elsewhere", command=_move_away(str(shadow.package)))
        case ImportSource.STARTUP:
            text = "remove the code that puts it in front: in sitecustomize.py, usercustomize.py or a .pth file"
            if not shadow.origin:
                return Remedy(text=text)
            text = f"remove the code that puts it in front, in {shadow.origin}"
            return Remedy(text=text, command=f"${{EDITOR:-vi}} {quote(shadow.origin)}")
    return _offer_end_of_user_site(facts, shadow)


def _offer_end_of_user_site(facts: Facts, shadow: ShadowingPil) -> Remedy:
    interpreter, python = facts.interpreter, facts.environment.python
    if shadow.distribution and interpreter.pip_version is not None and interpreter.externally_managed is None:
        # pip uninstalls the first distribution of that name on sys.path: the PIL of the user site.
        return Remedy(
            text="uninstall it there, or keep the user site out: export PYTHONNOUSERSITE=1",
            command=show(python, "-m", "pip", "uninstall", "--yes", shadow.distribution),
        )
    if shadow.distribution:
        text = "keep the user site out, also where your shell sets variables"
        return Remedy(text=text, command="export PYTHONNOUSERSITE=1")
    place = shadow.origin or str(shadow.package)
    text = "move it away, or keep the user site out: export PYTHONNOUSERSITE=1"
    return Remedy(text=text, command=_move_away(place))


def _move_away(place: str) -> str:
    return f"mv {quote(place)} {quote(f'{place}.away')}"

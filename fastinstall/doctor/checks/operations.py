"""Whether real operations work, and which signal killed the interpreter if one did.

- error: an operation failed, an extension module of PIL could not be imported, or a signal killed the interpreter. A
  core for another CPU is imported without an error, and crashes with SIGILL at its first operation.
- unknown: PIL was imported, but no operation ran.

Why it matters:
Only code that was run is known to work. `PIL.features` reports what was compiled in, an import executes hardly any of
the code, and `pip check` reads metadata. If a signal kills the interpreter, the message names the operation and the
meaning of the signal.

How to fix it:
After SIGILL, set up the stack for this CPU: `fastinstall setup --level auto`. Otherwise restore the stack with
`fastinstall doctor --fix`, or examine the library that the message names.
"""

from collections.abc import Iterator

from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import offer_repair, offer_setup, run_python, show, show_files
from fastinstall.model.facts import Runtime
from fastinstall.model.finding import Finding, shorten_evidence

_MEANING = {
    "SIGILL": "the code uses an instruction that this CPU does not have",
    "SIGBUS": "a mapped file was truncated, or its disk cannot be read",
    "SIGSEGV": "the code, or a library under it, is broken or of another version",
    "SIGABRT": "a library aborted, or memory was corrupted",
    "SIGKILL": "it was killed from outside, as by the kernel when memory runs out",
}
_EXAMPLE = "from PIL import Image; Image.new('RGB', (99, 99)).resize((9, 9), Image.LANCZOS)"
_FORMATS = frozenset({"jpeg", "png", "tiff", "webp"})
_IMPORT = "import-"


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the results of the operations."""
    runtime, example = context.facts.runtime, run_python(context, _EXAMPLE)
    if runtime is None:
        yield Finding.skipped("nothing was executed")
    elif not runtime.imported:
        yield Finding.skipped("PIL could not be imported")
    elif runtime.signal:
        yield _report_killed(context, runtime)
    elif not runtime.operations:
        evidence = (runtime.error,) if runtime.error else ()
        yield Finding.unknown("PIL was imported, but no operation ran", evidence=evidence, verify=example)
    elif failed := [result for result in runtime.operations if not result.ok]:
        yield Finding.error(
            f"{len(failed)} of {len(runtime.operations)} operations fail: {', '.join(each.name for each in failed)}",
            evidence=shorten_evidence(f"{result.name}: {result.error}" for result in failed),
            remedy=offer_repair(context),
            verify=run_python(context, _reproduce(failed[0].name)),
        )
    else:
        names = ", ".join(result.name for result in runtime.operations)
        yield Finding.ok(f"all {len(runtime.operations)} operations work", evidence=(names,), verify=example)


def _report_killed(context: CheckContext, runtime: Runtime) -> Finding:
    core = context.facts.stack.core
    # SIGBUS means that a mapped file was truncated: look for a binary that differs from RECORD.
    recorded = (path for owner in context.facts.stack.owners for path in owner.mismatched if ".so" in path)
    short = next(recorded, "") if runtime.signal == "SIGBUS" else ""
    # The core that ran may be another file than the core on disk: a copy for a CPU level, or another PIL's core.
    ran = runtime.core or (str(core.path) if core is not None else "unknown")
    reproduced = show(context.facts.environment.python, "-X", "faulthandler", "-c", _reproduce(runtime.during))
    cause = f"{short} is truncated" if short else _MEANING.get(runtime.signal, "the operation cannot be used")
    done = f"operations completed before it: {len(runtime.operations)}"
    own = offer_setup(context, "set up the stack for this CPU", "--level", "auto")
    return Finding.error(
        f"{runtime.signal} killed the interpreter during {runtime.during or 'its operations'}: {cause}",
        evidence=(done, f"CPU level: {context.facts.cpu.level or 'unknown'}", f"core: {ran}"),
        remedy=own if runtime.signal == "SIGILL" else offer_repair(context),
        verify=show_files(context.facts.interpreter.site_packages / short) if short else reproduced,
    )


def _reproduce(operation: str) -> str:
    """Return a line of Python that repeats a failed operation, or a general example for an unknown operation."""
    if operation.startswith(_IMPORT):
        return f"import PIL.{operation.removeprefix(_IMPORT)}"
    kind = operation.partition("-")[0]
    if kind in _FORMATS:
        return f"import io; from PIL import Image; Image.new('RGB', (99, 99)).save(io.BytesIO(), '{kind}')"
    return _EXAMPLE

"""Whether real operations work; a death by signal is named.

- error: an operation failed, an extension module of PIL's could not be imported, or a signal killed the interpreter. A
  core for another CPU is imported without complaint and dies of SIGILL at its first operation.
- unknown: PIL was imported, and no operation ran.

Why it matters:
Only what runs is known to work. `PIL.features` tells what was compiled, an import executes hardly any of the code, and
`pip check` reads metadata. If a signal kills the interpreter, the operation and the instruction are named. With the
extra `isa`, so is the CPU feature that the instruction needs.

How to fix it:
After SIGILL, set up the stack for this CPU: `fastinstall setup --level auto`. Otherwise put the stack back by
`fastinstall doctor --fix`, or look at the library that is named.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.core.architecture import architecture_of
from fastinstall.doctor.check_context import CheckContext, FindingFactory, shorten_evidence
from fastinstall.doctor.remedies import offer_repair, offer_setup, run_python, show, show_files
from fastinstall.model.facts import Fault, Runtime, packages_of
from fastinstall.model.finding import Finding, Remedy

NEEDS_RUNTIME = True
ORDER = 140
VERIFIES_SETUP = True

_SAY = FindingFactory("operations")
_MEANING = {
    "SIGILL": "the code uses an instruction that this CPU does not have",
    "SIGBUS": "a mapped file was truncated, or its disk cannot be read",
    "SIGSEGV": "the code, or a library under it, is broken or of another version",
    "SIGABRT": "a library aborted, or memory was corrupted",
    "SIGKILL": "it was killed from outside, as by the kernel when memory runs out",
}
_ASTRAY = "it ran into memory that belongs to no file, as after a jump to a wrong address"
_BASE = re.compile(r"ld-(linux|musl|\d).*|lib(c|m|mvec|dl|rt|pthread|resolv|util|python[\d.]*)[-.].*|python[\d.]*t?")
"""Files that everything on the machine runs by: what dies in them was brought there by others."""
_EXAMPLE = "from PIL import Image; Image.new('RGB', (99, 99)).resize((9, 9), Image.LANCZOS)"
_FORMATS = frozenset({"jpeg", "png", "tiff", "webp"})
_IMPORT = "import-"
_LONGEST = 15
_DIGITS_OF_A_BYTE = 2


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge what the operations did."""
    runtime, example = context.facts.runtime, run_python(context, _EXAMPLE)
    if runtime is None:
        yield _SAY.skipped("nothing was executed")
    elif not runtime.imported:
        yield _SAY.skipped("PIL could not be imported")
    elif runtime.signal:
        yield _report_killed(context, runtime)
    elif not runtime.operations:
        evidence = (runtime.error,) if runtime.error else ()
        yield _SAY.unknown("PIL was imported, but no operation ran", evidence=evidence, verify=example)
    elif failed := [result for result in runtime.operations if not result.ok]:
        yield _SAY.error(
            f"{len(failed)} of {len(runtime.operations)} operations fail: {', '.join(each.name for each in failed)}",
            evidence=shorten_evidence(f"{result.name}: {result.error}" for result in failed),
            remedy=offer_repair(context),
            verify=run_python(context, _reproduce(failed[0].name)),
        )
    else:
        names = ", ".join(result.name for result in runtime.operations)
        yield _SAY.ok(f"all {len(runtime.operations)} operations work", evidence=(names,), verify=example)


def _report_killed(context: CheckContext, runtime: Runtime) -> Finding:
    fault, short, core = runtime.fault, _find_truncated_file(context, runtime), context.facts.stack.core
    # The core on disk may be another than ran, or a stub before it.
    ran = runtime.core or (str(core.path) if core is not None else "unknown")
    evidence = [f"operations completed before it: {len(runtime.operations)}"]
    if fault is not None and fault.file is not None:
        evidence.append(f"{fault.file}, offset {fault.offset:#x}{f': {fault.code}' if fault.code else ''}")
    verify = run_python(context, _EXAMPLE)
    if short is not None:
        verify = show_files(short)
    elif fault is not None and fault.file is not None and fault.code:
        verify = _disassemble(context, fault, fault.file)
    cause = f"{_name_file(context, short)} is truncated" if short is not None else _describe_cause(context, runtime)
    return _SAY.error(
        f"{runtime.signal} killed the interpreter during {runtime.during or 'its operations'}: {cause}",
        evidence=(*evidence, f"CPU level: {context.facts.cpu.level or 'unknown'}", f"core: {ran}"),
        remedy=_make_remedy(context, runtime, short),
        verify=verify,
    )


def _describe_cause(context: CheckContext, runtime: Runtime) -> str:
    meaning, fault = _MEANING.get(runtime.signal, "the operation cannot be used"), runtime.fault
    if fault is None:
        return meaning
    if fault.file is None:
        return f"{meaning}; it struck outside every file" if runtime.signal != "SIGILL" else _ASTRAY
    if not fault.instruction and not fault.features:
        return f"{meaning}, in {_name_file(context, fault.file)}"
    instruction = f"`{fault.instruction}`" if fault.instruction else "an instruction"
    return f"{instruction} in {_name_file(context, fault.file)} {_judge_instruction(context, fault)}"


def _find_truncated_file(context: CheckContext, runtime: Runtime) -> PurePath | None:
    """Find the file that a SIGBUS is due to; if the process could not tell, one that RECORD has with another size."""
    if runtime.signal != "SIGBUS":
        return None
    told = runtime.fault.truncated if runtime.fault is not None else ()
    site_packages = context.facts.interpreter.site_packages
    recorded = (site_packages / path for owner in context.facts.stack.owners for path in owner.mismatched)
    return next(iter((*told, *(path for path in recorded if ".so" in path.name))), None)


def _judge_instruction(context: CheckContext, fault: Fault) -> str:
    """Judge an instruction that the processor refused."""
    lacking = [feature for feature in fault.features if feature not in context.facts.cpu.flags]
    if lacking:
        return f"needs {' and '.join(lacking)}, which this CPU lacks"
    if fault.features:
        return f"needs {' and '.join(fault.features)}, which this CPU has, but which is masked or emulated away"
    return "ends the program on purpose" if fault.instruction.startswith("ud") else "is refused by this CPU"


def _name_file(context: CheckContext, path: PurePath) -> str:
    """Name a file by its place in the target's site-packages, or in full if it lies elsewhere."""
    site_packages = context.facts.interpreter.site_packages
    return str(path.relative_to(site_packages) if path.is_relative_to(site_packages) else path)


def _disassemble(context: CheckContext, fault: Fault, file: PurePath) -> str:
    """Show the instruction by its offset in the file, which is not its address in the program."""
    end = fault.offset + (len(fault.code) // _DIGITS_OF_A_BYTE or _LONGEST)
    code = architecture_of(context.facts.cpu.architecture).objdump
    options = f"-D -b binary {code} --start-address={fault.offset:#x} --stop-address={end:#x}"
    return show("objdump", *options.split(), file, "|", "grep", f"{fault.offset:x}:")


def _make_remedy(context: CheckContext, runtime: Runtime, short: PurePath | None) -> Remedy:
    file = short or (runtime.fault.file if runtime.fault is not None else None)
    if file is not None and packages_of(file) is None and not _BASE.fullmatch(file.name):
        return Remedy(text=f"{file} is not part of PIL: replace it with one that works, or remove it")
    if runtime.signal == "SIGILL":
        return offer_setup(context, "set up the stack for this CPU", "--level", "auto")
    return offer_repair(context)


def _reproduce(operation: str) -> str:
    """Return a line of Python that fails as the operation did, for the kinds that fail most."""
    if operation.startswith(_IMPORT):
        return f"import PIL.{operation.removeprefix(_IMPORT)}"
    kind = operation.partition("-")[0]
    if kind in _FORMATS:
        return f"import io; from PIL import Image; Image.new('RGB', (99, 99)).save(io.BytesIO(), '{kind}')"
    return _EXAMPLE

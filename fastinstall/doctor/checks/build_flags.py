"""Whether the imaging core was compiled with optimisation, and what the binary records of its build.

- error: built at -O0. The command of many guides, `CFLAGS="-mavx2" pip install pillow-simd`, gives such a build:
  setuptools 75.7 and later let CFLAGS replace the interpreter's own -O3. The build is slower than stock Pillow.
- unknown: the binary does not show whether it was optimised.

The check counts functions that begin with the frame set-up of an unoptimised build. At -O0 all functions do, at -O3
almost none. If the compiler recorded -O2 or more, such frames only mean that frame pointers were requested. If there
are copies for CPU levels, each copy is checked, since another CPU may load another copy. The evidence includes the
receipt's record of the build.

Why it matters:
An unoptimised build with all its SIMD kernels was 8 times slower than an optimised one. Its Lanczos filter was 2.5
times slower than stock Pillow's (measured 2026-11-21). Such a build passes every usual check: version, features,
libraries.

How to fix it:
Build with all flags, `CFLAGS="-O3 -DNDEBUG -fwrapv -march=x86-64-v3"`, or add a flag to the compiler instead, `CC="cc
-mavx2"`. Give pip `--no-cache-dir`, or it reuses an earlier wheel that was built with other flags. uv needs
`--no-cache` for the same reason, unless a `-C` setting changed. `fastinstall setup` sets the flags itself, and checks
the result.
"""

from collections.abc import Iterator

from fastinstall.core.architecture import SUPPORTED, architecture_of
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import explain_no_core, list_whole_copies, name_core_copy
from fastinstall.doctor.remedies import count_frames, offer_repair
from fastinstall.elf.description import ImagingCore
from fastinstall.model.finding import Finding

_UNOPTIMISED = 0.5
_GOOD = frozenset({"-O2", "-O3", "-Os", "-Ofast"})


def check(context: CheckContext) -> Iterator[Finding]:
    """Check how the core, or every copy of it, was compiled."""
    core = context.readable_core
    if core is None:
        yield Finding.skipped(explain_no_core(context.facts))
    elif not architecture_of(context.facts.cpu.architecture).supported:
        here = context.facts.cpu.architecture
        yield Finding.skipped(f"the signs of optimisation are known for {SUPPORTED} only, not {here}")
    else:
        yield from tuple(_judge(context, core)) or (_report_optimised(context, core),)


def _judge(context: CheckContext, core: ImagingCore) -> Iterator[Finding]:
    """Report the core, or each copy of it, if it was built without optimisation or does not show how it was built.

    Recorded compiler switches, which are known only for the loaded file, override the count of functions that begin
    with a frame set-up.
    """
    told = _describe_provenance(context, core)
    codes = [("the core", core.path, core.unoptimised_share, True)]
    if core.levels:
        named = ((f"{name_core_copy(core, copy)} of the core", copy) for copy in list_whole_copies(core))
        codes = [(name, copy.path, copy.unoptimised_share, copy.loaded) for name, copy in named]
    for name, path, share, is_loaded in codes:
        if is_loaded and _is_recorded_good(core):
            continue
        evidence = told if is_loaded else (str(path), *_describe_frames(share))
        verify = count_frames(context, path)
        if share is None:
            yield Finding.unknown(f"{name} does not show whether it was optimised", evidence=evidence, verify=verify)
        elif share > _UNOPTIMISED:
            message = f"{name} was built without optimisation (-O0): slower than stock Pillow, despite its kernels"
            yield Finding.error(message, evidence=evidence, remedy=offer_repair(context), verify=verify)


def _report_optimised(context: CheckContext, core: ImagingCore) -> Finding:
    evidence, verify = _describe_provenance(context, core), count_frames(context, core.loaded_file)
    if core.levels:
        return Finding.ok("every copy of the core was compiled with optimisation", evidence=evidence, verify=verify)
    source = ", according to its recorded switches" if _is_recorded_good(core) else ""
    return Finding.ok(f"the core was compiled with optimisation{source}", evidence=evidence, verify=verify)


def _describe_provenance(context: CheckContext, core: ImagingCore) -> tuple[str, ...]:
    """Return evidence of how the core on disk was built: what the binary records, and what the receipt records."""
    told = [str(core.path), *_describe_frames(core.unoptimised_share)]
    if core.isa_note:
        told.append(f"declared CPU level: {core.isa_note}")
    if core.switches:
        told.append(f"recorded switches: {' '.join(core.switches)}")
    receipt = context.own_receipt
    if receipt is not None:
        built = f"built by fastinstall {receipt.tool_version} from {receipt.source_version}"
        told.append(f"{built} for {', '.join(receipt.levels)}")
        told.append(f"set up: {receipt.created_at}, out of {receipt.wheel}")
    return tuple(told)


def _describe_frames(share: float | None) -> tuple[str, ...]:
    return () if share is None else (f"functions with an unoptimised frame set-up: {share:.0%}",)


def _is_recorded_good(core: ImagingCore) -> bool:
    words = {word for entry in core.switches for word in entry.split()}
    return bool(words & _GOOD) and "-O0" not in words

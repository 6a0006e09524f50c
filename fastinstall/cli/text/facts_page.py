"""Format the main facts about the environment, the machine and the installed PIL as text; --json prints all facts."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from fastinstall.cli.console import SHOWN, Page, join_lines
from fastinstall.core.architecture import architecture_of
from fastinstall.elf.cpu import Cpu, select_level_features
from fastinstall.elf.description import BuildTraces, Confidence, LoadedLibrary
from fastinstall.model.facts import Facts
from fastinstall.model.machine import Gpu

_DETAIL = re.compile(
    "libc|pip|channels|headers|gpu driver|built for|core|core for|SIMD symbols|compiled by|loads with|packaged as|"
    "CPU needed|running core|features|openjpeg|zlib|tiff|lcms2|freetype|webp|avif"
)
"""Names of the rows that are shown only with --verbose."""


def facts_text(facts: Facts, page: Page) -> str:
    """Return a line with name and value for each fact; without --verbose, only the main facts."""
    machine = (*_list_machine_rows(facts), *_list_gpu_rows(facts.gpu))
    rows = [*_list_environment_rows(facts), *_list_conda_rows(facts, page), *machine, *_list_stack_rows(facts)]
    rows = [row for row in rows if page.verbose or not _DETAIL.fullmatch(row[0])]
    width = max(len(name) for name, _ in rows) + 2
    shown = (page.lines(value, first=f"{name:<{width}}", rest=" " * width) for name, value in rows)
    return join_lines(chain.from_iterable(shown))


def _list_environment_rows(facts: Facts) -> Iterator[tuple[str, str]]:
    python = facts.interpreter
    yield "environment", f"{facts.environment.prefix} ({facts.environment.kind})"
    threads = ", free-threaded" if python.free_threaded else ""
    yield "python", f"{python.implementation} {python.version} ({python.abi}{threads}), {python.executable}"
    yield "libc", f"{python.libc} {python.libc_version}"
    yield "pip", python.pip_version or "none inside (fastinstall brings its own)"
    if python.externally_managed:
        yield "externally managed", str(python.externally_managed)


def _list_conda_rows(facts: Facts, page: Page) -> Iterator[tuple[str, str]]:
    """Yield rows on conda's data about the environment; none if it is not a conda environment."""
    conda = facts.conda
    if conda is None:
        return
    base = ", conda's own (base)" if conda.is_base else ""
    yield "conda packages", f"{len(conda.packages)}{base}"
    if conda.tool is not None:
        tool, solver = conda.tool, f", {conda.tool.solver} solver" if conda.tool.solver else ""
        yield "conda", f"{tool.version or 'version unknown'}{solver}, {' '.join(tool.command)} (by {tool.found_by})"
    claimants = {claim.dist for claim in conda.claims}
    for package in conda.packages:
        if package.dist in claimants:
            yield "conda package", f"{package.dist}{f' ({package.channel})' if package.channel else ''}"
    for claim in conda.claims:
        if claim.missing or claim.altered:
            yield "not as recorded", f"{claim.dist}: {_shorten_items((*claim.missing, *claim.altered), page)}"
    clashes: dict[str, list[str]] = {}
    for clash in conda.clashes:
        holder = f"content of {clash.holder}" if clash.holder else "content matches none of them"
        clashes.setdefault(f"by {' and '.join(clash.claimants)}; {holder}", []).append(clash.path)
    for parties, paths in clashes.items():
        yield "claimed twice", f"{_shorten_items(paths, page)} {parties}"
    yield from (("unreadable", f"{name}: {reason}") for name, reason in sorted(conda.unreadable.items()))
    lists = {"pinned": conda.pins, "channels": conda.channels, "stale": conda.stale, "left over": conda.debris}
    yield from ((name, _shorten_items(items, page)) for name, items in lists.items() if items)


def _shorten_items(items: Sequence[str], page: Page) -> str:
    """Join items with commas; without --verbose, only the first few and the number of the others."""
    shown = items if page.verbose else items[:SHOWN]
    more = f" and {len(items) - len(shown)} more" if len(shown) < len(items) else ""
    return ", ".join(shown) + more


def _list_machine_rows(facts: Facts) -> Iterator[tuple[str, str]]:
    cpu = facts.cpu
    yield "cpu", f"{cpu.name or cpu.architecture} ({cpu.vendor or 'vendor unknown'})"
    hidden = f", with {cpu.tunables}" if cpu.tunables else ""
    yield "level", f"{cpu.level or 'none'} (by {cpu.level_source or 'nothing'}{hidden})"
    if cpu.executed is not None:
        yield "cpuid", _compare_cpuid(cpu, cpu.executed)
    quota = f", quota {cpu.quota:g}" if cpu.quota is not None else ""
    virtual = ", virtual machine" if cpu.hypervisor else ""
    yield "cores", f"{cpu.cores}{quota}{virtual}"
    toolchain = facts.toolchain
    if toolchain is None:
        return
    compiler = toolchain.compiler
    yield "compiler", f"{' '.join(compiler.command)}: {compiler.version}" if compiler else "none"
    found = [library.name for library in toolchain.libraries if library.include is not None]
    absent = [library.name for library in toolchain.libraries if library.include is None]
    yield "headers", f"{', '.join(found) or 'none'}" + (f"; missing: {', '.join(absent)}" if absent else "")


def _compare_cpuid(cpu: Cpu, executed: Sequence[str]) -> str:
    """Say whether the CPUID instruction and the kernel agree on the CPU features that CPU levels require."""
    shown = select_level_features(architecture_of(cpu.architecture), cpu.flags)
    hidden = [flag for flag in executed if flag not in shown]
    lacking = [flag for flag in shown if flag not in executed]
    also = f"the CPU also has {', '.join(hidden)}, hidden by the kernel (clearcpuid=, noxsave) or a sandbox"
    less = f"the CPU lacks {', '.join(lacking)}, which the kernel shows: it is emulated"
    differences = [text for names, text in ((hidden, also), (lacking, less)) if names]
    return "; ".join(differences) or f"the same {len(executed)} features of CPU levels as the kernel shows"


def _list_gpu_rows(gpu: Gpu | None) -> Iterator[tuple[str, str]]:
    """Yield rows on the GPUs, their driver, and the GPU platforms that installed frameworks were built for."""
    if gpu is None:
        return
    for device in gpu.devices:
        known = f", compute capability {device.capability}" if device.capability else ""
        size = f", {device.memory_bytes / (1 << 30):.0f} GiB" if device.memory_bytes else ""
        yield "gpu", f"{device.name}{known}{size} (by {gpu.found_by})"
    if gpu.present:
        offered = f", offers CUDA {gpu.driver_cuda}" if gpu.driver_cuda else ""
        library = f", library {gpu.library or gpu.libcuda}" if gpu.library or gpu.libcuda else ", no library"
        yield "gpu driver", f"{gpu.driver or 'not loaded'}{offered}{library}"
    if gpu.problem:
        yield "gpu problem", gpu.problem
    for build in gpu.frameworks:
        kinds = {"CUDA": build.cuda, "ROCm": build.rocm, "XPU": build.xpu}
        platforms = ", ".join(f"{name} {version}" for name, version in kinds.items() if version)
        usual = "the CPU" if build.known else "it does not say"
        yield "built for", f"{build.name} {build.version}: {platforms or usual}"


def _list_stack_rows(facts: Facts) -> Iterator[tuple[str, str]]:
    stack = facts.stack
    owners = [f"{owner.distribution.name} {owner.distribution.version}" for owner in stack.owners]
    yield "PIL", f"{stack.version or 'none'}" + (f", owned by {', '.join(owners)}" if owners else "")
    yield from (("not used", shadow.sentence) for shadow in facts.shadows)
    if stack.core is not None:
        yield "core", f"{stack.core.path}" + (f" ({stack.core.problem})" if stack.core.problem else "")
        for number, copy in enumerate(stack.core.levels):
            state = copy.problem or ("loaded here" if copy.loaded else "not loaded here")
            kernels = "" if copy.problem else f", {len(copy.simd_symbols)} SIMD symbols"
            baseline = " as baseline" if number == 0 and copy.level != "baseline" else ""
            yield "core for", f"{copy.level}{baseline}: {state}{kernels}, {copy.path}"
        yield "SIMD symbols", ", ".join(stack.core.simd_symbols) or "none"
        if stack.core.build_traces is not None:
            yield from _list_compiler_rows(stack.core.build_traces)
        if facts.linkage is None:
            libraries = (library for library in stack.core.libraries if library.implementation)
            yield from (("jpeg", _format_library(library)) for library in libraries)
        for codec in facts.linkage.codecs if facts.linkage is not None else ():
            yield codec.kind, f"{_format_library(codec.library)}{' (linked in)' if codec.inside else ''}"
        for scan in facts.isa:  # CPU features that the code of each file requires
            sure = "" if scan.confidence is Confidence.CERTAIN else f" ({scan.confidence})"
            if scan.requires:
                yield "CPU needed", f"{', '.join(scan.requires)}{sure}, by {scan.path}"
    if facts.runtime is not None:
        yield "features", ", ".join(sorted(facts.runtime.features)) or "none"
        if facts.runtime.core:
            yield "running core", facts.runtime.core
    yield "guard", "installed" if facts.guard.installed else "not installed"


def _format_library(library: LoadedLibrary) -> str:
    simd = {True: ", SIMD", False: ", no SIMD", None: ""}[library.simd]
    return f"{library.implementation} {library.version}".strip() + f"{simd}, {library.path}"


def _list_compiler_rows(traces: BuildTraces) -> Iterator[tuple[str, str]]:
    yield "compiled by", ", ".join(traces.compilers) or "unknown"
    names = "symbols stripped" if traces.stripped else "symbols not stripped"
    yield "loads with", f"glibc {traces.glibc} or later, {names}" if traces.glibc else names
    if traces.package:
        yield "packaged as", ", ".join(f"{key} {value}" for key, value in sorted(traces.package.items()))

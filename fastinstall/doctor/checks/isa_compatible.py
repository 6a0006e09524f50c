"""Whether this CPU, and others that are named, have what the machine code of PIL's extension modules asks for.

- error: code that this CPU would load requires features that it lacks; they and the files are named. Where those
  only give wrong results (LZCNT, which older CPUs run as BSR), that is said. Or: a file declares a level that the CPU
  lacks, and the loader refuses it. Or: a copy of the core that a wheel holds for a CPU level requires more than such
  CPUs have; they would load it, and die. With `--host-flags FILE` other machines are judged too, each by name.
- hint: not decoded. Then a file's own note and its recorded compiler switches are all that is known; with the extra
  `isa` (iced-x86) the instructions themselves are looked at.
- unknown: the CPU's features, or what the code needs, could not be told.

Code that asks the CPU first (CPUID, IFUNC, `__cpu_model`) and chooses among its functions requires only what runs
unasked; what it chooses among is contained, and lacking that is fine. Which is which is told from who calls whom: it is
likely, not certain, and choices that are passed on as arguments are not seen. TZCNT, PAUSE, PREFETCHW, ENDBR and
no-operations of several bytes prove nothing: CPUs that lack them pass over them. Libraries beside PIL are not judged.

Why it matters:
A module can be imported on a CPU that cannot run it. Of four builds on six emulated CPUs each was imported, and in 15
of the 24 cases Python died of SIGILL at the first operation that used an instruction which the CPU lacks (measured
2026-11-21): on a cluster, that may be some hours into the work, on some of the machines.

How to fix it:
`fastinstall setup --level auto` builds for this CPU, `--levels x86-64-v2,x86-64-v3` one wheel in which each CPU finds
its own copy. Where no level suits a CPU, stock Pillow does.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum

from fastinstall.core.values import immutable
from fastinstall.doctor.check_context import CheckContext, FindingFactory, listing
from fastinstall.doctor.owners import loaded_copy, name_core_copy, whole_copies
from fastinstall.doctor.remedies import repair, setup, show_cpu, show_files, show_note, stock
from fastinstall.elf.cpu_levels import find_offered_level, knows_levels, level_of, list_level_features, rank
from fastinstall.elf.description import Confidence, CoreLevel, Cpu, ImagingCore, IsaScan
from fastinstall.model.finding import Finding, Remedy

_PATTERNS = {
    "cx16": "cmpxchg16b",
    "popcnt": "popcnt",
    "pni": "lddqu|h(add|sub)p|mov(sh|sl|d)dup|addsubp|fisttp",
    "ssse3": "pshufb|palignr|ph(add|sub)|pmaddubsw|pabs[bwd]|psign|pmulhrsw",
    "sse4_1": "pmov[sz]x|pmulld|pblend|blendv?p|ptest|round[sp][sd]|p(ext|ins)r[bdq]|pm(in|ax)(sb|sd|uw|ud)|packusdw",
    "sse4_2": "pcmp[ei]str|pcmpgtq|crc32",
    "avx": "%[xy]mm[0-9]+,%[xy]mm[0-9]+,%[xy]mm",
    "avx2": "%ymm",
    "bmi1": "andn|bextr|bls(i|r|msk)",
    "bmi2": "mulx|pext|pdep|[sr](ar|hl|hr|or)x|bzhi",
    "f16c": "vcvtp[hs]2p[hs]",
    "fma": "vfn?m(add|sub)",
    "abm": "lzcnt",
    "movbe": "movbe",
    "aes": "aes(enc|dec|imc|key)",
    "pclmulqdq": "pclmul",
    "sha_ni": "sha(1|256)",
}


def show_features(scan: IsaScan, features: Collection[str]) -> str:
    """Count the instructions of a file that need some features, by their disassembly (`objdump` of binutils)."""
    patterns = (_PATTERNS.get(feature, "%zmm|%k[1-7]" if feature.startswith("avx512") else "") for feature in features)
    wanted = "|".join(dict.fromkeys(filter(None, patterns)))
    listed = shlex.join(("objdump", "-d", str(scan.path)))
    return f"{listed} | {shlex.join(('grep', '-cE', wanted))}" if wanted else listed


@immutable
class TargetCpu:
    """A CPU that code is judged for.

    Attributes:
        subject: how a sentence calls it: "this CPU", "the host node7".
        cpu: its processor.
        here: whether it is this machine's.
    """

    subject: str
    cpu: Cpu
    here: bool


def taken_copy(context: CheckContext, target_cpu: TargetCpu) -> CoreLevel | None:
    """Give the copy of the core that a CPU's loader would take; None if there are no copies, or none that is."""
    core, python = context.facts.stack.core, context.facts.interpreter
    if core is None:
        return None
    if target_cpu.here:
        return loaded_copy(core)
    return choose_core_for_cpu(core, target_cpu.cpu, knows_levels=knows_levels(python.libc, python.libc_version))


def name_of(context: CheckContext, scan: IsaScan) -> str:
    """Name a file for a person: "the core", "the copy for x86-64-v3 of the core", "_webp.cpython-311...so"."""
    core = context.facts.stack.core
    if core is None:
        return scan.path.name
    if scan.path == core.path:
        return "the core"
    for copy in core.levels:
        if copy.path == scan.path:
            return f"{name_core_copy(core, copy)} of the core"
    return scan.path.name


MACHINE = "x86_64"


class CpuOutcome(StrEnum):
    """What becomes of a file's code on a CPU."""

    RUNS = "runs"
    WRONG = "computes wrongly"
    DIES = "dies"
    REFUSED = "is refused"
    UNTOLD = "cannot be told"


@immutable
class FileVerdict:
    """What becomes of one file on one CPU.

    Attributes:
        scan: of the file.
        outcome: what happens.
        lacking: features that it requires and the CPU has not, those of `silent` included.
        silent: those whose absence gives wrong results instead of a signal.
    """

    scan: IsaScan
    outcome: CpuOutcome
    lacking: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def judge(scan: IsaScan, cpu: Cpu) -> FileVerdict:
    """Say what becomes of a file's code on a CPU.

    A loader of glibc 2.33 or later refuses a file whose declared level the CPU lacks. Else code dies at the
    first instruction that the CPU does not know; where all that is lacking is taken for other instructions, it
    goes on with wrong results.
    """
    if scan.problem or cpu.architecture != MACHINE or not (cpu.flags or rank(cpu.level)):
        return FileVerdict(scan=scan, outcome=CpuOutcome.UNTOLD)
    lacking = tuple(feature for feature in scan.requires if cpu.flags and feature not in cpu.flags)
    silent = tuple(feature for feature in lacking if feature in scan.silent)
    if rank(scan.declared) > rank(find_offered_level(cpu)):
        outcome = CpuOutcome.REFUSED
    elif len(lacking) > len(silent):
        outcome = CpuOutcome.DIES
    elif silent:
        outcome = CpuOutcome.WRONG
    else:
        outcome = CpuOutcome.RUNS if _is_told(scan, cpu) else CpuOutcome.UNTOLD
    return FileVerdict(scan=scan, outcome=outcome, lacking=lacking, silent=silent)


def find_features_beyond_level(scan: IsaScan, level: str) -> tuple[str, ...]:
    """What a file requires and CPUs of a level need not have."""
    return tuple(feature for feature in scan.requires if feature not in list_level_features(level))


def choose_core_for_cpu(core: ImagingCore, cpu: Cpu, *, knows_levels: bool) -> CoreLevel | None:
    """Return the copy of a core that a CPU's loader takes, or None if it has no copies.

    Args:
        core: the core.
        cpu: the processor; its level is what its loader goes by.
        knows_levels: whether the C library there is one that looks for copies by level.
    """
    if not core.levels:
        return None
    limit = rank(cpu.level or level_of(cpu.flags)) if knows_levels else 0
    fitting = [copy for copy in core.levels[1:] if 0 < rank(copy.level) <= limit]
    return max(fitting, key=lambda copy: rank(copy.level), default=core.levels[0])


def _is_told(scan: IsaScan, cpu: Cpu) -> bool:
    """Whether nothing that would be lacking can have been overlooked."""
    if scan.confidence is Confidence.UNVERIFIED and scan.level is None:
        return False
    return bool(cpu.flags) or not scan.requires


NAME = "isa-compatible"
SUMMARY = "What the code requires of a CPU against what this one has, and other hosts."
NEEDS_RUNTIME = False
ORDER = 90
VERIFIES_SETUP = True
SETUP_REPAIRS = True

_SAY = FindingFactory(NAME)
_EXTRA = "fastinstall[isa]"
_EFFECTS = {
    CpuOutcome.REFUSED: "the loader refuses it",
    CpuOutcome.DIES: "it dies of SIGILL at the first operation that uses it",
    CpuOutcome.WRONG: "it does not die there, it gives wrong results",
}
_SURE = {Confidence.CERTAIN: "", Confidence.LIKELY: "probably ", Confidence.UNVERIFIED: "by its own word "}


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the code for this CPU, for those that its copies are there for, and for other hosts."""
    if not context.facts.isa:
        yield _SAY.skipped("no code of PIL was looked at")
        return
    yield from _judge_target_cpu(context, TargetCpu(subject="this CPU", cpu=context.facts.cpu, here=True))
    yield from _report_misplaced(context)
    for host in context.hosts:
        yield from _judge_target_cpu(context, TargetCpu(subject=f"the host {host.name}", cpu=host.cpu, here=False))


def _judge_target_cpu(context: CheckContext, target_cpu: TargetCpu) -> Iterator[Finding]:
    """Judge what the CPU's loader would take: of a core with copies only one."""
    core, taken = context.facts.stack.core, taken_copy(context, target_cpu)
    passed = {copy.path for copy in core.levels if copy != taken} if core is not None else ()
    scans = tuple(scan for scan in context.facts.isa if scan.path not in passed)
    verdicts = [judge(scan, target_cpu.cpu) for scan in scans]
    found = {verdict.outcome for verdict in verdicts}
    for outcome in _EFFECTS:
        if outcome in found:
            alike = [verdict for verdict in verdicts if verdict.outcome is outcome]
            yield _report_fatal(context, target_cpu, outcome, alike)
    if found.isdisjoint(_EFFECTS):
        yield _report_bearable(context, target_cpu, scans)


def _report_fatal(
    context: CheckContext, target_cpu: TargetCpu, outcome: CpuOutcome, verdicts: list[FileVerdict]
) -> Finding:
    lacking = _join_names(feature for verdict in verdicts for feature in verdict.lacking)
    first, offered = verdicts[0].scan, find_offered_level(target_cpu.cpu)
    files, s = _name_files(context, verdicts), "s" if len(verdicts) == 1 else ""
    if outcome is CpuOutcome.REFUSED:
        declared = max((verdict.scan.declared or "" for verdict in verdicts), key=rank)
        what = f"{target_cpu.subject} offers {offered}, and {files} declare{s} to need {declared}"
        verify = show_note(first.path)
    else:
        sure = _SURE[first.confidence] if len({each.scan.confidence for each in verdicts}) == 1 else ""
        what = f"{target_cpu.subject} lacks {lacking}, which {files} {sure}require{s}"
        verify = show_features(first, verdicts[0].lacking)
    return _SAY.error(
        f"{what}: {_EFFECTS[outcome]}",
        evidence=listing(tuple(line for verdict in verdicts for line in _list_evidence(verdict.scan))),
        expected=f"nothing beyond {offered or 'what that CPU has'}",
        observed=lacking or str(first.declared),
        remedy=_make_remedy(context, target_cpu),
        verify=verify,
    )


def _name_files(context: CheckContext, verdicts: list[FileVerdict]) -> str:
    first, *others = (name_of(context, verdict.scan) for verdict in verdicts)
    return first if not others else f"{first} and {others[0] if len(others) == 1 else f'{len(others)} others'}"


def _report_bearable(context: CheckContext, target_cpu: TargetCpu, scans: tuple[IsaScan, ...]) -> Finding:
    subject, cpu = target_cpu.subject, target_cpu.cpu
    if cpu.architecture != MACHINE:
        return _SAY.skipped(f"{subject} is {cpu.architecture or 'unknown'}: only x86-64 has levels to judge")
    if not cpu.flags:
        told = (line for scan in scans if scan.requires or scan.problem for line in _list_evidence(scan))
        return _SAY.unknown(
            f"the features of {subject} could not be told",
            evidence=listing(tuple(told)),
            verify=show_cpu() if target_cpu.here else show_features(scans[0], scans[0].requires),
        )
    unread = [scan for scan in scans if scan.problem]
    if unread:
        return _SAY.unknown(
            f"what {_join_names(scan.path.name for scan in unread)} asks of a CPU could not be told",
            evidence=listing(tuple(f"{scan.path}: {scan.problem}" for scan in unread)),
            verify=show_files(unread[0].path),
        )
    unverified = [scan for scan in scans if scan.confidence is Confidence.UNVERIFIED]
    if unverified:
        return _report_unverified(context, target_cpu, unverified)
    return _report_success(context, target_cpu, scans)


def _report_success(context: CheckContext, target_cpu: TargetCpu, scans: tuple[IsaScan, ...]) -> Finding:
    required = _join_names(feature for scan in scans for feature in scan.requires)
    level = max((scan.level or "" for scan in scans), key=rank, default="")
    what = f"what the code requires ({required})" if required else "all that the code requires, no more than any x86-64"
    core, copy = context.facts.stack.core, taken_copy(context, target_cpu)
    loads = f", of which it loads {name_core_copy(core, copy)}" if copy is not None and core is not None else ""
    return _SAY.ok(
        f"{target_cpu.subject} has {what}{loads}",
        evidence=listing(tuple(line for scan in scans for line in _describe_shares(scan)))
        or (f"level: {level or 'none'}",),
        verify=show_features(scans[0], scans[0].requires) if scans and scans[0].requires else "",
    )


def _report_unverified(context: CheckContext, target_cpu: TargetCpu, unread: list[IsaScan]) -> Finding:
    claims = _join_names(scan.level or "" for scan in unread if scan.level)
    known = f"by its own word it needs {claims}" if claims else "the files say nothing of it"
    return _SAY.hint(
        f"what the code asks of {target_cpu.subject} is unverified: not decoded, and {known}",
        evidence=listing(tuple(f"{scan.path}: {scan.evidence[-1] if scan.evidence else 'unread'}" for scan in unread)),
        remedy=Remedy(
            text="have the code decoded; that needs an extra beside fastinstall",
            command=shlex.join((str(context.facts.tool_prefix / "bin/python"), "-m", "pip", "install", _EXTRA)),
        ),
        verify=show_note(unread[0].path),
    )


def _report_misplaced(context: CheckContext) -> Iterator[Finding]:
    """Copies that ask for more than the CPUs have which they are there for."""
    core, receipt = context.facts.stack.core, context.receipt if context.core_is_ours else None
    scans = {scan.path: scan for scan in context.facts.isa}
    if core is None:
        return
    for copy in whole_copies(core):
        level, scan = copy.level, scans.get(copy.path)
        if copy == core.levels[0]:  # what the baseline declares, else what it was built for
            built_for = receipt.levels[0] if receipt is not None else ""
            level = copy.isa_note if copy.isa_note is not None else built_for
        excess = find_features_beyond_level(scan, level) if scan is not None and rank(level) else ()
        if scan is not None and excess:
            yield _SAY.error(
                f"{name_core_copy(core, copy)} requires {_join_names(excess)}, beyond {level}: CPUs of "
                f"that level load it, and die",
                evidence=_list_evidence(scan),
                expected=f"nothing beyond {level}",
                observed=_join_names(excess),
                remedy=repair(context),
                verify=show_features(scan, excess),
            )


def _make_remedy(context: CheckContext, target_cpu: TargetCpu) -> Remedy:
    limit = rank(find_offered_level(target_cpu.cpu))
    levels = [level.name for level in context.recipe.levels if 0 < rank(level.name) <= limit]
    if not levels and not target_cpu.here:
        return Remedy(text=f"no level suits {target_cpu.subject}: stock Pillow does, in an environment of its own")
    if not levels:
        return stock(context)
    if target_cpu.here:
        return setup(context, "set up the stack for this CPU", "--level", "auto")
    least, core = min(levels, key=rank), context.facts.stack.core
    there = [copy.level for copy in core.levels if rank(copy.level) > rank(least)] if core is not None else []
    wanted = ",".join(dict.fromkeys((least, *(there or _find_best_level(context)))))
    return setup(context, f"build one wheel for {target_cpu.subject} and this CPU", "--levels", wanted)


def _find_best_level(context: CheckContext) -> list[str]:
    """The level that a setup would choose for this CPU."""
    limit = rank(find_offered_level(context.facts.cpu))
    chosen = [level.name for level in context.recipe.levels if level.automatic and 0 < rank(level.name) <= limit]
    return sorted(chosen, key=rank)[-1:]


def _list_evidence(scan: IsaScan) -> tuple[str, ...]:
    requires = f"requires {', '.join(scan.requires) or 'no more than any x86-64'} ({scan.confidence.value})"
    return (f"{scan.path}: {scan.problem or requires}", *scan.evidence)


def _describe_shares(scan: IsaScan) -> tuple[str, ...]:
    if not scan.shares:
        return ()
    shares = ", ".join(f"{feature} {scan.shares[feature]:.2%}" for feature in scan.requires if feature in scan.shares)
    chosen = f"; chosen by itself: {', '.join(scan.contains)}" if scan.contains else ""
    return (f"{scan.path}: {scan.instructions} instructions, {shares or 'none beyond x86-64-v1'}{chosen}",)


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))

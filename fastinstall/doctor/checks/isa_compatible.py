"""Whether this CPU, and the CPUs of other hosts, have the features that the code requires.

- error: code that would run on this CPU requires features that the CPU lacks; the message names features and files.
  If certain features are lacking, code does not crash but gives wrong results (LZCNT, which older CPUs run as BSR); the
  message then says so. Or a file declares a level that the CPU lacks, so the loader refuses the file. Or a copy of the
  core requires features that not all CPUs of its level have: some CPUs would load the copy and crash. With
  `--host-flags FILE` other machines are checked too, each by name.
- hint: the code was not decoded, so that only a file's own note and its recorded compiler switches are known. With the
  extra `isa` (iced-x86) the instructions themselves are read.
- unknown: the CPU's features, or those that the code requires, could not be determined.

Some code queries the CPU first (CPUID, IFUNC, `__cpu_model`) and chooses among its functions. Such code requires only
the features of the functions that always run. Features of the optional functions may be missing. The check follows the
calls between functions to find out which are optional. The result is likely, not certain: if the choice is passed as an
argument, the check does not see it. TZCNT, PAUSE, PREFETCHW, ENDBR and multi-byte NOPs do not count, since CPUs without
them ignore them. Libraries besides PIL are not checked.

Why it matters:
A module can be imported on a CPU that cannot run it. Four builds on six emulated CPUs were all imported. In 15 of the
24 cases Python died of SIGILL, at the first operation that needed a missing feature (measured 2026-11-21). On a
cluster, that may happen on some machines only, hours after the start.

How to fix it:
`fastinstall setup --level auto` builds for this CPU. `--levels x86-64-v2,x86-64-v3` builds one wheel with a copy for
each level. If no level suits a CPU, use stock Pillow.
"""

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum

from fastinstall.core.architecture import SUPPORTED, architecture_of
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import list_whole_copies, name_core_copy
from fastinstall.doctor.remedies import offer_repair, offer_setup, offer_stock, show, show_cpu, show_files, show_note
from fastinstall.elf.cpu import Cpu, Host, find_offered_level, knows_levels, level_of, list_level_features, rank
from fastinstall.elf.description import Confidence, CoreLevel, ImagingCore, IsaScan
from fastinstall.model.finding import Finding, Remedy, shorten_evidence


class CpuOutcome(StrEnum):
    """The result of running a file's code on a CPU, as a verb phrase; `UNTOLD` if the result is unknown."""

    RUNS = "runs"
    WRONG = "computes wrongly"
    DIES = "dies"
    REFUSED = "is refused"
    UNTOLD = "cannot be told"


_Verdict = tuple[IsaScan, tuple[str, ...]]
"""A file, and the features that it requires and the CPU lacks."""
_EFFECTS = {
    CpuOutcome.REFUSED: "the loader refuses it",
    CpuOutcome.DIES: "it dies of SIGILL at the first operation that uses it",
    CpuOutcome.WRONG: "it does not crash, but gives wrong results",
}
_SURE = {Confidence.CERTAIN: "", Confidence.LIKELY: "probably ", Confidence.UNVERIFIED: "by its own declaration "}
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
    "atomics": "\\b(cas|swp|ld(add|clr|eor|set|[su](max|min)))",
    "asimddp": "[su]dot",
    "asimdrdm": "sqrdml[as]h",
    "i8mm": "mmla|usdot|sudot",
    "bf16": "bf(dot|mmla|mlal|cvt)",
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the code for this CPU, for the CPUs that its copies are built for, and for other hosts."""
    if not context.facts.isa:
        yield Finding.skipped("no code of PIL was looked at")
        return
    yield from _judge_host(context, Host(name="", cpu=context.facts.cpu))
    yield from _report_misplaced(context)
    for host in context.hosts:
        yield from _judge_host(context, host)


def judge(scan: IsaScan, cpu: Cpu) -> tuple[CpuOutcome, tuple[str, ...]]:
    """Return what happens if a CPU runs a file's code, and the required features that the CPU lacks.

    The loader of glibc 2.33 or later refuses a file that declares a level which the CPU lacks. Other code crashes at
    the first instruction that the CPU lacks. But if the CPU executes every such instruction as a different one, the
    code computes wrong results instead.
    """
    if scan.problem or not architecture_of(cpu.architecture).supported or not (cpu.flags or rank(cpu.level)):
        return CpuOutcome.UNTOLD, ()
    lacking = tuple(feature for feature in scan.requires if cpu.flags and feature not in cpu.flags)
    # If the code was not decoded and declares no level, `scan.requires` may be incomplete.
    unread = scan.confidence is Confidence.UNVERIFIED and scan.level is None
    if rank(scan.declared) > rank(find_offered_level(cpu)):
        return CpuOutcome.REFUSED, lacking
    if lacking:
        return CpuOutcome.WRONG if set(lacking) <= set(scan.silent) else CpuOutcome.DIES, lacking
    return CpuOutcome.UNTOLD if unread or (scan.requires and not cpu.flags) else CpuOutcome.RUNS, ()


def find_features_beyond_level(scan: IsaScan, level: str) -> tuple[str, ...]:
    """Return the features that a file requires and that are not part of a level."""
    return tuple(feature for feature in scan.requires if feature not in list_level_features(level))


def choose_core_for_cpu(core: ImagingCore, cpu: Cpu, *, knows_levels: bool) -> CoreLevel | None:
    """Return the copy of a core that the loader chooses on a CPU, or None if the core has no copies.

    Args:
        core: the present core, with its copies for levels.
        cpu: the processor, by whose level the loader chooses.
        knows_levels: whether that machine's C library searches for copies by level.
    """
    if not core.levels:
        return None
    limit = rank(cpu.level or level_of(cpu.flags)) if knows_levels else 0
    fitting = [copy for copy in core.levels[1:] if 0 < rank(copy.level) <= limit]
    return max(fitting, key=lambda copy: rank(copy.level), default=core.levels[0])


def _name_host(host: Host) -> str:
    return f"the host {host.name}" if host.name else "this CPU"


def _judge_host(context: CheckContext, host: Host) -> Iterator[Finding]:
    """Check the files that a host's loader would load; of the core's copies, only the one that it would choose."""
    here, there = (architecture_of(cpu.architecture) for cpu in (context.facts.cpu, host.cpu))
    if there.supported and here.machine != there.machine:
        yield Finding.skipped(
            f"{_name_host(host)} is {there.title}, and this code is for {here.title}: it needs its own"
        )
        return
    core, python, taken = context.facts.stack.core, context.facts.interpreter, None
    if core is not None and host.name:
        taken = choose_core_for_cpu(core, host.cpu, knows_levels=knows_levels(python.libc, python.libc_version))
    elif core is not None:
        taken = core.loaded_copy
    passed = {copy.path for copy in core.levels if copy != taken} if core is not None else ()
    scans = tuple(scan for scan in context.facts.isa if scan.path not in passed)
    fatal: dict[CpuOutcome, list[_Verdict]] = {outcome: [] for outcome in _EFFECTS}
    for scan in scans:
        outcome, lacking = judge(scan, host.cpu)
        if outcome in fatal:
            fatal[outcome].append((scan, lacking))
    yield from (_report_fatal(context, host, outcome, alike) for outcome, alike in fatal.items() if alike)
    if not any(fatal.values()):
        loads = f", of which it loads {name_core_copy(core, taken)}" if core is not None and taken is not None else ""
        yield _report_bearable(context, host, scans, loads)


def _report_fatal(context: CheckContext, host: Host, outcome: CpuOutcome, verdicts: list[_Verdict]) -> Finding:
    lacking, scans = _join_names(feature for _, lacks in verdicts for feature in lacks), [scan for scan, _ in verdicts]
    first, offered = scans[0], find_offered_level(host.cpu)
    files, s = _name_files(context, scans), "s" if len(scans) == 1 else ""
    if outcome is CpuOutcome.REFUSED:
        declared = max((scan.declared or "" for scan in scans), key=rank)
        what = f"{_name_host(host)} offers {offered}, and {files} declare{s} to need {declared}"
    else:
        sure = _SURE[first.confidence] if len({scan.confidence for scan in scans}) == 1 else ""
        what = f"{_name_host(host)} lacks {lacking}, which {files} {sure}require{s}"
    return Finding.error(
        f"{what}: {_EFFECTS[outcome]}",
        evidence=shorten_evidence(line for scan in scans for line in _list_evidence(context, scan)),
        expected=f"nothing beyond {offered or 'what that CPU has'}",
        observed=lacking or str(first.declared),
        remedy=_make_remedy(context, host),
        verify=show_note(first.path) if outcome is CpuOutcome.REFUSED else _count(first, verdicts[0][1]),
    )


def _name_files(context: CheckContext, scans: list[IsaScan]) -> str:
    """Return names for messages: "the core", "the copy for x86-64-v3 of the core", "_webp...so and 2 others"."""
    names, core = {}, context.facts.stack.core
    if core is not None:
        names = {copy.path: f"{name_core_copy(core, copy)} of the core" for copy in core.levels}
        names[core.path] = "the core"
    first, *others = (names.get(scan.path, scan.path.name) for scan in scans)
    return first if not others else f"{first} and {others[0] if len(others) == 1 else f'{len(others)} others'}"


def _report_bearable(context: CheckContext, host: Host, scans: tuple[IsaScan, ...], loads: str) -> Finding:
    subject, cpu = _name_host(host), host.cpu
    unread = [scan for scan in scans if scan.problem]
    unverified = [scan for scan in scans if scan.confidence is Confidence.UNVERIFIED]
    if not architecture_of(cpu.architecture).supported:
        return Finding.skipped(f"{subject} is {cpu.architecture or 'unknown'}: only {SUPPORTED} has levels to judge")
    if not cpu.flags:
        told = (line for scan in scans if scan.requires or scan.problem for line in _list_evidence(context, scan))
        return Finding.unknown(
            f"the features of {subject} are unknown",
            evidence=shorten_evidence(told),
            verify=_count(scans[0], scans[0].requires) if host.name else show_cpu(context),
        )
    if unread:
        return Finding.unknown(
            f"what {_join_names(scan.path.name for scan in unread)} requires of a CPU is unknown",
            evidence=shorten_evidence(f"{scan.path}: {scan.problem}" for scan in unread),
            verify=show_files(unread[0].path),
        )
    if unverified:
        return _report_unverified(context, subject, unverified)
    required = _join_names(feature for scan in scans for feature in scan.requires)
    level = max((scan.level or "" for scan in scans), key=rank, default="")
    least = f"all that the code requires, no more than any {architecture_of(host.cpu.architecture).title}"
    what = f"what the code requires ({required})" if required else least
    shares = tuple(_describe_shares(context, scan) for scan in scans if scan.shares)
    return Finding.ok(
        f"{subject} has {what}{loads}",
        evidence=shorten_evidence(shares) or (f"level: {level or 'none'}",),
        verify=_count(scans[0], scans[0].requires) if scans and scans[0].requires else "",
    )


def _report_unverified(context: CheckContext, subject: str, unread: list[IsaScan]) -> Finding:
    claims = _join_names(scan.level for scan in unread if scan.level)
    known = f"it declares that it needs {claims}" if claims else "the files do not declare it"
    install = show(context.facts.tool_prefix / "bin/python", "-m", "pip", "install", "fastinstall[isa]")
    return Finding.hint(
        f"what the code requires of {subject} is unverified: it was not decoded, and {known}",
        evidence=shorten_evidence(
            f"{scan.path}: {scan.evidence[-1] if scan.evidence else 'unread'}" for scan in unread
        ),
        remedy=Remedy(text="have the code decoded, which needs an extra of fastinstall", command=install),
        verify=show_note(unread[0].path),
    )


def _report_misplaced(context: CheckContext) -> Iterator[Finding]:
    """Report copies of the core that require features beyond their own level."""
    core, scans = context.facts.stack.core, {scan.path: scan for scan in context.facts.isa}
    if core is None:
        return
    for copy in list_whole_copies(core):
        level, scan = copy.level, scans.get(copy.path)
        if copy == core.levels[0]:  # the baseline's directory names no level: take the declared or recorded one
            level = copy.isa_note if copy.isa_note is not None else "".join(context.own_levels[:1])
        excess = find_features_beyond_level(scan, level) if scan is not None and rank(level) else ()
        if scan is not None and excess:
            yield Finding.error(
                f"{name_core_copy(core, copy)} requires {_join_names(excess)}, beyond {level}: CPUs of "
                "that level load it and crash",
                evidence=_list_evidence(context, scan),
                expected=f"nothing beyond {level}",
                observed=_join_names(excess),
                remedy=offer_repair(context),
                verify=_count(scan, excess),
            )


def _make_remedy(context: CheckContext, host: Host) -> Remedy:
    levels = context.recipe.levels
    fitting = [level.name for level in levels if 0 < rank(level.name) <= rank(find_offered_level(host.cpu))]
    if not host.name:
        own = offer_setup(context, "set up the stack for this CPU", "--level", "auto")
        return own if fitting else offer_stock(context)
    if not fitting:
        return Remedy(text=f"no level suits {_name_host(host)}: use stock Pillow, in a separate environment")
    least, core = min(fitting, key=rank), context.facts.stack.core
    there = [copy.level for copy in core.levels if rank(copy.level) > rank(least)] if core is not None else []
    limit = rank(find_offered_level(context.facts.cpu))
    best = sorted((level.name for level in levels if level.automatic and 0 < rank(level.name) <= limit), key=rank)[-1:]
    wanted = ",".join(dict.fromkeys((least, *(there or best))))
    return offer_setup(context, f"build one wheel for {_name_host(host)} and this CPU", "--levels", wanted)


def _count(scan: IsaScan, features: Collection[str]) -> str:
    """Return a command that counts a file's instructions that need any of the given CPU features (`objdump`)."""
    patterns = (_PATTERNS.get(feature, "%zmm|%k[1-7]" if feature.startswith("avx512") else "") for feature in features)
    wanted = "|".join(dict.fromkeys(filter(None, patterns)))
    return show("objdump", "-d", scan.path, *(("|", "grep", "-cE", wanted) if wanted else ()))


def _list_evidence(context: CheckContext, scan: IsaScan) -> tuple[str, ...]:
    everywhere = f"nothing beyond any {architecture_of(context.facts.cpu.architecture).title}"
    requires = f"requires {', '.join(scan.requires) or everywhere} ({scan.confidence.value})"
    return (f"{scan.path}: {scan.problem or requires}", *scan.evidence)


def _describe_shares(context: CheckContext, scan: IsaScan) -> str:
    baseline = architecture_of(context.facts.cpu.architecture).levels[0].name
    shares = ", ".join(f"{feature} {scan.shares[feature]:.2%}" for feature in scan.requires if feature in scan.shares)
    chosen = f"; chosen by itself: {', '.join(scan.contains)}" if scan.contains else ""
    return f"{scan.path}: {scan.instructions} instructions, {shares or f'none beyond {baseline}'}{chosen}"


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))

"""Plans, reports, facts and speed tables as text. The same values that --json prints."""

import math
from collections.abc import Iterable, Iterator

from fastinstall.cli.console import Console
from fastinstall.errors import FastinstallError
from fastinstall.model.codec import kind_of
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Report, Status
from fastinstall.model.plan import (
    Build,
    CreateEnvironment,
    Hazard,
    InstallGuard,
    Plan,
    PrivateHeaders,
    Prove,
    Step,
    Swap,
    SystemPackages,
    Verify,
)
from fastinstall.model.receipt import SpeedTable


def plan_text(plan: Plan, console: Console) -> str:
    """A plan: every step and skip with its reason, then what to weigh before consenting."""
    lines = [console.paint(plan.summary, "bold")]
    for number, step in enumerate(plan.steps, start=1):
        lines += [f"  {number}. {_step_text(step)}", console.paint(f"     {step.reason}", "dim")]
    lines += [console.paint(f"  -  not needed: {skip.step} ({skip.reason})", "dim") for skip in plan.skipped]
    lines += [console.paint(f"warning: {warning}", "warning") for warning in plan.warnings]
    lines += [line for hazard in plan.hazards for line in _hazard_lines(hazard, console)]
    return "\n".join(lines) + "\n"


def report_text(report: Report, console: Console) -> str:
    """A report of doctor: one line a check, details where something is to be done."""
    lines = [f"{report.environment.prefix} ({report.environment.kind})"]
    width = max((len(finding.check) for finding in report.findings), default=0)
    for finding in report.findings:
        lines += _finding_lines(finding, width, console)
    lines.append(console.paint(f"{report.status}: {_tally(report.findings)}", report.status))
    return "\n".join(lines) + "\n"


def speed_text(table: SpeedTable) -> str:
    """A speed table: milliseconds before and after, and how many times faster."""
    width = max((len(row.operation) for row in table.rows), default=9)
    lines = [
        f"before: {table.baseline}; after: {table.candidate}; {table.cpu}",
        f"{'operation':<{width}}  {'before ms':>10}  {'after ms':>10}  {'faster':>8}",
    ]
    for row in table.rows:
        ratio = row.before_ms / row.after_ms if row.after_ms else math.inf
        mark = "" if ratio >= 0.95 else "  slower"  # noqa: PLR2004 (within noise of each other)
        lines.append(f"{row.operation:<{width}}  {row.before_ms:>10.2f}  {row.after_ms:>10.2f}  {ratio:>7.2f}x{mark}")
    lines.append(f"{'geometric mean':<{width}}  {'':>10}  {'':>10}  {table.geomean:>7.2f}x")
    return "\n".join(lines) + "\n"


def facts_text(facts: Facts) -> str:
    """The facts for a person; `--json` has all of them."""
    rows = [
        *_environment_rows(facts),
        *_machine_rows(facts),
        *_stack_rows(facts),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows) + "\n"


def error_text(error: FastinstallError, console: Console) -> str:
    """An error: what and where, its details, then the hint."""
    lines = [console.paint("error: ", "error") + error.message]
    lines += [f"  {line}" for line in error.details]
    if error.hint:
        lines.append(console.paint("  hint: ", "hint") + error.hint)
    return "\n".join(lines) + "\n"


def _step_text(step: Step) -> str:  # noqa: PLR0911 (one for each kind of step)
    match step:
        case CreateEnvironment():
            return f"make the virtual environment {step.prefix} with {step.python}"
        case SystemPackages():
            return f"install system packages by {step.manager}: {' '.join(step.packages)}"
        case PrivateHeaders():
            return f"fetch headers by {step.manager} into the cache: {' '.join(step.packages)}"
        case Build():
            return _build_text(step)
        case Prove():
            against = step.baseline.filename if step.baseline else "what is in place"
            return f"prove it, and time it against {against}" if step.timed else "prove it"
        case Swap():
            return f"swap: {', '.join(step.removes) or 'nothing'} out, {step.installs} in"
        case InstallGuard():
            return "install the start-up guard"
        case Verify():
            return f"verify: {', '.join(step.checks)}"


def _build_text(step: Build) -> str:
    if step.prebuilt is not None:
        return f"take {step.prebuilt.filename} from the wheelhouse"
    source = step.source.filename if step.source else "?"
    return f"build {step.distribution} {step.version} from {source} with CFLAGS={' '.join(step.cflags)!r}"


def _hazard_lines(hazard: Hazard, console: Console) -> Iterator[str]:
    state = "allowed" if hazard.allowed else f"needs --allow {hazard.risk}"
    yield console.paint(f"risk {hazard.risk} ({state}): {hazard.summary}", "warning" if hazard.allowed else "error")
    for item in hazard.items:
        yield f"     {item}"


def _finding_lines(finding: Finding, width: int, console: Console) -> Iterator[str]:
    label = console.paint(f"{finding.status:<8}", finding.status)
    yield f"  {label} {finding.check:<{width}}  {finding.message}"
    if finding.status.gravity == 0:
        return
    indent = " " * (width + 13)
    if finding.expected or finding.observed:
        yield f"{indent}expected {finding.expected or '-'}; observed {finding.observed or '-'}"
    for line in finding.evidence:
        yield console.paint(f"{indent}{line}", "dim")
    if finding.remedy is not None:
        yield f"{indent}hint: {finding.remedy.text}"
        if finding.remedy.command:
            yield f"{indent}      {finding.remedy.command}"


def _tally(findings: Iterable[Finding]) -> str:
    counts = dict.fromkeys(Status, 0)
    for finding in findings:
        counts[finding.status] += 1
    return ", ".join(f"{number} {status}" for status, number in counts.items() if number) or "no findings"


def _environment_rows(facts: Facts) -> Iterator[tuple[str, str]]:
    python = facts.interpreter
    yield "environment", f"{facts.environment.prefix} ({facts.environment.kind})"
    threads = ", free-threaded" if python.free_threaded else ""
    yield "python", f"{python.implementation} {python.version} ({python.abi}{threads}), {python.executable}"
    yield "libc", f"{python.libc} {python.libc_version}"
    yield "pip", python.pip_version or "none inside (fastinstall brings its own)"
    if python.externally_managed:
        yield "externally managed", str(python.externally_managed)


def _machine_rows(facts: Facts) -> Iterator[tuple[str, str]]:
    cpu = facts.cpu
    yield "cpu", f"{cpu.name or cpu.architecture} ({cpu.vendor or 'vendor unknown'})"
    yield "level", f"{cpu.level or 'none'} (by {cpu.level_source or 'nothing'})"
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


def _stack_rows(facts: Facts) -> Iterator[tuple[str, str]]:
    stack = facts.stack
    owners = [f"{owner.distribution.name} {owner.distribution.version}" for owner in stack.owners]
    yield "PIL", f"{stack.version or 'none'}" + (f", owned by {', '.join(owners)}" if owners else "")
    if stack.core is not None:
        yield "core", f"{stack.core.path}" + (f" ({stack.core.problem})" if stack.core.problem else "")
        yield "SIMD symbols", ", ".join(stack.core.simd_symbols) or "none"
        for library in stack.core.libraries:
            if library.implementation:
                yield "libjpeg", f"{library.implementation} {library.version}, {library.path}"
    if facts.runtime is not None:
        yield "features", ", ".join(sorted(facts.runtime.features)) or "none"
    yield "guard", "installed" if facts.guard.installed else "not installed"


def step_name(step: Step) -> str:
    """The stable name of a step's kind."""
    return kind_of(type(step))

"""A plan as text: every step with its reason. The same value that --json prints."""

from collections.abc import Iterator

from fastinstall.cli.console import Page, join_lines
from fastinstall.core.messages import listing
from fastinstall.model.conda import CondaChange, CondaInstaller
from fastinstall.model.plan import Plan, PlanRisk
from fastinstall.model.steps import (
    Build,
    ChangeCondaPackages,
    CondaToolchain,
    CreateEnvironment,
    InstallGuard,
    MakeCondaPackages,
    Pin,
    PinForPip,
    PinProject,
    PrivateHeaders,
    Prove,
    Step,
    Swap,
    SystemPackages,
    Verify,
)

_ENGINES = {
    CondaInstaller.CONDA: "conda",
    CondaInstaller.RATTLER: "py-rattler",
    CondaInstaller.PIP: "pip",
    CondaInstaller.AUTO: "any engine",
}


def plan_text(plan: Plan, page: Page) -> str:
    """A plan: every step and skip with its reason, then what to weigh before consenting."""
    lines = list(page.lines(plan.summary, rest="  ", style="bold"))
    for number, step in enumerate(plan.steps, start=1):
        lines += page.lines(_step_text(step), first=f"  {number}. ", rest="     ")
        lines += (line for detail in _details(step) for line in page.lines(detail, first="     ", rest="       "))
        lines += page.lines(step.reason, first="     ", rest="     ", style="dim")
    for skip in plan.skipped:
        lines += page.lines(f"not needed: {skip.step} ({skip.reason})", first="  -  ", rest="     ", style="dim")
    for warning in plan.warnings:
        lines += page.advice(f"warning: {warning}", rest="  ", style="warning")
    for hazard in plan.hazards:
        lines += _risk_lines(hazard, page)
    return join_lines(lines)


def _step_text(step: Step) -> str:  # noqa: C901, PLR0911, PLR0912 (one case for each kind of step)
    match step:
        case CreateEnvironment():
            return f"make the virtual environment {step.prefix} with {step.python}"
        case SystemPackages():
            return f"install system packages by {step.manager}: {' '.join(step.packages)}"
        case PrivateHeaders():
            return f"fetch headers by {step.manager} into the cache: {' '.join(step.packages)}"
        case CondaToolchain():
            where = listing(step.channels)
            return f"fetch a toolchain of conda packages from {where} into the cache: {' '.join(step.packages)}"
        case Build():
            return _build_text(step)
        case Prove():
            against = step.baseline.filename if step.baseline else "what is in place"
            return f"prove it, and time it against {against}" if step.timed else "prove it"
        case MakeCondaPackages():
            names = listing(each.dist for each in (step.package, step.guard) if each is not None)
            return f"make conda packages of it, linked by {_ENGINES[step.engine]}: {names}"
        case ChangeCondaPackages():
            return f"change other packages by {_ENGINES[step.engine]}"
        case Swap():
            leaving = (*step.removes, *step.records)
            return f"swap: {', '.join(leaving) or 'nothing'} out, {step.installs} in"
        case InstallGuard():
            return "install the start-up guard"
        case Pin():
            return f"pin it in {step.file}: {step.line}"
        case PinForPip():
            return f"pin it for pip in {step.file} and {step.directory}: {step.requirement}"
        case PinProject():
            names = listing(file.name for file in step.files)
            return f"pin it in the {step.manager} project {step.directory} ({names}): {step.requirement}"
        case Verify():
            return f"verify: {', '.join(step.checks)}"


def _build_text(step: Build) -> str:
    if step.prebuilt is not None:
        return f"take {step.prebuilt.filename} as it is"
    if step.cached:
        return f"take {step.distribution} {step.version} for {listing(step.levels)} from the cache"
    source = step.source.filename if step.source else "?"
    return f"build {step.distribution} {step.version} from {source} for {listing(step.levels)}"


def _details(step: Step) -> Iterator[str]:
    """What else goes into a build, and how each level is compiled."""
    if isinstance(step, ChangeCondaPackages):
        yield from _change_lines(step.change)
    if isinstance(step, PinForPip):
        yield from step.text.splitlines()
    if not isinstance(step, Build) or step.source is None:
        return
    if step.kernels is not None and step.base is not None:
        kernels = f"{step.kernels.name} {step.kernels.version} (which follows {step.base.name} {step.base.version})"
        yield f"kernels of {kernels} merged onto {step.source.name} {step.source.version}"
    if step.without:
        yield f"without its parts {listing(step.without)}"
    if step.statics:
        linked = (f"{each.name} {each.version} for {name}" for name, each in step.statics.items())
        yield f"linked in: {listing(linked)}"
    for target in step.targets:
        yield f"{target.level}: CFLAGS={' '.join(target.cflags)!r}"


def _change_lines(change: CondaChange) -> Iterator[str]:
    """What comes, goes and is replaced, package by package."""
    before = {package.name: package for package in change.unlinked}
    after = {package.name: package for package in change.linked}
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        told = [f"{each.version} {each.build}" if each is not None else "" for each in (old, new)]
        if old is not None and new is not None:
            yield f"{name}: {told[0]} -> {told[1]}"
        else:
            yield f"{name}: {'+ ' + told[1] if new is not None else '- ' + told[0]}"


def _risk_lines(hazard: PlanRisk, page: Page) -> Iterator[str]:
    state = "allowed" if hazard.allowed else f"needs --allow {hazard.risk}"
    style = "warning" if hazard.allowed else "error"
    yield from page.lines(f"risk {hazard.risk} ({state}): {hazard.summary}", rest="  ", style=style)
    for item in page.shortened(hazard.items):
        yield from page.lines(item, first="     ", rest="       ")

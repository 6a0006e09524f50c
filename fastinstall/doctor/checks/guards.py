"""Whether the start-up guard, conda's guard package and pins are installed, intact and up to date.

- warning: the start-up guard is damaged, outdated or not compiled. Or the setup's guard package, or a file of it, is
  missing. Or a pin is not effective, or the pin that the setup requested is missing.
- hint: the start-up guard is not installed, or the guard package is not the one of the setup. Or the stack is a wheel
  in a conda environment, so conda's solver may replace it.

The check is skipped if fastinstall has set up nothing, or if the guard was declined (`--no-guard`). If another tool
installed a build of fastinstall from an index, the check is skipped too, since a guard is then optional.

Why it matters:
Any later `pip install` of a package that requires Pillow may silently replace the stack with stock Pillow. `pip check`
does not report that. With the guard, each program that imports PIL reports a replacement, once for itself and its
workers. conda, mamba and pixi do not run the environment's Python, but their solvers obey the guard package. This
package allows only fastinstall's builds of Pillow, so it holds back security updates of Pillow too. Its scripts in
`etc/conda/activate.d` check the stack when the environment is activated.

conda's classic solver does not name the guard package when it refuses another Pillow. Its `UnsatisfiableError` says
that packages are "incompatible with your system", with lines such as `feature:/linux-64::__archspec==1=icelake` or
`__glibc`. Neither the processor nor the C library is at fault: the command asked for another Pillow.

How to fix it:
`fastinstall doctor --fix` rewrites the start-up guard's files for the present Python and core, without touching the
stack. `fastinstall setup` and `fastinstall guard install` do so too. The files are readable source, and
`FASTINSTALL_GUARD=0` disables them. `doctor --fix` also restores the guard package and the environment's own pin.
`fastinstall guard pin` prints the change that pins a project again. `fastinstall setup --upgrade` builds the newest
Pillow; to install another build, run `fastinstall rollback` first. `fastinstall setup --engine auto` replaces a wheel
with conda packages.
"""

from collections.abc import Iterator

from fastinstall.core.messages import pin_command
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import describe_removal
from fastinstall.doctor.remedies import offer_repair, offer_setup, show_files, suggest_conda_reinstall, word_command
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Remedy, shorten_evidence
from fastinstall.model.guards import PinKind
from fastinstall.model.receipt import Receipt

_KEPT = (
    "conda's solver keeps this stack: the guard package is installed; where the classic solver refuses another Pillow "
    "for it, its message speaks of __archspec or __glibc"
)


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the guards and pins."""
    receipt, conda = context.receipt, context.facts.conda
    if context.is_built_elsewhere:
        elsewhere = "fastinstall built this stack, and another tool installed it"
        yield Finding.skipped(f"{elsewhere}: a guard is optional, and comes with a setup")
        return
    if receipt is None:
        yield Finding.skipped("no receipt: fastinstall has set up nothing here that needs a guard")
        return
    yield _report_startup_guard(context, receipt)
    guard = receipt.conda.guard if receipt.conda is not None else None
    conda_meta = show_files(context.facts.environment.prefix / "conda-meta")
    if conda is not None and guard is not None:
        yield _report_guard_package(context, conda, guard, conda_meta)
    elif conda is not None and receipt.conda is None and context.core_is_ours:
        yield Finding.hint(
            "this stack is a wheel in a conda environment: conda does not know it and overwrites it "
            "as soon as a package requires Pillow",
            remedy=offer_setup(context, "install it as a conda package", "--engine", "auto"),
            verify=conda_meta,
        )
    yield from _report_pins(context, receipt)


def _report_startup_guard(context: CheckContext, receipt: Receipt) -> Finding:
    guard, packages = context.facts.guard, context.facts.interpreter.site_packages
    verify = show_files(packages / "fastinstall_guard.pth", packages / "_fastinstall_guard")
    if guard.problems and not guard.own_problems and not context.core_is_ours:
        # The guard works, since it warns of the replaced core. The check `swapped` reports the replacement.
        return Finding.ok("the start-up guard is installed, and warns of the replaced core", verify=verify)
    if guard.problems:
        message = f"the start-up guard is broken: {guard.problems[0]}"
        remedy = Remedy(text="install the guard again", command=word_command(context, "doctor --fix"))
        return Finding.warning(message, evidence=guard.problems, remedy=remedy, verify=verify)
    if guard.installed:
        return Finding.ok("the start-up guard is installed and intact", observed=guard.version, verify=verify)
    if not receipt.request.guard:
        return Finding.skipped("the guard was declined at the setup")
    message = "no guard is installed: nothing warns when another tool replaces this stack"
    return Finding.hint(
        message, remedy=Remedy(text="install the guard", command=word_command(context, "guard install"))
    )


def _report_pins(context: CheckContext, receipt: Receipt) -> Iterator[Finding]:
    pins, prefix = context.facts.pins, context.facts.environment.prefix
    again = Remedy(text="pin it again", command=word_command(context, "guard install --pin"))
    for pin in pins:
        if not pin.problems:
            yield Finding.ok(f"pinned: {pin.requirement}", evidence=(str(pin.file),), verify=show_files(pin.file))
            continue
        remedy = offer_repair(context) if pin.kind == PinKind.PIP else again
        if pin.kind not in (PinKind.PIP, PinKind.CONDA):
            command = pin_command(pin.file.parent, prefix)
            remedy = Remedy(text="print the change that pins the project again", command=command)
        pinned = f"pinned: {pin.requirement}" if pin.requirement else "it pins nothing"
        message = f"the pin for {pin.kind} is broken: {pin.problems[0]}"
        yield Finding.warning(message, evidence=(*pin.problems, pinned), remedy=remedy, verify=show_files(pin.file))
    if receipt.request.pin and not _is_pinned(context.facts, receipt):
        yield Finding.warning(
            "the pin of the setup is missing: the next installation may replace this stack",
            expected="a pin in the environment's own configuration",
            observed="not pinned" if not pins else f"pinned elsewhere: {pins[0].file}",
            remedy=offer_repair(context),
            verify=show_files(prefix / "pip.conf" if context.facts.conda is None else prefix / "conda-meta/pinned"),
        )


def _is_pinned(facts: Facts, receipt: Receipt) -> bool:
    """Return whether the environment's own configuration has a pin, in any form; always True in a pixi environment."""
    from fastinstall.model.dependants import is_pinned  # needed only if a pin was requested
    from fastinstall.observe.installed_pins import is_of_pixi  # needed only if a pin was requested

    if any(pin.kind in (PinKind.PIP, PinKind.CONDA) for pin in facts.pins) or is_of_pixi(facts.environment.prefix):
        return True
    return facts.conda is not None and receipt.conda is not None and is_pinned(facts.conda, receipt.conda.package)


def _report_guard_package(context: CheckContext, conda: Conda, guard: CondaPackage, verify: str) -> Finding:
    found, removal = conda.named(guard.name), describe_removal(context.facts, guard.dist)
    lost = next((claim.missing or claim.altered for claim in conda.claims if claim.dist == guard.dist), ())
    if found is None:
        return Finding.warning(
            f"conda's package {guard.name} is missing: nothing keeps conda from replacing this stack",
            evidence=(f"conda-meta/{guard.record} is gone", *((f"removed{removal}",) if removal else ())),
            remedy=offer_repair(context),
            verify=verify,
        )
    if lost:
        message = f"files of the guard package are missing or altered: {lost[0]}"
        remedy = suggest_conda_reinstall(context, "install the guard package again", guard.name)
        return Finding.warning(message, evidence=shorten_evidence(lost), remedy=remedy, verify=verify)
    if found.dist != guard.dist:
        message = f"the guard package is {found.dist}, and {guard.dist} was set up"
        return Finding.hint(message, evidence=found.constrains, verify=verify)
    kept = tuple(f"while it is installed, conda accepts only {spec}" for spec in found.constrains)
    return Finding.ok(_KEPT, evidence=kept, verify=verify)

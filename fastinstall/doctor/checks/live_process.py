"""Whether a process that runs already still runs what lies in the environment.

- warning: it runs files of PIL's that were replaced or removed since. Or it runs the PIL of another place than the
  other checks look at.
- hint: it has no PIL mapped.

Only where a process is named, by `--pid`; nothing is done to it. The checks of libraries then speak of what it has
mapped, and not of a fresh process.

Why it matters:
A process keeps the files that it has started with. After a setup, a repair or an update, a running program has the old
files until it is started again.

How to fix it:
Restart the process. Where it runs the PIL of another place, examine that one: `--prefix` names its environment.
"""

from collections.abc import Iterator
from pathlib import PurePath

from fastinstall.doctor.check_context import CheckContext, FindingFactory, shorten_evidence
from fastinstall.doctor.remedies import show_maps
from fastinstall.model.facts import LiveProcess, packages_of, running_core
from fastinstall.model.finding import Finding, Remedy

ORDER = 150

_SAY = FindingFactory("live-process")
_ASIDE = ("share", "fastinstall", "tx")
_ASIDE_THERE = ("~", ".fastinstall-")
_BELOW_PREFIX = 3  # lib/python3.11/site-packages


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the process that was named."""
    process, examined = context.facts.process, context.facts.stack.directory
    if process is None:
        yield _SAY.skipped("no process was named: pass --pid N")
        return
    verify, core = show_maps(process, "PIL\\|pillow"), running_core(process.mapped)
    if outdated := _list_outdated_files(context, process):
        yield _SAY.warning(
            f"process {process.pid} started before PIL's files were replaced and still runs the old ones",
            evidence=shorten_evidence(map(str, outdated)),
            remedy=Remedy(text=f"restart process {process.pid} ({process.executable.name})"),
            verify=verify,
        )
    elif core is None:
        yield _SAY.hint(
            f"process {process.pid} has not loaded this PIL: it has not imported PIL, or uses another",
            evidence=(f"it runs {process.executable}", f"{len(process.mapped)} files with code are mapped"),
            verify=verify,
        )
    elif _is_elsewhere(context, process, core):
        yield _SAY.warning(
            f"process {process.pid} runs a PIL from another place",
            evidence=(str(core),),
            expected=f"below {examined}",
            observed=str(core),
            remedy=Remedy(text="check the environment that holds it"),
            verify=verify,
        )
    else:
        message = f"process {process.pid} runs the PIL files that are in the environment"
        yield _SAY.ok(message, evidence=(str(core),), verify=verify)


def _list_outdated_files(context: CheckContext, process: LiveProcess) -> tuple[PurePath, ...]:
    """List files of PIL's that it has mapped and that are not what a fresh process would get, the core first."""
    replaced = [path for path in process.replaced if packages_of(path) is not None or _is_codec(context, path)]
    found = dict.fromkeys((*replaced, *filter(_is_moved_aside, process.mapped)))
    return tuple(sorted(found, key=lambda path: "_imaging" not in path.name))


def _is_codec(context: CheckContext, path: PurePath) -> bool:
    """Tell whether a file is a library behind PIL's codecs, by its soname: the kernel names what a link leads to."""
    linkage = context.facts.linkage
    sonames = [codec.library.soname for codec in linkage.codecs if codec.library.soname] if linkage is not None else []
    return any(path.name == soname or path.name.startswith(soname + ".") for soname in sonames)


def _is_moved_aside(path: PurePath) -> bool:
    """Tell whether a file of PIL's was moved aside, by a setup of ours or by pip; the kernel follows it there."""
    parts = path.parts
    if "site-packages" in parts and any(part.startswith(_ASIDE_THERE) for part in parts):
        return True
    return any(parts[index : index + len(_ASIDE)] == _ASIDE for index in range(len(parts)))


def _is_elsewhere(context: CheckContext, process: LiveProcess, core: PurePath) -> bool:
    """Tell whether its PIL is another than the examined one.

    The kernel names files without links, which may be on the way to the environment; what it is called by says more.
    """
    examined, packages = context.facts.stack.directory, packages_of(core)
    if examined is None or packages is None or packages == examined.parent:
        return False
    is_own = process.executable.is_relative_to(context.facts.environment.prefix)
    return not is_own or packages.parts[-_BELOW_PREFIX:] != examined.parent.parts[-_BELOW_PREFIX:]

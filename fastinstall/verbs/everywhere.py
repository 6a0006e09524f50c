"""Find environments: all that a receipt or registry knows (`doctor --all`), and those that the user may mean.

Environments are listed with what is in each, and the one of a running process is identified. Finding reads files only:
nothing is run or changed.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath

from fastinstall.core.concurrency import run_in_processes
from fastinstall.core.errors import FastinstallError, RefusedError, UndeterminedError
from fastinstall.core.foreign_code import find_stranger
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.doctor.examine import Examination, examine
from fastinstall.doctor.registry import check_names, select_gravest_status
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.environment import Environment
from fastinstall.model.finding import EnvironmentReport, Status, Survey, Unobservable
from fastinstall.model.live_process import LiveProcess, running_core
from fastinstall.model.request import Request
from fastinstall.observe.active_environment import USUAL_NAMES, active_prefixes, is_environment, locate
from fastinstall.observe.cpu import observe_cpu
from fastinstall.observe.environment_summary import EnvironmentSummary, has_pillow, scan_environment
from fastinstall.observe.known_environments import list_known_environments
from fastinstall.observe.nearby_environments import nearby_environments
from fastinstall.observe.recipes import recipe_named
from fastinstall.observe.session import Session

_ENOUGH = 8
"""Fewer environments than this are examined sooner than a second process has started."""

NEARBY = "in this directory"
"""How an environment is known that lies where the person is."""

_SHOWN = 12
_INTERPRETER = re.compile(r"(python|pypy)[\d.]*t?")
_MARKS = ("pyvenv.cfg", "conda-meta")


def examine_everywhere(session: Session, examination: Examination) -> Survey:
    """Examine all known environments that have PIL or a receipt of ours; the tool's own is none of them.

    Args:
        session: the outside world.
        examination: what to examine in each.

    Raises:
        UsageError: there is no check of that name, or the usual recipe is not there.
    """
    check_names(examination.checks)
    cores, usual = len(os.sched_getaffinity(0)), Request().recipe
    cpu = observe_cpu(allowed_cores=cores, tunables=session.variables.get("GLIBC_TUNABLES", ""))
    shared = replace(examination, cpu=cpu, recipes={usual: recipe_named(session, usual)})
    prefixes = list_known_environments(session.variables, session.directories.state)
    worth = [prefix for prefix in prefixes if has_pillow(prefix) or (prefix / RECEIPT).is_file()]

    def work(prefix: Path) -> EnvironmentReport | Unobservable | None:
        return _examine_environment(session, shared, prefix)

    results = run_in_processes(work, worth, count=cores if len(worth) >= _ENOUGH else 1)
    reports = tuple(result for result in results if isinstance(result, EnvironmentReport))
    unobservable = tuple(result for result in results if isinstance(result, Unobservable))
    statuses = (*(report.status for report in reports), *(Status.UNKNOWN for _ in unobservable))
    return Survey(
        status=select_gravest_status(statuses),
        reports=reports,
        unobservable=unobservable,
        without=len(prefixes) - len(worth),
    )


def _examine_environment(
    session: Session, examination: Examination, prefix: Path
) -> EnvironmentReport | Unobservable | None:
    """The report on one environment; None for the tool's own."""
    stranger = find_stranger(prefix)
    if stranger:
        owner = quote(stranger)
        return Unobservable(
            prefix=prefix,
            problem=f"{stranger} owns files there, and root runs no code of other users; examine it as that user: "
            f"sudo -u {owner} fastinstall doctor --prefix {quote(prefix)}; or trust it, and name it with --prefix",
        )
    try:
        environment = locate(prefix, None, session.variables, session.tool_prefix)
        return examine(session, environment, examination)
    except RefusedError:
        return None
    except FastinstallError as error:
        return Unobservable(prefix=prefix, problem=error.message)
    except Exception as error:  # noqa: BLE001 (whatever is in one of them, the others are judged)
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        return Unobservable(prefix=prefix, problem=f"examining it crashed, a bug in fastinstall: {said}")


@immutable
class FoundEnvironment:
    """An environment that may be meant.

    Attributes:
        seen: what is in it.
        found: how it is known ("active (VIRTUAL_ENV)", "in this directory", "known here").
    """

    seen: EnvironmentSummary
    found: str


def discover_environments(session: Session, directory: Path) -> tuple[FoundEnvironment, ...]:
    """The likeliest first: active ones, those of the directory, those that fastinstall set up, others with a Pillow.

    Environments without any Pillow are left out where nothing but a list of some tool speaks for them, and so is the
    environment of fastinstall itself.

    Args:
        session: the outside world.
        directory: where the person is.
    """
    found: dict[str, FoundEnvironment] = {}
    own = os.path.realpath(session.tool_prefix)
    for prefix, how in _list_candidates(session, directory):
        real = os.path.realpath(prefix)
        if real == own or real in found or len(found) >= _SHOWN:
            continue
        seen = scan_environment(prefix)
        if how or seen.pillow or seen.ours:
            found[real] = FoundEnvironment(seen=seen, found=how or "known here")
    return tuple(sorted(found.values(), key=_rank))


def _list_candidates(session: Session, directory: Path) -> Iterator[tuple[Path, str]]:
    for name, active in active_prefixes(session.variables).items():
        if is_environment(Path(active)):
            yield Path(active), f"active ({name})"
    for prefix in nearby_environments(directory, session.variables):
        yield prefix, NEARBY
    for prefix in list_known_environments(session.variables, session.directories.state):
        yield prefix, ""


def _rank(each: FoundEnvironment) -> tuple[int, int, bool]:
    first = 0 if each.found.startswith("active") else 1 + (each.found != NEARBY)
    names = {name: number for number, name in enumerate(USUAL_NAMES)}
    return first, names.get(each.seen.prefix.name, len(names)), not each.seen.ours


def process_target(process: LiveProcess, variables: Mapping[str, str]) -> Environment:
    """The environment of the PIL that a process has mapped, or of its interpreter where it has mapped none.

    Args:
        process: what was seen of it.
        variables: the environment variables of the shell.

    Raises:
        UndeterminedError: it is no Python and has no PIL, it has a file system of its own (a container's), or what it
            ran from is gone.
        RefusedError: it runs in fastinstall's own environment; or root asks, and it is another user's.
    """
    if process.root != PurePath("/"):
        inside = f"nsenter --target {process.pid} --mount --root -- fastinstall doctor"
        raise UndeterminedError(
            f"process {process.pid} has its own file system, as in a container: its files are not here",
            hint=f"run fastinstall inside it: {inside}",
            details=(f"it runs {_format_process(process)}",),
        )
    core = running_core(process.mapped)
    # The nearest environment that a core lies in, moved aside or not; none for one in "~/.local".
    around = (each for each in Path(core or "/").parents if any((each / mark).exists() for mark in _MARKS))
    prefix, tool_prefix, called = next(around, None), Path(sys.prefix), Path(process.executable).parent.parent
    _refuse_stranger(process, prefix or called)
    if prefix is not None:
        # By the name that the process was started by: the kernel's name for a file has no links in it.
        is_linked = called.exists() and called.resolve() == prefix.resolve()
        return locate(called if is_linked else prefix, None, variables, tool_prefix)
    if core is None and not _INTERPRETER.fullmatch(process.executable.name):
        raise UndeterminedError(
            f"process {process.pid} is not Python and has not loaded PIL: {_format_process(process)}",
            hint="list the processes that have loaded it: grep -l PIL/_imaging /proc/[0-9]*/maps",
        )
    return locate(None, Path(process.executable), variables, tool_prefix)


def _refuse_stranger(process: LiveProcess, prefix: Path) -> None:
    """Whoever starts a process and waits for root to examine it would have code run as root."""
    stranger = find_stranger(prefix)
    if stranger:
        raise RefusedError(
            f"process {process.pid} runs in {prefix}, where {stranger} owns files; root runs no code of other users",
            hint=f"run it as that user: sudo -u {quote(stranger)} fastinstall doctor --pid {process.pid}; "
            f"or trust the environment, and name it: fastinstall doctor --prefix {quote(prefix)}",
        )


def _format_process(process: LiveProcess) -> str:
    return shlex.join(process.command) or str(process.executable)

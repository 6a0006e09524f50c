"""Edit `conda-meta/history`, so that conda's solvers, which read the user's requests there, keep the stack.

conda (24.7 to 26.7) and libmamba read the requested match specs from this file, and use the `requested_spec` in records
only for listings. Therefore each setup adds a revision with the packages that it installed and removed. Measured on
2026-11-21 with conda 24.7.1: without the revision, `update --all` removes the guard package and installs conda's own
Pillow. Source: conda's `History`.
"""

import ast
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.journal.conda_meta import HISTORY
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import Conda, CondaChange, CondaPackage, CondaStack
from fastinstall.model.conda_packages import GUARD
from fastinstall.model.dependants import name_of_spec

_MARK = "simd_"


def make_requested_spec(package: CondaPackage) -> str:
    """Return the match spec that records a fastinstall package as the user's request; empty for other packages.

    The spec for the stack's package allows any version, but only fastinstall's builds.
    """
    if package.build.startswith(_MARK):
        return f"{package.name}[build={_MARK}*]"
    return package.name if package.name == GUARD else ""


def append_revision(existing: str, at: datetime, command: str, change: CondaChange) -> str:
    """Return the history with one more revision, as conda writes it.

    Args:
        existing: the current text of the history.
        at: the time of the change, in local time.
        command: the command line that caused the change.
        change: the packages that were installed and removed.
    """
    before = _parse_installed(existing)
    written = {}
    for package in (*change.linked, *change.unlinked):
        channel, subdir = package.channel.rstrip("/"), package.subdir
        if channel and subdir and not channel.endswith(f"/{subdir}"):
            channel = f"{channel}/{subdir}"
        written[package.dist] = f"{channel}::{package.dist}" if channel else package.dist
    gone = sorted(f"-{before.get(package.dist) or written[package.dist]}" for package in change.unlinked)
    come = sorted(f"+{written[package.dist]}" for package in change.linked)
    coming = {package.name for package in change.linked}
    dropped = [package.name for package in change.unlinked if package.name not in coming]
    specs = [spec for spec in map(make_requested_spec, change.linked) if spec]
    requests = [f"# {action} specs: {names!r}" for action, names in (("remove", dropped), ("update", specs)) if names]
    lines = [f"==> {at:%Y-%m-%d %H:%M:%S} <==", f"# cmd: {command}", *gone, *come, *requests]
    kept = existing if existing.endswith("\n") or not existing else f"{existing}\n"
    return kept + "".join(f"{line}\n" for line in lines)


def remove_history_requests(before: str, after: str, installed_again: Iterable[str]) -> str:
    """Return the history after an engine's change, without the requests that installing packages by URL adds.

    Those requests would pin each package to its exact build, and replace the user's own requests.

    Args:
        before: the text before the change.
        after: the text after the change.
        installed_again: names of the packages that the change installed; requests in `after` to remove these packages
            are dropped too.
    """
    if not after.startswith(before):
        return after
    names, kept = frozenset(installed_again), [before]
    for line in after[len(before) :].splitlines(keepends=True):
        match = re.match(r"^#\s*(?P<action>\w+)\s+specs:\s*(?P<specs>\[.*\])\s*$", line)
        if match is None:
            kept.append(line)
        elif match["action"] in ("remove", "uninstall"):
            left: list[str] = []
            with suppress(ValueError, SyntaxError):
                left = [str(spec) for spec in ast.literal_eval(match["specs"])]
            left = [spec for spec in left if name_of_spec(spec) not in names]
            kept += [f"# {match['action']} specs: {left!r}\n"] if left else []
    return "".join(kept)


def _parse_installed(history: str) -> dict[str, str]:
    """Return the packages that are installed according to the history.

    Returns:
        Their lines without the leading "+", by NAME-VERSION-BUILD.
    """
    found: dict[str, str] = {}
    for line in history.splitlines():
        text = line[1:].strip()
        if line.startswith("+"):
            found[text.rpartition("::")[2]] = text
        elif line.startswith("-"):
            found.pop(text.rpartition("::")[2], None)
    return found


def record_revision(
    stack: CondaStack, records: Collection[str], conda: Conda, now: datetime, transaction: Transaction
) -> None:
    """Add a revision for a setup to the history of the environment that contains the stack's channel.

    Args:
        stack: the installed packages.
        records: the removed packages, as NAME-VERSION-BUILD.
        conda: the environment before the setup.
        now: the start of this run, UTC.
        transaction: the open transaction; undoing it removes the revision.
    """
    linked = tuple(package for package in (stack.package, stack.guard) if package is not None)
    names = {package.name for package in linked}
    gone = tuple(package for package in conda.packages if package.dist in records or package.name in names)
    change = CondaChange(linked=linked, unlinked=gone)
    add_revision(Path(stack.channel).parents[2], change, "fastinstall setup", now, transaction)


def add_revision(prefix: Path, change: CondaChange, command: str, now: datetime, transaction: Transaction) -> None:
    """Record a command's change as a new revision in an environment's history.

    Undoing `transaction` removes that revision.
    """
    existing = foreign.text_if_there(prefix / HISTORY)
    revised = append_revision(existing, now.astimezone(), command, change)
    transaction.add(HISTORY, revised.removeprefix(existing))

"""Keep other programs from changing an environment during a setup: another fastinstall, pip, uv or conda.

A lock excludes other runs of fastinstall. Other installers do not know that lock. A setup therefore looks for them
among the running processes, and checks whether the stack has changed in the meantime.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Emit, Noted, ignore
from fastinstall.core.lock import lock_environment
from fastinstall.core.messages import listing, quote
from fastinstall.core.package_managers import ConcurrentInstaller, describe_concurrent_installers
from fastinstall.observe.pil_snapshot import installers, observe_pil_snapshot
from fastinstall.observe.running_programs import observe_concurrent_installers

_PATIENCE = 30.0
"""The longest wait, in seconds, for an installer that has overwritten files of a setup. Then the setup is undone."""
_PAUSE = 0.1
_SHOWN = 3


@contextmanager
def hold_environment_lock(prefix: Path) -> Iterator[None]:
    """Hold an environment's lock during the block; refuse if another program is changing its packages.

    Raises:
        RefusedError: another fastinstall or installer is running; the message names it.
        UndeterminedError: the environment's directory does not exist.
    """
    with lock_environment(prefix):
        refuse_concurrent_installers(prefix)
        yield


def refuse_concurrent_installers(prefix: Path) -> None:
    """Raise if another program is changing packages in an environment.

    Raises:
        RefusedError: such a program is running; the message names its process and command.
    """
    installers = observe_concurrent_installers(prefix)
    if installers:
        processes = ",".join(str(installer.process) for installer in installers)
        hint = f"wait for it to end; to see what it is: ps -fp {processes}"
        raise RefusedError(f"{prefix}: {describe_concurrent_installers(installers)}", hint=hint)


class ForeignChangeWatch:
    """Detects that another program changes the stack of an environment during a setup.

    Args:
        prefix: root of the environment, for messages and to find programs that are changing it.
        site_packages: the directory to watch.
        names: top-level names in `site_packages` that the setup replaces, besides those of PIL.
    """

    def __init__(self, prefix: Path, site_packages: Path, names: Collection[str]) -> None:
        self._prefix = prefix
        self._site_packages = site_packages
        self._names = frozenset(names)
        self._snapshot = self._observe_snapshot()

    def accept_changes(self) -> None:
        """Accept the current files as the new baseline, after the setup itself has changed them."""
        self._snapshot = self._observe_snapshot()

    def refuse_changes(self) -> None:
        """Raise if the files to replace have changed since the last snapshot, or if an installer is running.

        Raises:
            RefusedError: the message names the changed files and, if known, the program that changed them.
        """
        changes = self._describe_changes()
        if changes:
            again = f"fastinstall setup --prefix {quote(self._prefix)}"
            hint = f"nothing was replaced; after it has ended, run again: {again}"
            raise RefusedError(f"{changes} in the meantime", hint=hint)
        refuse_concurrent_installers(self._prefix)

    @contextmanager
    def require_unchanged(self, emit: Emit = ignore) -> Iterator[None]:
        """Check after the block, even if it fails, that no other program has changed the files of the setup.

        The error makes the caller undo the setup. Before raising, therefore wait until that program ends, at most 30 s.

        Raises:
            FailedError: the message names the changed files and, if known, the program that changed them.
        """
        try:
            yield
        except Exception as error:
            self._refuse_takeover(emit, error)
            raise
        self._refuse_takeover(emit, None)

    def _refuse_takeover(self, emit: Emit, cause: Exception | None) -> None:
        changes = self._describe_changes()
        if changes:
            self._wait_for_installers(emit)
            hint = f"fastinstall doctor --prefix {quote(self._prefix)}"
            raise FailedError(f"{changes} after the installation", hint=hint) from cause

    def _observe_snapshot(self) -> dict[str, str]:
        return observe_pil_snapshot(self._prefix, self._site_packages, self._names)

    def _describe_changes(self) -> str:
        """Return which program has changed which files since the last snapshot; empty if none are changed."""
        paths = find_changed_paths(self._snapshot, self._observe_snapshot())
        running, signers = observe_concurrent_installers(self._prefix), installers(self._prefix, paths)
        culprits = describe_responsible_programs(running, signers)
        return f"{self._prefix}: {culprits} changed {listing(paths, _SHOWN)}" if paths else ""

    def _wait_for_installers(self, emit: Emit) -> None:
        installers, deadline = observe_concurrent_installers(self._prefix), time.monotonic() + _PATIENCE
        if installers:
            message = f"{describe_concurrent_installers(installers)}: waiting for it to end before undoing this setup"
            emit(Noted(message=message, warning=True))
        while installers and time.monotonic() < deadline:
            time.sleep(_PAUSE)
            installers = observe_concurrent_installers(self._prefix)


def find_changed_paths(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sorted paths that were added, removed or changed between two snapshots."""
    return tuple(sorted(path for path in {*before, *now} if before.get(path) != now.get(path)))


def describe_responsible_programs(installers: Sequence[ConcurrentInstaller], signers: Sequence[str]) -> str:
    """Describe the program that changed files: a running installer, else an installer that INSTALLER files name.

    Args:
        installers: installers that are running.
        signers: contents of INSTALLER files of the changed distributions (PEP 376).
    """
    if installers:
        return listing(f"process {installer.process} ({installer.action})" for installer in installers)
    foreign = [name for name in signers if name != "fastinstall"]
    return listing(foreign) if foreign else "another program"

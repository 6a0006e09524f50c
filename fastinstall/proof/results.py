"""Outcomes that several checks ask for: each run is made once, runs go side by side, and some are kept on disk."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from fastinstall.model.codec import digest
from fastinstall.proof.runs import Outcomes, Stack, Work, run_cases
from fastinstall.system import files
from fastinstall.system.process import Leash
from fastinstall.system.together import awaited

_FILLED = "glibc.malloc.tcache_count=0:glibc.malloc.perturb="
"""Memory is filled with a byte before it is used, so that an operation that reads what was never written gives the same
each time, and something else with another byte. What the thread's cache hands out would not be filled. Source: "Memory
Allocation Tunables" in the manual of the GNU C Library."""


class Results:
    """What stacks gave, computed when it is first asked for.

    Use it as a context: it ends when what was started has ended.
    """

    def __init__(self, kept: Path | None, processes: int = 0) -> None:
        """Prepare.

        Args:
            kept: a directory where outcomes of stacks that have an identity are kept; None for nowhere.
            processes: how many runs at a time; 0 for one on each processor.
        """
        self._kept = kept
        self._workers = ThreadPoolExecutor(processes or len(os.sched_getaffinity(0)))
        self._leash = Leash()
        self._is_abandoned = False
        self._started: dict[str, Future[Outcomes]] = {}

    def __enter__(self) -> Self:
        """Nothing to be done: runs begin when they are asked for."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the runs that have begun, and drop the others; after an error end them all."""
        if kind is not None:
            self._is_abandoned = True
            self._leash.pull()
        self._workers.shutdown(cancel_futures=True)

    def start(self, stack: Stack, work: Work) -> Future[Outcomes]:
        """Begin a run, if it has not begun."""
        key = digest((str(stack.python), str(stack.tree), stack.variables, work))
        if key not in self._started:
            self._started[key] = self._workers.submit(self._outcomes, stack, work)
        return self._started[key]

    def outcomes(self, stack: Stack, work: Work) -> Outcomes:
        """What each case gave.

        Raises:
            FailedError: PIL cannot be imported there.
        """
        return awaited(self.start(stack, work))

    def _outcomes(self, stack: Stack, work: Work) -> Outcomes:
        if self._kept is None or not stack.identity or work.inputs is not None:
            return run_cases(stack, work, self._leash)
        kept = self._kept / _key(stack, work)
        with suppress(OSError, UnicodeDecodeError):
            lines = kept.read_text(encoding="utf-8").splitlines()
            if len(lines) == len(work.cases):
                return dict(zip(work.cases, lines, strict=True))
        found = run_cases(stack, work, self._leash)
        if not self._is_abandoned:  # what was killed says nothing about the stack
            files.write_text(kept, "".join(f"{found[case]}\n" for case in work.cases))
        return found


def calm(stack: Stack) -> Stack:
    """The stack as every check runs it: with memory that is filled before it is used."""
    return stack.with_tunables(_FILLED + "85")


def disturbed(stack: Stack) -> Stack:
    """The same with another byte in its memory, and pictures in blocks of 4096 bytes instead of 16 MiB."""
    return stack.with_tunables(_FILLED + "170").with_variables({"PILLOW_BLOCK_SIZE": "4096"})


def _key(stack: Stack, work: Work) -> str:
    """Everything that decides the outcomes."""
    sources = [files.sha256(path) for path in (work.operations, work.operations.with_name("_runner.py"))]
    decisive = {name: stack.variables.get(name, "") for name in ("GLIBC_TUNABLES", "PILLOW_BLOCK_SIZE")}
    return digest((stack.identity, work.cases, sources, decisive))

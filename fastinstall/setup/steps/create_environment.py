"""Make a virtual environment, and take it away again where the setup fails.

While it is being made, a note in its directory says so (see `journal.creation_note`). So the next run finishes what a
killed run began.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePath

from fastinstall.core import process, refused_writes, signals
from fastinstall.core.concurrency import await_future
from fastinstall.core.errors import EnvironmentDamagedError, FailedError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.journal import creation_note
from fastinstall.setup.steps.step import SetupStep


@immutable
class CreateEnvironment(SetupStep):
    """Make a virtual environment.

    Attributes:
        prefix: where; must not exist.
        python: the interpreter that makes it.
        reason: why the plan has this step, for a person.
    """

    prefix: PurePath
    python: PurePath
    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return f"make the virtual environment with {self.python.name}"

    def list_details(self) -> Iterable[str]:
        """Yield where, and by which interpreter."""
        yield f"{self.prefix}, by {self.python}"

    @contextmanager
    def hold_place(self) -> Iterator[None]:
        """Make the directory, for its lock; taken away again if the block fails and has left nothing in it.

        Raises:
            OSError: as the kernel says.
        """
        prefix, made = Path(self.prefix), False
        try:
            with signals.defer_signals():
                if not prefix.is_dir():
                    prefix.mkdir(parents=True)
                    made = True
            yield
        except BaseException:
            if made:
                self._remove_empty_directory()
            raise

    @contextmanager
    def create(self, at: str, meanwhile: Callable[[], None]) -> Iterator[None]:
        """Make the environment, pip included; taken away again if the block fails. The caller holds the lock.

        Args:
            at: the time, as the note has it.
            meanwhile: is called while venv works.

        Raises:
            RefusedError: there is something already.
            FailedError: venv failed.
            EnvironmentDamagedError: what was made could not be removed whole.
        """
        begun = False
        try:
            with signals.defer_signals():
                self._note_creation(at)
                begun = True
            self._run_venv(meanwhile)
            yield
        except BaseException:
            if begun:
                self._remove_environment()
            raise
        with signals.defer_signals(), contextlib.suppress(OSError):
            creation_note.finish(Path(self.prefix))  # a note that cannot be removed is the next command's

    @signals.defer_signals()
    def _remove_empty_directory(self) -> None:
        prefix = Path(self.prefix)
        if prefix.is_dir() and not any(prefix.iterdir()):
            prefix.rmdir()

    def _note_creation(self, at: str) -> None:
        """Leave a note in the empty directory: fastinstall is making an environment here."""
        prefix = Path(self.prefix)
        if any(prefix.iterdir()):
            raise RefusedError(
                f"{prefix}: already exists, but the plan was to create it", hint=f"--prefix {quote(prefix)}"
            )
        creation_note.note(prefix, at)

    def _run_venv(self, meanwhile: Callable[[], None]) -> None:
        argv, process_group = (self.python, "-I", "-m", "venv", self.prefix), process.ProcessGroup()
        with ThreadPoolExecutor(max_workers=1) as pool:
            made = pool.submit(process.run, argv, timeout=300, while_working=True, process_group=process_group)
            try:
                meanwhile()
                await_future(made)
            except process.CommandError as error:
                raise FailedError(
                    f"{self.python} could not make a virtual environment in {self.prefix}",
                    hint=self._advise(),
                    details=error.details,
                ) from error
            finally:
                process_group.pull()

    def _advise(self) -> str:
        """Return what may have kept venv from its work; of pip's installation it shows nothing but the exit code."""
        try:
            process.run((self.python, "-I", "-c", "import ensurepip, venv"), timeout=60)
        except process.CommandError:
            return "on Debian and Ubuntu: apt-get install python3-venv"
        return f"is there room for it, some 20 MB? df -h {quote(refused_writes.find_nearest(Path(self.prefix)))}"

    @signals.defer_signals()
    def _remove_environment(self) -> None:
        prefix = Path(self.prefix)
        try:
            creation_note.clear(prefix)
        except OSError as error:
            raise EnvironmentDamagedError(
                f"{refused_writes.reason(error, prefix)}: the unfinished environment could not be removed",
                hint=f"it holds nothing useful; remove the cause, then: rm -r {quote(prefix)}",
            ) from error

"""Create a virtual environment, and remove it again if the setup fails.

During the creation, the environment's directory holds a note (see `journal.creation_note`), so that the next run can
empty the directory if this run is killed.
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
    """Create a virtual environment.

    Attributes:
        prefix: directory of the environment; it must be empty or not exist.
        python: the interpreter that creates it.
        reason: why the plan has this step, for the user.
    """

    prefix: PurePath
    python: PurePath
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"make the virtual environment with {self.python.name}"

    def list_details(self) -> Iterable[str]:
        """Yield the directory and the interpreter that creates it."""
        yield f"{self.prefix}, by {self.python}"

    @contextmanager
    def hold_place(self) -> Iterator[None]:
        """Create the directory, so that it can be locked; remove it if the block fails and leaves it empty.

        Raises:
            OSError: the directory cannot be created.
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
        """Create the environment, with pip, and remove it if the block fails. The caller holds the lock.

        Args:
            at: the time that the note records.
            meanwhile: function to call while venv runs.

        Raises:
            RefusedError: the directory is not empty.
            FailedError: venv failed.
            EnvironmentDamagedError: the unfinished environment could not be removed completely.
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
            creation_note.finish(Path(self.prefix))  # if the note cannot be removed, the next command removes it

    @signals.defer_signals()
    def _remove_empty_directory(self) -> None:
        prefix = Path(self.prefix)
        if prefix.is_dir() and not any(prefix.iterdir()):
            prefix.rmdir()

    def _note_creation(self, at: str) -> None:
        """Write a note that a creation is in progress into the directory, which must be empty."""
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
        """Return a hint on why venv failed: venv's output does not show why it could not install pip."""
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

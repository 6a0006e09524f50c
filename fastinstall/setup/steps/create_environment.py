"""Create a virtual environment, and remove it again if the setup fails.

During the creation, the environment's directory holds a note (see `journal.creation_note`), so that the next run can
empty the directory if this run is killed.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from fastinstall.core import process, refused_writes, signals
from fastinstall.core.concurrency import await_future
from fastinstall.core.errors import EnvironmentDamagedError, FailedError, RefusedError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.journal import creation_note
from fastinstall.setup.steps import SetupStep


@immutable
class CreateEnvironment(SetupStep):
    """Create a virtual environment.

    Attributes:
        prefix: directory of the environment; it must be empty or not exist.
        python: the interpreter that creates it.
        reason: why the plan has this step, for the user.
    """

    prefix: Path
    python: Path
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
        made = False
        try:
            with signals.defer_signals():
                if not self.prefix.is_dir():
                    self.prefix.mkdir(parents=True)
                    made = True
            yield
        except BaseException:
            with signals.defer_signals():
                if made and self.prefix.is_dir() and not any(self.prefix.iterdir()):
                    self.prefix.rmdir()
            raise

    @contextmanager
    def create(self, at: str, meanwhile: Callable[[], None]) -> Iterator[None]:
        """Create the environment, with pip, and remove it if the block fails. The caller must hold the lock.

        Args:
            at: the current time, for the note that marks the environment as unfinished.
            meanwhile: function to call while venv runs.

        Raises:
            RefusedError: the directory is not empty.
            FailedError: venv failed.
            EnvironmentDamagedError: the unfinished environment could not be removed completely.
        """
        if any(self.prefix.iterdir()):
            message = f"{self.prefix}: already exists, but the plan was to create it"
            raise RefusedError(message, hint=f"--prefix {quote(self.prefix)}")
        begun = False
        try:
            with signals.defer_signals():
                creation_note.note(self.prefix, at)
                begun = True
            self._run_venv(meanwhile)
            yield
        except BaseException:
            if begun:
                self._remove_environment()
            raise
        with signals.defer_signals(), suppress(OSError):
            creation_note.finish(self.prefix)  # if the note cannot be removed, the next command removes it

    def _run_venv(self, meanwhile: Callable[[], None]) -> None:
        argv, process_group = (self.python, "-I", "-m", "venv", self.prefix), process.ProcessGroup()
        with ThreadPoolExecutor(max_workers=1) as pool:
            made = pool.submit(process.run, argv, timeout=300, while_working=True, process_group=process_group)
            try:
                meanwhile()
                await_future(made)
            except process.CommandError as error:
                message = f"{self.python} could not make a virtual environment in {self.prefix}"
                raise FailedError(message, hint=self._advise(), details=error.details) from error
            finally:
                process_group.pull()

    def _advise(self) -> str:
        """Return a hint on why venv failed: venv's output does not show why it could not install pip."""
        try:
            process.run((self.python, "-I", "-c", "import ensurepip, venv"), timeout=60)
        except process.CommandError:
            return "on Debian and Ubuntu: apt-get install python3-venv"
        return f"is there room for it, some 20 MB? df -h {quote(refused_writes.find_nearest(self.prefix))}"

    @signals.defer_signals()
    def _remove_environment(self) -> None:
        try:
            creation_note.clear(self.prefix)
        except OSError as error:
            reason = refused_writes.reason(error, self.prefix)
            raise EnvironmentDamagedError(
                f"{reason}: the unfinished environment could not be removed",
                hint=f"it holds nothing useful; remove the cause, then: rm -r {quote(self.prefix)}",
            ) from error

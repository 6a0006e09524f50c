"""Exceptions for the failures that fastinstall can explain, with their exit codes.

Each of these exceptions means that the run cannot go on. Results of checks are values (`Finding`), not exceptions.
"""

from enum import IntEnum
from pathlib import PurePath


class ExitCode(IntEnum):
    """The exit codes of the command line; scripts rely on them."""

    OK = 0
    BUG = 1
    USAGE = 2
    FINDINGS = 3
    UNDETERMINED = 4
    REFUSED = 5
    FAILED_UNCHANGED = 6
    FAILED_CHANGED = 7
    INTERRUPTED = 130


class FastinstallError(Exception):
    """Base class of the failures: a message, a hint, an exit code, and the error's name in JSON documents (`tag`).

    Args:
        message: what happened and where, with the file, the key or the flag.
        hint: what to do about it, if possible with a pasteable command.
        details: further lines to print below the message (the end of a build log, the attempts made).
    """

    exit_code: ExitCode = ExitCode.BUG
    tag: str = "Fastinstall"

    def __init__(self, message: str, *, hint: str | None = None, details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class UsageError(FastinstallError):
    """An unknown flag, recipe, check or value on the command line or in the settings."""

    exit_code = ExitCode.USAGE
    tag = "Usage"


class DocumentError(UsageError):
    """A malformed recipe, plan, receipt or settings file.

    Args:
        file: the file that is malformed.
        key: the dotted path of the key inside it; empty for the file as a whole.
        problem: what is wrong with the key or the file.
        hint: what to do about it.
    """

    tag = "Document"

    def __init__(self, file: PurePath | str, key: str, problem: str, *, hint: str | None = None) -> None:
        where = f"{file}: {key}" if key else str(file)
        super().__init__(f"{where}: {problem}", hint=hint)
        self.file = file
        self.key = key
        self.problem = problem

    def hinting(self, hint: str) -> "DocumentError":
        """Return the error, with this hint added if it has none."""
        if self.hint is not None:
            return self
        return DocumentError(self.file, self.key, self.problem, hint=self.hint or hint)


class LaterDocumentError(DocumentError):
    """A document of a later fastinstall, in a form that this version cannot read and must not change.

    Args:
        file: the document that a later version wrote.
        key: the dotted path of the key inside it; empty for the document as a whole.
        problem: what this version cannot read.
        version: the version of fastinstall that wrote the document; empty if unknown.
    """

    tag = "LaterDocument"

    def __init__(self, file: PurePath | str, key: str, problem: str, *, version: str = "") -> None:
        writer = f"fastinstall {version}" if version else "a later fastinstall"
        wanted = f"fastinstall>={version}" if version else "fastinstall"
        hint = f"use {writer}: python -m pip install --upgrade '{wanted}'"
        super().__init__(file, key, f"{problem}: written by {writer}, which this version cannot read", hint=hint)
        self.version = version


class UndeterminedError(FastinstallError):
    """Facts that the run needs could not be observed, such as the state of an environment."""

    exit_code = ExitCode.UNDETERMINED
    tag = "Undetermined"


class RefusedError(FastinstallError):
    """The action is not permitted: no consent, a protected environment, an unsupported platform, a stale plan."""

    exit_code = ExitCode.REFUSED
    tag = "Refused"


class DeclinedError(RefusedError):
    """The user was asked and declined: this has the exit code of a refusal, but is not reported as an error."""


class NoEnvironmentError(RefusedError):
    """No environment is active, and the user named none.

    Args:
        nearby: names of the environments in the working directory.
    """

    def __init__(self, nearby: tuple[str, ...]) -> None:
        found = f"; found here: {', '.join(nearby)}" if nearby else ""
        super().__init__(f"no environment is active{found}", hint="name the environment with --prefix DIR")
        self.nearby = nearby


class FailedError(FastinstallError):
    """The run failed and left the environment unchanged, or restored it."""

    exit_code = ExitCode.FAILED_UNCHANGED
    tag = "Failed"


class UnprovenError(FailedError):
    """A build must not be installed: the source does not compile, or operations compute wrong results.

    Args:
        message: what does not compile, or which operations have wrong results.
        version: the version of the source that was built.
        files: the source files that do not compile.
        operations: the names of the operations that failed the proof.
        details: one line for each failure, printed below the message.
    """

    tag = "Unproven"

    def __init__(
        self,
        message: str,
        *,
        version: str,
        files: tuple[str, ...] = (),
        operations: tuple[str, ...] = (),
        details: tuple[str, ...] = (),
    ) -> None:
        hint = "it was not installed; --recipe pillow builds today's Pillow without the kernels"
        super().__init__(message, hint=hint, details=details)
        self.version = version
        self.files = files
        self.operations = operations


class InterruptedAfterCompletion(KeyboardInterrupt):
    """An interruption that came after the requested change was complete.

    Args:
        message: the state of the environment, and how to check it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class EnvironmentDamagedError(FastinstallError):
    """The run failed and left the environment changed; the message and hint say what is left and what to do."""

    exit_code = ExitCode.FAILED_CHANGED
    tag = "Damaged"

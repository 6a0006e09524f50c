"""Every failure that we can explain, with its exit code.

Not for diagnoses: what a check finds is a `Finding`, a value. An exception here means that the
run cannot go on.
"""

from enum import IntEnum
from pathlib import PurePath


class ExitCode(IntEnum):
    """The exit codes of the command line; a contract with scripts."""

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
    """A failure with a message for a person, a hint, an exit code, and a name in documents that tell of it.

    Args:
        message: what happened and where; names the file, the key or the flag.
        hint: what to do about it, with a command that can be pasted where there is one.
        details: further lines (the end of a build log, what was tried), printed below.
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
        problem: what is wrong there.
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
    """A document that a later fastinstall has written, in a form that this one cannot read; nothing is done about it.

    Args:
        file: the document that a later version wrote.
        key: the dotted path of the key inside it; empty for the document as a whole.
        problem: what is not understood.
        version: of the fastinstall that wrote it; empty if it does not say.
    """

    tag = "LaterDocument"

    def __init__(self, file: PurePath | str, key: str, problem: str, *, version: str = "") -> None:
        writer = f"fastinstall {version}" if version else "a later fastinstall"
        wanted = f"fastinstall>={version}" if version else "fastinstall"
        hint = f"use {writer}: python -m pip install --upgrade '{wanted}'"
        super().__init__(file, key, f"{problem}: written by {writer}, which this version cannot read", hint=hint)
        self.version = version


class UndeterminedError(FastinstallError):
    """The target could not be observed."""

    exit_code = ExitCode.UNDETERMINED
    tag = "Undetermined"


class RefusedError(FastinstallError):
    """We could, but must not: consent, protection, unsupported platform, stale plan, foreign file."""

    exit_code = ExitCode.REFUSED
    tag = "Refused"


class DeclinedError(RefusedError):
    """A person was asked and said no: the exit code of a refusal, and no error."""


class NoEnvironmentError(RefusedError):
    """No environment is active, and none was named.

    Args:
        nearby: environments in the working directory.
    """

    def __init__(self, nearby: tuple[str, ...]) -> None:
        found = f"; found here: {', '.join(nearby)}" if nearby else ""
        super().__init__(f"no environment is active{found}", hint="name the environment with --prefix DIR")
        self.nearby = nearby


class FailedError(FastinstallError):
    """Something failed, and the environment is as it was before."""

    exit_code = ExitCode.FAILED_UNCHANGED
    tag = "Failed"


class UnprovenError(FailedError):
    """A build that must not be installed: it does not compile, or it computes something else than it should.

    Args:
        message: what does not compile, or which operation gives another result.
        version: of the source that was built.
        files: of the source, where they do not compile.
        operations: that failed their proof.
        details: one line for each failure, printed below.
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
    """An interruption that came when what was asked for had happened.

    Args:
        message: what holds now, and how to check it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class EnvironmentDamagedError(FastinstallError):
    """Something failed, and the environment is not as it was: says what is where and what to do."""

    exit_code = ExitCode.FAILED_CHANGED
    tag = "Damaged"

"""A journal on the disk: lines are only ever appended, each of them durable before its act."""

import contextlib
import os
from pathlib import Path

from fastinstall.errors import DocumentError
from fastinstall.journal.bounds import refuse_escapes
from fastinstall.journal.entries import Entry, to_line
from fastinstall.journal.lines import whole_size
from fastinstall.journal.log import Log, to_log
from fastinstall.system import files, foreign


class Journal:
    """The log of one transaction.

    Args:
        file: where it lies.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def append(self, entry: Entry) -> None:
        """Write one line and force it to the disk.

        Raises:
            OSError: it could not be written; the journal reads as if it had not been tried.
        """
        self._cut_torn_line()
        whole = self.file.stat().st_size if self.file.exists() else 0
        try:
            files.append_line(self.file, to_line(entry))
        except OSError:
            with contextlib.suppress(OSError):  # a line that may not last must not count now
                os.truncate(self.file, whole)
            raise

    def read(self) -> Log:
        """All whole lines.

        Raises:
            DocumentError: the file is missing, one of its lines is malformed, or a path leads out of the environment.
        """
        if self.file.is_symlink():
            raise DocumentError(self.file, "", f"a link to {self.file.readlink()}, and no journal of ours is one")
        try:
            text = foreign.read_text(self.file, errors="surrogateescape")
        except OSError as error:
            raise DocumentError(self.file, "", f"cannot be read: {error.strerror}") from error
        log = to_log(text, file=self.file)
        refuse_escapes(log, self.file)
        return log

    def _cut_torn_line(self) -> None:
        if not self.file.exists():
            return
        content = foreign.read_bytes(self.file)
        whole = whole_size(content)
        if whole < len(content):
            os.truncate(self.file, whole)

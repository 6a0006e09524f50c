"""The file of a journal: lines are only appended, and each line is durable before the change that it announces."""

import contextlib
import os
from pathlib import Path

from fastinstall.core import files, foreign
from fastinstall.core.errors import DocumentError
from fastinstall.journal.entries import Entry, format_entry_line
from fastinstall.journal.layout import measure_whole_lines
from fastinstall.journal.log import Log, parse_journal
from fastinstall.journal.path_rules import refuse_escapes


class Journal:
    """The journal of one transaction.

    Args:
        file: path of the journal, which need not exist yet.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def append(self, entry: Entry) -> None:
        """Append one line and sync it.

        Raises:
            OSError: the line could not be written; any part of it is removed again if possible.
        """
        self._cut_torn_line()
        whole = self.file.stat().st_size if self.file.exists() else 0
        try:
            files.append_line(self.file, format_entry_line(entry))
        except OSError:
            with contextlib.suppress(OSError):  # a line that may not be durable must not be read
                self._cut(whole)
            raise

    def read(self) -> Log:
        """Read all complete lines.

        Raises:
            DocumentError: the file is missing, one of its lines is malformed, or a path leads out of the environment.
        """
        if self.file.is_symlink():
            raise DocumentError(self.file, "", f"a link to {self.file.readlink()}: a journal is never a link")
        try:
            text = foreign.read_text(self.file, errors="surrogateescape")
        except OSError as error:
            raise DocumentError(self.file, "", f"cannot be read: {error.strerror}") from error
        log = parse_journal(text, file=self.file)
        refuse_escapes(log, self.file)
        return log

    def _cut_torn_line(self) -> None:
        if not self.file.exists():
            return
        content = foreign.read_bytes(self.file)
        whole = measure_whole_lines(content)
        if whole < len(content):
            self._cut(whole)

    def _cut(self, size: int) -> None:
        """Truncate the file to `size` bytes without following a link."""
        descriptor = os.open(self.file, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)

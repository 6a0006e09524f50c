"""The error that the modules of this collection raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

REFUSED, FAILED = 5, 6
"""Exit codes of fastinstall: it refused, or it failed."""


class ToolError(Exception):
    """fastinstall cannot run, or reported an error.

    Args:
        message: what happened and where.
        hint: what to do about it.
        exit_code: of fastinstall, or the one that it would have had.
        details: further lines.
    """

    def __init__(
        self, message: str, hint: str | None = None, exit_code: int = REFUSED, details: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message, self.hint, self.exit_code, self.details = message, hint, exit_code, list(details)

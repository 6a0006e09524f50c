"""The error that the modules of this collection raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

REFUSED, FAILED = 5, 6
"""Exit codes of fastinstall for refusals, and for failures that changed nothing."""


class ToolError(Exception):
    """fastinstall cannot run, or reported an error.

    Args:
        message: what happened and where.
        hint: how to solve the problem; None if unknown.
        exit_code: the exit code of fastinstall or, if it was not run, the code that it uses for such errors.
        details: further lines about the error.
    """

    def __init__(
        self, message: str, hint: str | None = None, exit_code: int = REFUSED, details: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message, self.hint, self.exit_code, self.details = message, hint, exit_code, list(details)

"""Two streams: data on stdout, talk on stderr; colour only where a terminal shows it."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_CODES = {
    "ok": "32",
    "hint": "36",
    "warning": "33",
    "error": "31",
    "crashed": "31",
    "unknown": "33",
    "bold": "1",
    "dim": "2",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Where a run prints.

    Attributes:
        json: stdout bears one JSON document and nothing else.
        quiet: talk is left out; results and errors are not.
        verbose: tracebacks and more talk.
        colour: whether escape codes are used on stderr and stdout.
        interactive: whether a person can be asked.
    """

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    colour: bool = False
    interactive: bool = False

    def data(self, text: str) -> None:
        """Print a result on stdout."""
        _write(sys.stdout, text)

    def talk(self, text: str) -> None:
        """Say something on stderr, unless --quiet."""
        if not self.quiet:
            _write(sys.stderr, text)

    def complain(self, text: str) -> None:
        """Say something on stderr, always."""
        _write(sys.stderr, text)

    def paint(self, text: str, style: str) -> str:
        """`text` in a style ("ok", "warning", "error", "bold", "dim"), where colours are on."""
        code = _CODES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


def wants_colour(variables: Mapping[str, str], *, refused: bool, stream: TextIO) -> bool:
    """Whether to use colour: --no-color, NO_COLOR, FORCE_COLOR, then the terminal. Source: no-color.org."""
    if refused or variables.get("NO_COLOR"):
        return False
    if variables.get("FORCE_COLOR"):
        return True
    return stream.isatty() and variables.get("TERM") != "dumb"


def can_ask(variables: Mapping[str, str]) -> bool:
    """Whether a person sits at a terminal: never in continuous integration."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and not variables.get("CI")


def _write(stream: TextIO, text: str) -> None:
    stream.write(text if text.endswith("\n") else text + "\n")
    stream.flush()

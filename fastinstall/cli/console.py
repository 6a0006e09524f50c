"""Two streams: data on stdout, talk on stderr; colour and line breaks only where a terminal shows them."""

import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import field
from typing import TextIO

from fastinstall.cli.page import Page, harmless
from fastinstall.cli.streams import UnwrittenError, put
from fastinstall.model.immutable import immutable
from fastinstall.rules.secrets import redacted

PLAIN = "FASTINSTALL_PLAIN"
"""The variable that asks for lines alone."""

_NARROWEST = 40
_USUAL = 80


@immutable
class Console:
    """Where a run prints.

    Attributes:
        json: stdout bears one JSON document and nothing else.
        quiet: talk is left out; results and errors are not.
        interactive: whether a person can be asked.
        lines_only: the terminal cannot move its cursor, so that questions and progress come as lines.
        out: how text is laid out for stdout.
        err: likewise, for stderr.
        known: secrets by their value, never printed.
    """

    json: bool = False
    quiet: bool = False
    interactive: bool = False
    lines_only: bool = True
    out: Page = field(default_factory=Page)
    err: Page = field(default_factory=Page)
    known: tuple[str, ...] = field(default=(), repr=False)

    @property
    def verbose(self) -> bool:
        """Whether to show tracebacks and long lists."""
        return self.err.verbose

    def data(self, text: str) -> None:
        """Print a result on stdout.

        Raises:
            UnwrittenError: what stdout leads to does not take it.
        """
        try:
            self._write(sys.stdout, text, self.out)
        except OSError as error:
            raise UnwrittenError(error.strerror or str(error)) from error

    def talk(self, text: str) -> None:
        """Say something on stderr, unless --quiet."""
        if not self.quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """Say something on stderr, always; that nobody can hear it is no reason to stop."""
        with contextlib.suppress(OSError):
            self._write(sys.stderr, text, self.err)

    def _write(self, stream: TextIO, text: str, page: Page) -> None:
        """The one way out: no secret, and nothing that steers a terminal."""
        put(stream, harmless(redacted(text, self.known), colour=page.colour))


def page_for(stream: TextIO, variables: Mapping[str, str], *, colourless: bool, verbose: bool) -> Page:
    """How text is laid out for a stream.

    Args:
        stream: stdout or stderr.
        variables: NO_COLOR, FORCE_COLOR, TERM and COLUMNS count.
        colourless: whether --no-color was given.
        verbose: whether --verbose was.
    """
    return Page(
        width=_width(stream, variables),
        colour=wants_colour(variables, refused=colourless, stream=stream),
        verbose=verbose,
    )


def wants_colour(variables: Mapping[str, str], *, refused: bool, stream: TextIO) -> bool:
    """Whether to use colour: --no-color, NO_COLOR, FORCE_COLOR, then the terminal. Source: no-color.org."""
    if refused or variables.get("NO_COLOR"):
        return False
    if variables.get("FORCE_COLOR"):
        return True
    return stream.isatty() and not is_dumb(variables)


def is_dumb(variables: Mapping[str, str]) -> bool:
    """Whether a terminal is to get lines alone: it understands no escape codes, or FASTINSTALL_PLAIN asks for it.

    The second is for screen readers, by which no terminal can be told: no cursor is moved, and every state is a line.
    """
    asked = variables.get(PLAIN, "").lower() not in ("", "0", "no", "false", "off")
    return asked or variables.get("TERM", "") in ("", "dumb", "unknown")


def can_ask(variables: Mapping[str, str], stdin: TextIO | None, stderr: TextIO) -> bool:
    """Whether a person sits at a terminal: never in continuous integration."""
    return stdin is not None and stdin.isatty() and stderr.isatty() and not variables.get("CI")


def _width(stream: TextIO, variables: Mapping[str, str]) -> int | None:
    if not stream.isatty():
        return None
    told = variables.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return max(int(told), _NARROWEST)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return max(columns or _USUAL, _NARROWEST)

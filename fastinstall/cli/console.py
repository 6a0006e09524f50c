"""Print results on stdout and messages on stderr, with colour and wrapped lines only on a terminal.

Text is laid out for the width and the colours of each stream. This module also copes with closed streams, limited
encodings, pipes that are closed early, and full disks.
"""

import codecs
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from io import StringIO
from typing import Literal, TextIO

from fastinstall.core.messages import PROGRAM, spell_commands
from fastinstall.core.secrets import redact_text
from fastinstall.core.values import immutable

_ESCAPED = "fastinstall.escaped"
"""Error handler that writes unencodable characters as JSON escapes ("\\u00e9"), so that JSON output stays valid."""


def open_closed_streams() -> None:
    """Open standard streams that the caller closed (`>&-`) on /dev/null: later files must not get their numbers."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the new file gets `descriptor`, the lowest free number
        if getattr(sys, name) is None:
            mode = "w" if descriptor else "r"
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", closefd=False))


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4)), error.end


codecs.register_error(_ESCAPED, _escape)


class UnwrittenError(Exception):
    """The result of a run could not be written to stdout."""


@contextlib.contextmanager
def _raising_unwritten() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnwrittenError(f"stdout: {reason}: the result could not be written") from error


def write_lines(stream: TextIO, text: str) -> None:
    """Write whole lines to stdout or stderr.

    A closed pipe (`| head`) is not an error: later output to the stream is discarded.

    Raises:
        OSError: the write failed for another reason; later output to the stream is discarded.
    """
    line = text if text.endswith("\n") else text + "\n"
    with _writing_to(stream):
        try:
            stream.write(line)
        except UnicodeEncodeError:  # a path with invalid bytes, or a character that the locale lacks
            encoding = stream.encoding or "ascii"
            stream.write(line.encode(encoding, _ESCAPED).decode(encoding))


@contextlib.contextmanager
def _writing_to(stream: TextIO) -> Iterator[None]:
    """Flush the stream after the block. If a write fails, discard later output; raise OSError unless a pipe was closed.

    Later output goes to /dev/null, so that Python's own flush at exit does not fail either. Source: Python's
    documentation of the signal module, "Note on SIGPIPE".
    """
    try:
        yield
        stream.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise


SHOWN = 6
_ENDLESS = 10_000
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
_OURS = "|".join(dict.fromkeys(("0", *_CODES.values())))
_ESCAPE = re.compile(
    rf"(?P<ours>\x1b\[(?:{_OURS})m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_PROGRAMS = r"fastinstall|(?:\S*/)?python[\d.]*t?|sudo|apt-get|dnf|zypper|pacman|apk|conda|export|unset|mv|\."
_COMMAND = re.compile(
    r"(?:(?P<talk>.*?[:;]) |(?=fastinstall [a-z ]+ --))"
    rf"(?P<command>(?:{_PROGRAMS}) .*?)"
    r"(?:; (?P<more>(?:or|then) .*))?"
)


@immutable
class Page:
    """The layout of text for a stream.

    Attributes:
        width: columns of the terminal; None if the stream is no terminal, so that lines are not wrapped.
        colour: whether to use colour escape codes.
        verbose: whether to show long lists in full.
        program: the command that starts this program, for suggested commands.
    """

    width: int | None = None
    colour: bool = False
    verbose: bool = False
    program: str = PROGRAM

    def paint(self, text: str, style: str) -> str:
        """Return `text` in a style ("ok", "warning", "error", "bold", "dim"), or unchanged if colours are off."""
        code = _CODES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text

    def lines(self, text: str, *, first: str = "", rest: str = "", style: str = "") -> Iterator[str]:
        """Yield `text` in lines, broken between words; paths and flags stay whole.

        Args:
            text: one paragraph; line breaks in it are shown as escapes.
            first: prefix of the first line.
            rest: prefix of the other lines.
            style: style of each line, without its prefix.
        """
        # Foreign text must not be able to start a new line.
        lines = [spell_commands(text, self.program).replace("\n", "\\n")]
        if self.width is not None:
            lines = _wrap_text(lines[0], max(self.width - len(first), 20), max(self.width - len(rest), 20))
        for number, line in enumerate(lines):
            yield (rest if number else first) + self.paint(line, style)

    def advice(self, text: str, *, first: str = "", rest: str = "", style: str = "") -> Iterator[str]:
        """Yield `text` in lines as `lines` does, but never wrap a command in the text, so that it can be pasted."""
        found = _COMMAND.fullmatch(text)
        length = len(spell_commands(text, self.program))
        if self.width is None or len(first) + length <= self.width or found is None:
            yield from self.lines(text, first=first, rest=rest, style=style)
            return
        if found["talk"]:
            yield from self.lines(found["talk"], first=first, rest=rest, style=style)
            first = rest
        yield first + self.paint(spell_commands(found["command"], self.program), style)
        if found["more"]:
            yield from self.advice(found["more"], first=rest, rest=rest, style=style)

    def table(
        self, head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), margin: int = 0
    ) -> Iterator[str]:
        """Yield the lines of a table; on a narrow terminal, only columns of text are wrapped, not those of numbers.

        Args:
            head: the names of the columns.
            rows: for each row, a text for each column.
            right: indexes of the columns with numbers, which are aligned right.
            margin: width of the empty left margin, in characters.
        """
        from rich.console import Console as RichConsole  # only for tables
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for number, name in enumerate(head):
            figures = number in right
            table.add_column(name, justify="right" if figures else "left", no_wrap=figures, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        written = StringIO()
        width = _ENDLESS if self.width is None else self.width - margin
        colours: Literal["standard"] | None = "standard" if self.colour else None
        console = RichConsole(file=written, width=width, color_system=colours, force_terminal=self.colour)
        console.height = _ENDLESS  # without a height, rich ignores `width` and takes 80 columns for TERM=dumb
        console.print(table, highlight=False)
        yield from (f"{' ' * margin}{line.rstrip()}" for line in written.getvalue().splitlines())

    def shortened(self, items: Sequence[str]) -> tuple[str, ...]:
        """Return the first few items and a line with the number of the others; with --verbose, all items."""
        # A seventh item takes no more room than the line "... and 1 more" that would replace it.
        if self.verbose or len(items) <= SHOWN + 1:
            return tuple(items)
        return (*items[:SHOWN], f"... and {len(items) - SHOWN} more: --verbose or --json")


def strip_control_characters(text: str, *, colour: bool = False) -> str:
    r"""Escape the characters with which text from files or foreign metadata could control the terminal.

    Control characters, and characters that change the writing direction, become JSON escapes ("\u001b"), so that JSON
    output stays valid. Line breaks and tabs stay.

    Args:
        text: the text to print.
        colour: whether to keep our own colour codes; all others are escaped.
    """
    return _ESCAPE.sub(
        lambda found: found[0] if colour and found["ours"] else f"\\u{ord(found[0][0]):04x}{found[0][1:]}", text
    )


def join_lines(lines: Iterable[str]) -> str:
    """Return lines as one text, with a final newline."""
    return "\n".join(lines) + "\n"


def _wrap_text(text: str, first: int, rest: int) -> list[str]:
    """Wrap text; the first line has at most `first` columns, each other line at most `rest`."""
    import textwrap  # only for a terminal

    pad = first - rest
    lines = textwrap.wrap(
        text,
        width=max(first, rest),
        initial_indent=" " * max(-pad, 0),
        subsequent_indent=" " * max(pad, 0),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.lstrip() for line in lines] or [""]


PLAIN = "FASTINSTALL_PLAIN"
"""Environment variable that requests plain lines, without menus and live progress."""

_NARROWEST = 40
_USUAL = 80


@immutable
class Console:
    """Prints results on stdout and messages on stderr.

    Attributes:
        json: whether stdout gets one JSON document and nothing else.
        quiet: whether to omit messages; results and errors are always printed.
        interactive: whether a person can be asked.
        lines_only: whether to ask and to show progress in plain lines, without moving the cursor.
        make_page: returns the layout for stdout or stderr; called for every output, because a terminal can be resized.
        known: the values of secrets, which are never printed.
    """

    json: bool = False
    quiet: bool = False
    interactive: bool = False
    lines_only: bool = True
    make_page: Callable[[TextIO], Page] = lambda _stream: Page()
    known: tuple[str, ...] = field(default=(), repr=False)

    @property
    def out(self) -> Page:
        """The current layout for stdout."""
        return self.make_page(sys.stdout)

    @property
    def err(self) -> Page:
        """The current layout for stderr."""
        return self.make_page(sys.stderr)

    @property
    def verbose(self) -> bool:
        """Whether to show tracebacks, and long lists in full."""
        return self.err.verbose

    def data(self, text: str) -> None:
        """Print a result on stdout.

        Raises:
            UnwrittenError: writing to stdout failed.
        """
        self.exact(spell_commands(text, self.out.program))

    def document(self, text: str) -> None:
        """Print a result in JSON on stdout.

        Raises:
            UnwrittenError: writing to stdout failed.
        """
        self.exact(spell_commands(text, json.dumps(self.out.program, ensure_ascii=False)[1:-1]))

    def exact(self, text: str) -> None:
        """Print a result on stdout unchanged, because a program reads or compares it.

        Other methods adapt the commands in a text to the way in which this program was called.

        Raises:
            UnwrittenError: writing to stdout failed.
        """
        with _raising_unwritten():
            self._write(sys.stdout, text, self.out)

    def patch(self, text: str) -> None:
        """Print a diff on stdout: exact UTF-8 bytes if stdout is a pipe or file, or with escapes on a terminal.

        Raises:
            UnwrittenError: writing to stdout failed.
        """
        if sys.stdout.isatty():
            self.exact(text)
            return
        with _raising_unwritten(), _writing_to(sys.stdout):
            sys.stdout.buffer.write(text.encode("utf-8"))

    def talk(self, text: str) -> None:
        """Print on stderr, unless --quiet."""
        if not self.quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """Print on stderr, even with --quiet; a failed write is ignored."""
        with contextlib.suppress(OSError):
            self._write(sys.stderr, spell_commands(text, self.err.program), self.err)

    def _write(self, stream: TextIO, text: str, page: Page) -> None:
        """Write to a stream, without secrets and without characters that control a terminal."""
        write_lines(stream, strip_control_characters(redact_text(text, self.known), colour=page.colour))


def page_for(
    stream: TextIO, variables: Mapping[str, str], *, colourless: bool, verbose: bool, program: str = PROGRAM
) -> Page:
    """Return the layout for a stream.

    Args:
        stream: stdout or stderr; its terminal, if any, gives the width.
        variables: environment variables; NO_COLOR, FORCE_COLOR, TERM and COLUMNS are used.
        colourless: whether --no-color was given.
        verbose: whether --verbose was given.
        program: the command that starts this program, for suggested commands.
    """
    return Page(
        width=_find_width(stream, variables),
        colour=wants_colour(variables, refused=colourless, stream=stream),
        verbose=verbose,
        program=program,
    )


def wants_colour(variables: Mapping[str, str], *, refused: bool, stream: TextIO) -> bool:
    """Return whether to use colour on a stream.

    --no-color (`refused`) and NO_COLOR switch it off; otherwise, FORCE_COLOR switches it on. Without any of these, only
    terminals get colour. Source: no-color.org.
    """
    if refused or variables.get("NO_COLOR"):
        return False
    if variables.get("FORCE_COLOR"):
        return True
    return stream.isatty() and not is_dumb(variables)


def is_dumb(variables: Mapping[str, str]) -> bool:
    """Return True if a terminal must get plain lines: if it supports no escape codes, or FASTINSTALL_PLAIN is set.

    FASTINSTALL_PLAIN is for users of screen readers, because a screen reader cannot be detected.
    """
    asked = variables.get(PLAIN, "").lower() not in ("", "0", "no", "false", "off")
    return asked or variables.get("TERM", "") in ("", "dumb", "unknown")


def can_ask(variables: Mapping[str, str], stdin: TextIO | None, stderr: TextIO) -> bool:
    """Return True if a person at a terminal can be asked; never in continuous integration."""
    return stdin is not None and stdin.isatty() and stderr.isatty() and not variables.get("CI")


def _find_width(stream: TextIO, variables: Mapping[str, str]) -> int | None:
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

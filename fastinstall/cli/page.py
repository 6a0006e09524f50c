"""One stream as text is laid out for it: its width, its colours, and how much is shown."""

import re
from collections.abc import Iterable, Iterator, Sequence

from fastinstall.model.immutable import immutable

SHOWN = 6
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
_COMMAND = re.compile(r"(?P<talk>.*?[:;]) (?P<command>(?:fastinstall|python|sudo|conda) .*)")


@immutable
class Page:
    """How text is laid out for a stream.

    Attributes:
        width: columns, or None to never wrap lines because no terminal shows them.
        colour: whether escape codes are used.
        verbose: whether long lists are shown whole.
    """

    width: int | None = None
    colour: bool = False
    verbose: bool = False

    def paint(self, text: str, style: str) -> str:
        """`text` in a style ("ok", "warning", "error", "bold", "dim"), where colours are on."""
        code = _CODES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text

    def lines(self, text: str, *, first: str = "", rest: str = "", style: str = "") -> Iterator[str]:
        """`text`, broken between words; paths and flags stay whole.

        Args:
            text: one paragraph.
            first: what stands before the first line.
            rest: what stands before the others.
            style: of every line, without what stands before it.
        """
        room, text = self.width, text.replace("\n", "\\n")  # what is foreign begins no line of its own
        broken = [text] if room is None else _broken(text, max(room - len(first), 20), max(room - len(rest), 20))
        for number, line in enumerate(broken):
            yield (rest if number else first) + self.paint(line, style)

    def advice(self, text: str, *, first: str = "", rest: str = "", style: str = "") -> Iterator[str]:
        """Like `lines`, but a command at the end is never broken, so that it can be pasted."""
        found = _COMMAND.fullmatch(text)
        if self.width is None or len(first) + len(text) <= self.width or found is None:
            yield from self.lines(text, first=first, rest=rest, style=style)
            return
        yield from self.lines(found["talk"], first=first, rest=rest, style=style)
        yield rest + self.paint(found["command"], style)

    def shortened(self, items: Sequence[str]) -> tuple[str, ...]:
        """The first few items, and how many more there are; all of them where much is to be shown."""
        # One more line says no more than the item itself would.
        if self.verbose or len(items) <= SHOWN + 1:
            return tuple(items)
        return (*items[:SHOWN], f"... and {len(items) - SHOWN} more: --verbose or --json")


def harmless(text: str, *, colour: bool = False) -> str:
    r"""`text` without what would steer a terminal: what comes from files and other people's metadata may try to.

    Control characters, and those that turn the direction of writing, become escapes as JSON spells them ("\u001b"), so
    that a document stays one. Line ends and tabs stay.

    Args:
        text: whatever is about to be printed.
        colour: whether our own colours, and no other escape codes, are let through.
    """
    return _ESCAPE.sub(
        lambda found: found[0] if colour and found["ours"] else f"\\u{ord(found[0][0]):04x}{found[0][1:]}", text
    )


def joined(lines: Iterable[str]) -> str:
    """Lines as one text, with a final newline."""
    return "\n".join(lines) + "\n"


def _broken(text: str, first: int, rest: int) -> list[str]:
    """Lines of at most `first` and then `rest` columns."""
    import textwrap  # noqa: PLC0415 (only for a terminal)

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

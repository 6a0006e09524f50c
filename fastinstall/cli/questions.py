"""Ask a person at a terminal: in menus by questionary, or in plain lines if the terminal supports no menus.

The user can go back: with the answer "Back" in a menu, or by typing "back" instead of a text. Only ASCII characters
are written, even if the terminal claims to support more.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from fastinstall.cli.console import Console, Page, strip_control_characters
from fastinstall.core.messages import spell_commands
from fastinstall.core.secrets import redact_text

if TYPE_CHECKING:
    from questionary import Question

Texts = Mapping[str, str]
"""Value of an answer to its text for the user."""
NO_TEXTS: Texts = MappingProxyType({})
_MARK = "? "
_WAYS = "(arrow keys, Enter)"
_POINTER = 6
_BELOW_POINTER = "\n   "
_SHORT = len(" 12")
_TYPED = 20
"""Columns to keep free after a question for a typed answer; if the line has fewer, the answer gets its own line."""


class Asker(Protocol):
    """Asks a person. Ctrl-C and the end of input raise KeyboardInterrupt."""

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Ask yes or no."""

    def choose(self, question: str, answers: Texts, *, default: str | None = None, meanings: Texts = NO_TEXTS) -> str:
        """Ask for one of several answers.

        Args:
            question: one sentence.
            answers: value to label, in order.
            default: the value that is selected initially; None for the first.
            meanings: value to a sentence about it, for values that need one.
        """

    def ask_text(self, question: str, *, default: str = "") -> str:
        """Ask for a line of text."""


def asker_for(console: Console) -> Asker:
    """Return the asker that suits this terminal."""
    return Lines(console) if console.lines_only else Menus(console)


class _Row(str):
    """The row of an answer in a menu, laid out anew each time that questionary draws the menu.

    Attributes:
        make_text: returns label and meaning, laid out for the terminal's current width.
    """

    __slots__ = ("make_text",)
    make_text: Callable[[], str]

    def __format__(self, _specification: str) -> str:
        """Return the label and its meaning."""
        return self.make_text()


class Menus:
    """Asks in menus with arrow keys and Enter, on stderr, because stdout is only for results."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Ask yes or no."""
        import questionary  # only for a person

        asked = self._wrap_question(question, len("(Y/n) Yes"))
        return bool(_ask_unless_interrupted(questionary.confirm(asked, default=default, **self._make_terminal())))

    def choose(self, question: str, answers: Texts, *, default: str | None = None, meanings: Texts = NO_TEXTS) -> str:
        """Ask for one of several answers, each with its meaning; the rows adapt if the terminal is resized."""
        import questionary

        labels = {value: self._fit(label) for value, label in answers.items()}
        texts = {value: self._fit(text) for value, text in meanings.items()}

        def make_text(value: str) -> str:
            return _BELOW_POINTER.join(_break_rows(labels, texts, self._width - _POINTER)[value])

        rows = {value: _Row(label) for value, label in labels.items()}
        for value, row in rows.items():
            row.make_text = partial(make_text, value)
        asked = questionary.select(
            self._wrap_question(question, len(_WAYS)),
            choices=[questionary.Choice(title=row, value=value) for value, row in rows.items()],
            default=default if default in answers else None,
            pointer=">",
            instruction=_WAYS,
            erase_when_done=True,
            **self._make_terminal(),
        )
        answer = str(_ask_unless_interrupted(asked))
        label, page = labels[answer], self._console.err
        self._console.complain(f"{_MARK}{self._wrap_question(question, len(label))} {page.paint(label, 'hint')}")
        return answer

    def ask_text(self, question: str, *, default: str = "") -> str:
        """Ask for a line of text."""
        import questionary

        asked = self._wrap_question(question, max(_TYPED, len(default)))
        return str(_ask_unless_interrupted(questionary.text(asked, default=default, **self._make_terminal()))).strip()

    def _wrap_question(self, question: str, room: int) -> str:
        """Return the question, plus a line break if fewer than `room` columns are left beside it for the answer."""
        text = self._fit(question)
        if len(f"{_MARK}{text} ") + room < self._width:  # one column is left for the cursor
            return text
        lines = self._console.err.lines(text, first=" " * len(_MARK), rest=" " * len(_MARK))
        # The caller or questionary adds one more blank to the indentation of the last line.
        return "\n".join(lines)[len(_MARK) :] + "\n" + " " * (len(_MARK) - 1)

    @property
    def _width(self) -> int:
        return self._console.err.width or 80

    def _fit(self, text: str) -> str:
        return fit(spell_commands(text, self._console.err.program), self._console.known)

    def _make_terminal(self) -> dict[str, Any]:
        from prompt_toolkit.output import ColorDepth, create_output
        from prompt_toolkit.styles import Style

        depth = None if self._console.err.colour else ColorDepth.MONOCHROME
        cyan = Style([(name, "fg:ansicyan") for name in ("qmark", "pointer", "highlighted", "answer")])
        return {"output": create_output(stdout=sys.stderr), "color_depth": depth, "style": cyan}


class Lines:
    """Asks in plain lines without escape codes; the user answers with a number or a word, then Enter."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Ask yes or no."""
        words = {"": default, "y": True, "yes": True, "n": False, "no": False}
        while (answer := self._ask_line(question, f"({'Y/n' if default else 'y/N'})").lower()) not in words:
            self._say("Answer y or n.\n")
        return words[answer]

    def choose(self, question: str, answers: Texts, *, default: str | None = None, meanings: Texts = NO_TEXTS) -> str:
        """Ask for one of several answers."""
        values = list(answers)
        usual = values.index(default) + 1 if default in values else 1
        margin, width = len(str(len(values))) + 4, self._console.err.width
        rows = _break_rows(answers, meanings, None if width is None else width - margin)
        for number, lines in enumerate(rows.values(), start=1):
            row = ("\n" + " " * margin).join(lines)
            self._say(f"{number:>{margin - 2}}) {row}\n")
        while True:
            answer = self._ask_line(question, f"(1 to {len(values)}, Enter for {usual})") or str(usual)
            if answer.isdecimal() and 1 <= int(answer) <= len(values):
                return values[int(answer) - 1]
            self._say(f"Answer with a number from 1 to {len(values)}.\n")

    def ask_text(self, question: str, *, default: str = "") -> str:
        """Ask for a line of text."""
        return self._ask_line(question, f"(Enter for {default})" if default else "") or default

    def _ask_line(self, question: str, ways: str) -> str:
        """Print a question and the possible answers `ways`, on a second line if necessary; return the typed answer."""
        asked, page = f"{question} {ways}".rstrip(), self._console.err
        if page.width is not None and len(asked) + _SHORT > page.width:
            asked = "\n".join((*page.lines(question), ways)).rstrip()
        line = ""
        try:  # includes printing the question, because Ctrl-C may come as soon as the question is visible
            self._say(f"{asked} ")
            line = sys.stdin.readline()
        finally:
            if not line.endswith("\n"):  # without Enter, the next message would continue this line
                self._say("\n")
        if not line:
            raise KeyboardInterrupt
        return line.strip()

    def _say(self, text: str) -> None:
        sys.stderr.write(fit(text, self._console.known))
        sys.stderr.flush()


def fit(text: str, known: tuple[str, ...] = ()) -> str:
    """Return a text without secrets, with escapes for control characters and characters that stderr cannot encode."""
    encoding = sys.stderr.encoding or "ascii"
    return strip_control_characters(redact_text(text, known)).encode(encoding, "backslashreplace").decode(encoding)


def _break_rows(labels: Texts, meanings: Texts, room: int | None) -> dict[str, list[str]]:
    """Return the lines of each answer: label and meaning side by side, or one below the other if labels are long.

    Args:
        labels: value to label.
        meanings: value to a sentence about it.
        room: columns per line; None to leave lines unbroken.
    """
    width = max((len(labels[value]) for value in meanings if value in labels), default=0)
    rows = {value: [f"{label:<{width}}  {meanings.get(value, '')}".rstrip()] for value, label in labels.items()}
    if room is None or all(len(row) <= room for (row,) in rows.values()):
        return rows
    page = Page(width=room)
    for value, label in labels.items():
        meaning = meanings.get(value, "")
        if meaning and width <= room // 3:
            rows[value] = list(page.lines(meaning, first=f"{label:<{width}}  ", rest=" " * (width + 2)))
        else:
            pieces = [label[start : start + room] for start in range(0, len(label), room)]
            rows[value] = [*pieces, *(page.lines(meaning, first="    ", rest="    ") if meaning else ())]
    return rows


def _ask_unless_interrupted(question: "Question") -> object:
    try:
        return question.unsafe_ask()
    except EOFError:
        raise KeyboardInterrupt from None


BACK = "back"
"""The word that the user types to go back; a directory with this name is typed as `./back`."""
NOTHING = "-"
"""The character that the user types to clear a value."""


def choose_or_go_back(
    asker: Asker, question: str, meanings: Texts, *, labels: Texts = NO_TEXTS, default: str | None = None
) -> str | None:
    """Ask for one of the answers, or return None if the user goes back.

    Args:
        asker: asks the question.
        question: one sentence.
        meanings: value to a sentence about it, in order.
        labels: value to label, for values whose label is not the value itself.
        default: the value that is selected initially; if it is not among the values, the first value is selected.
    """
    answers = {str(value): str(value) for value in meanings} | dict(labels) | {BACK: "Back"}
    marked = default if default in answers else None
    answer = asker.choose(question, answers, default=marked, meanings=meanings)
    return None if answer == BACK else answer


def ask_text_or_go_back(
    asker: Asker, question: str, read: Callable[[str], object], complain: Callable[[str], None], default: str = ""
) -> str | None:
    """Ask for a line of text until it is valid or empty; return None if the user goes back.

    Args:
        asker: asks the question.
        question: one sentence, without the instructions for going back.
        read: raises ValueError with a sentence if the text is invalid.
        complain: prints the sentence of that error, before the question is asked again.
        default: the answer if the user presses only Enter.
    """
    ways = f"{BACK}: go back" + (f", {NOTHING}: none" if default else "")
    while True:
        answer = asker.ask_text(f"{question} [{ways}]:", default=default)
        if answer == BACK:
            return None
        if answer in ("", NOTHING):
            return ""
        try:
            read(answer)
        except ValueError as error:
            complain(str(error))
        else:
            return answer

"""Questions to a person at a terminal: menus by questionary, or plain lines where the terminal knows only these.

A question can be taken back: by the answer "Back" of a menu, or the word "back" where text is typed. No character
beyond ASCII is written, whatever the terminal says that it can show.
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
"""Texts for a person, by the values that they stand for."""
NO_TEXTS: Texts = MappingProxyType({})
_MARK = "? "
_WAYS = "(arrow keys, Enter)"
_POINTER = 6
_BELOW_POINTER = "\n   "
_SHORT = len(" 12")
_TYPED = 20
"""Columns that a question leaves for an answer that is typed; a longer one goes on in the next line."""


class Asker(Protocol):
    """Asks a person. Ctrl-C and the end of input raise KeyboardInterrupt."""

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Ask yes or no."""
        ...

    def choose(self, question: str, answers: Texts, *, default: str | None = None, meanings: Texts = NO_TEXTS) -> str:
        """Ask for one of several answers.

        Args:
            question: what is asked, in one sentence.
            answers: value to label, in order.
            default: the value that is marked first; None for the first one.
            meanings: a sentence about a value, for those that need one.
        """
        ...

    def ask_text(self, question: str, *, default: str = "") -> str:
        """Ask for a line of text."""
        ...


def asker_for(console: Console) -> Asker:
    """Return how questions are asked on this terminal."""
    return Lines(console) if console.lines_only else Menus(console)


class _Row(str):
    """The label of an answer, which questionary formats for every screen that it draws.

    Attributes:
        make_text: returns the row for the terminal as it is now.
    """

    __slots__ = ("make_text",)
    make_text: Callable[[], str]

    def __format__(self, _specification: str) -> str:
        """Return the row: the label, and what it means."""
        return self.make_text()


class Menus:
    """Arrow keys and Enter, on stderr, so that stdout holds results alone."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Ask yes or no."""
        import questionary  # noqa: PLC0415 (only for a person)

        asked = self._wrap_question(question, len("(Y/n) Yes"))
        return bool(_ask_unless_interrupted(questionary.confirm(asked, default=default, **self._make_terminal())))

    def choose(self, question: str, answers: Texts, *, default: str | None = None, meanings: Texts = NO_TEXTS) -> str:
        """Ask for one of several answers, each with its meaning; rows fit the terminal also after it was resized."""
        import questionary  # noqa: PLC0415

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
        import questionary  # noqa: PLC0415

        asked = self._wrap_question(question, max(_TYPED, len(default)))
        return str(_ask_unless_interrupted(questionary.text(asked, default=default, **self._make_terminal()))).strip()

    def _wrap_question(self, question: str, room: int) -> str:
        """Return the question; where its line has no room for the answer too, the answer gets the next one."""
        text = self._fit(question)
        if len(f"{_MARK}{text} ") + room < self._width:  # one column is left for the cursor
            return text
        lines = self._console.err.lines(text, first=" " * len(_MARK), rest=" " * len(_MARK))
        return "\n".join(lines)[len(_MARK) :] + "\n" + " " * (len(_MARK) - 1)  # a blank follows in any case

    @property
    def _width(self) -> int:
        return self._console.err.width or 80

    def _fit(self, text: str) -> str:
        return fit(spell_commands(text, self._console.err.program), self._console.known)

    def _make_terminal(self) -> dict[str, Any]:
        from prompt_toolkit.output import ColorDepth, create_output  # noqa: PLC0415
        from prompt_toolkit.styles import Style  # noqa: PLC0415

        depth = None if self._console.err.colour else ColorDepth.MONOCHROME
        cyan = Style([(name, "fg:ansicyan") for name in ("qmark", "pointer", "highlighted", "answer")])
        return {"output": create_output(stdout=sys.stderr), "color_depth": depth, "style": cyan}


class Lines:
    """A number or a word and Enter, without a single escape code; each state is a line that ends."""

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
        """Return what is answered; where a line is too narrow for the question and its ways, these get the next one."""
        asked, page = f"{question} {ways}".rstrip(), self._console.err
        if page.width is not None and len(asked) + _SHORT > page.width:
            asked = "\n".join((*page.lines(question), ways)).rstrip()
        self._say(f"{asked} ")
        line = ""
        try:
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
    """Return a text as stderr can show it: no secret, nothing that steers a terminal, what it cannot encode escaped."""
    encoding = sys.stderr.encoding or "ascii"
    return strip_control_characters(redact_text(text, known)).encode(encoding, "backslashreplace").decode(encoding)


def _break_rows(labels: Texts, meanings: Texts, room: int | None) -> dict[str, list[str]]:
    """Return the lines of every answer: label and meaning side by side, or one below the other where labels are long.

    Args:
        labels: value to what the answer is called.
        meanings: value to a sentence about it.
        room: columns; None if lines are not broken.
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
"""What is typed to go back; a directory of that name is `./back`."""
NOTHING = "-"
"""What is typed for no value at all, where there is one."""


def choose_or_go_back(
    asker: Asker, question: str, meanings: Texts, *, labels: Texts = NO_TEXTS, default: str | None = None
) -> str | None:
    """Ask for one of the answers, or return None if the user goes back.

    Args:
        asker: asks by cursor or in lines, by the terminal.
        question: what is asked, in one sentence.
        meanings: value to a sentence about it, in order.
        labels: of the values that do not stand for themselves.
        default: the value that is marked first, where it is one of them; else the first one.
    """
    answers = {str(value): str(value) for value in meanings} | dict(labels) | {BACK: "Back"}
    marked = default if default in answers else None
    answer = asker.choose(question, answers, default=marked, meanings=meanings)
    return None if answer == BACK else answer


def ask_text_or_go_back(
    asker: Asker, question: str, read: Callable[[str], object], complain: Callable[[str], None], default: str = ""
) -> str | None:
    """Ask for a valid or empty line of text, or return None if the user goes back.

    Args:
        asker: asks by cursor or in lines, by the terminal.
        question: one sentence, without its ways out.
        read: raises ValueError with a sentence where the text makes no sense.
        complain: tells that sentence; the question is asked again.
        default: the text that Enter alone gives.
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

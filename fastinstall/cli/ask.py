"""Questions to a person at a terminal: menus by questionary, or plain lines where the terminal knows only these."""

import sys
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from fastinstall.cli.console import Console
from fastinstall.cli.page import harmless

if TYPE_CHECKING:
    from questionary import Question

_POINTER = 6


class Asker(Protocol):
    """Asks; Ctrl-C and the end of the input are interruptions (KeyboardInterrupt)."""

    def confirmed(self, question: str, *, default: bool = True) -> bool:
        """Ask yes or no."""
        ...

    def chosen(self, question: str, answers: Mapping[str, str], *, default: str | None = None) -> str:
        """Ask for one of several answers.

        Args:
            question: one sentence.
            answers: value to label, in order.
            default: the value that is marked first; None for the first one.
        """
        ...

    def typed(self, question: str, *, default: str = "") -> str:
        """Ask for a line of text."""
        ...


def asker_for(console: Console) -> Asker:
    """How questions are asked on this terminal."""
    return Lines() if console.lines_only else Menus(console)


class Menus:
    """Arrow keys and Enter, on stderr, so that stdout holds results alone."""

    def __init__(self, console: Console) -> None:
        self._page = console.err

    def confirmed(self, question: str, *, default: bool = True) -> bool:
        """Ask yes or no."""
        import questionary  # noqa: PLC0415 (only for a person)

        return bool(_answer(questionary.confirm(question, default=default, **self._terminal())))

    def chosen(self, question: str, answers: Mapping[str, str], *, default: str | None = None) -> str:
        """Ask for one of several answers."""
        import questionary  # noqa: PLC0415

        room = (self._page.width or 80) - _POINTER
        choices = [
            questionary.Choice(title=textwrap.shorten(label, room, placeholder=" ..."), value=value)
            for value, label in answers.items()
        ]
        return str(_answer(questionary.select(question, choices=choices, default=default, **self._terminal())))

    def typed(self, question: str, *, default: str = "") -> str:
        """Ask for a line of text."""
        import questionary  # noqa: PLC0415

        return str(_answer(questionary.text(question, default=default, **self._terminal()))).strip()

    def _terminal(self) -> dict[str, Any]:
        from prompt_toolkit.output import ColorDepth, create_output  # noqa: PLC0415

        depth = None if self._page.colour else ColorDepth.MONOCHROME
        return {"output": create_output(stdout=sys.stderr), "color_depth": depth}


class Lines:
    """A number or a word and Enter, without a single escape code."""

    def confirmed(self, question: str, *, default: bool = True) -> bool:
        """Ask yes or no."""
        words = {"": default, "y": True, "yes": True, "n": False, "no": False}
        while (answer := _line(f"{question} ({'Y/n' if default else 'y/N'}) ").lower()) not in words:
            _say("Answer y or n.\n")
        return words[answer]

    def chosen(self, question: str, answers: Mapping[str, str], *, default: str | None = None) -> str:
        """Ask for one of several answers."""
        values = list(answers)
        usual = values.index(default) + 1 if default in values else 1
        _say("".join(f"  {number}) {label}\n" for number, label in enumerate(answers.values(), start=1)))
        while True:
            answer = _line(f"{question} (1 to {len(values)}, Enter for {usual}) ") or str(usual)
            if answer.isdecimal() and 1 <= int(answer) <= len(values):
                return values[int(answer) - 1]
            _say(f"Answer with a number from 1 to {len(values)}.\n")

    def typed(self, question: str, *, default: str = "") -> str:
        """Ask for a line of text."""
        return _line(f"{question} (Enter for {default}) " if default else f"{question} ") or default


def _answer(question: "Question") -> object:
    try:
        return question.unsafe_ask()
    except EOFError:
        raise KeyboardInterrupt from None


def _line(prompt: str) -> str:
    _say(prompt)
    line = sys.stdin.readline()
    if not line:
        raise KeyboardInterrupt
    return line.strip()


def _say(text: str) -> None:
    sys.stderr.write(harmless(text))
    sys.stderr.flush()

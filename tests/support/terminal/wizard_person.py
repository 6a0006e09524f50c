"""A simulated person who answers the wizard, by arrow keys in menus, or by numbers on a terminal with plain lines."""

import re
import time
from dataclasses import dataclass

from support.terminal.pseudo_terminal import DOWN, ENTER, UP, Terminal

MENU = "Proceed?"
TOPICS = "What to change?"
WHERE = "Which one gets the fast Pillow?"

_ERASED = "\x15"


@dataclass(kw_only=True)
class Person:
    """A person at a terminal.

    Attributes:
        shown: the terminal.
        plain: whether the terminal supports only plain lines.
        after: number of characters of the terminal's words that have been read.
    """

    shown: Terminal
    plain: bool = False
    after: int = 0

    def reads(self, words: str) -> None:
        """Wait until these words appear after those that have been read."""
        self.after = self.shown.expect(words, after=self.after)

    def chooses(self, question: str, label: str) -> None:
        """Choose an answer of a menu, by the beginning of its label."""
        if self.plain:
            self.reads(question)
            self.reads(")")
            numbers = re.findall(rf"(?m)^ +(\d+)\) {re.escape(label)}", self.shown.text)
            self.shown.press(numbers[-1], ENTER)
            return
        self.reads(question)
        self.shown.press(*self.keys(label), ENTER)

    def types(self, question: str, text: str) -> None:
        """Answer a question with a text that replaces the proposed one."""
        self.presses(question, "" if self.plain else _ERASED, text, ENTER)

    def presses(self, question: str, *keys: str) -> None:
        """Press keys at a question for text."""
        self.reads(question)
        self.shown.press(*keys)

    def keys(self, label: str) -> list[str]:
        """Return the arrow keys that lead from the selected row of the menu to the label."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            rows = self.shown.rows
            last = max((number for number, row in enumerate(rows) if row.startswith("? ")), default=0)
            # The explanation of an answer may continue on further, indented rows.
            answers = [row for row in rows[last + 1 :] if re.match(r" [ >] \S", row)]
            pointed = [number for number, row in enumerate(answers) if row.startswith(" > ")]
            meant = [number for number, row in enumerate(answers) if row[3:].startswith(label)]
            if pointed and meant:
                way = meant[0] - pointed[0]
                return [DOWN if way > 0 else UP] * abs(way)
            self.shown.listen()
        raise AssertionError(f"no answer {label!r}:\n{self.shown.text}")

"""Somebody at a terminal, for questions without one: gives the answers that it was made with, then what is marked."""

from collections.abc import Mapping


class AskedPerson:
    """Gives its answers one after the other; then the one that is marked first, and notes what was offered.

    Args:
        answers: values of menus and lines of text, in order.
    """

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.offered: Mapping[str, str] = {}
        self.meanings: Mapping[str, str] = {}
        self.questions: list[str] = []

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """A question of another kind than are expected."""
        raise AssertionError(f"not to be asked: {question} ({default})")

    def choose(
        self,
        question: str,
        answers: Mapping[str, str],
        *,
        default: str | None = None,
        meanings: Mapping[str, str] | None = None,
    ) -> str:
        """One of the answers."""
        self.questions.append(question)
        self.offered, self.meanings = answers, meanings or {}
        answer = self._answers.pop(0) if self._answers else default or next(iter(answers))
        assert answer in answers, f"{question}: {answer}"
        return answer

    def ask_text(self, question: str, *, default: str = "") -> str:
        """A line of text."""
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else default

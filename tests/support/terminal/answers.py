"""A simulated person who answers questions without a terminal."""

from collections.abc import Mapping


class AskedPerson:
    """Returns the given answers in order, and then the default or first answer; records the questions.

    Args:
        answers: values of menus and lines of text, in order.
    """

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.offered: Mapping[str, str] = {}
        self.meanings: Mapping[str, str] = {}
        self.questions: list[str] = []

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Fail, as the tests expect no yes-or-no question."""
        raise AssertionError(f"not to be asked: {question} ({default})")

    def choose(
        self,
        question: str,
        answers: Mapping[str, str],
        *,
        default: str | None = None,
        meanings: Mapping[str, str] | None = None,
    ) -> str:
        """Return the next answer of a menu."""
        self.questions.append(question)
        self.offered, self.meanings = answers, meanings or {}
        answer = self._answers.pop(0) if self._answers else default or next(iter(answers))
        assert answer in answers, f"{question}: {answer}"
        return answer

    def ask_text(self, question: str, *, default: str = "") -> str:
        """Return the next line of text."""
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else default

"""Questions that can be taken back: the answer "Back" of a menu, the word "back" where text is typed."""

from collections.abc import Callable, Mapping

from fastinstall.cli.ask import Asker
from fastinstall.model.immutable import immutable

BACK = "back"
"""What is typed to go back; a directory of that name is `./back`."""
NOTHING = "-"
"""What is typed for no value at all, where there is one."""


@immutable
class Menu:
    """A question with several answers.

    Attributes:
        question: one sentence.
        answers: value to label, in order.
        meanings: value to a sentence about it.
        default: the value that is marked first; None for the first one.
    """

    question: str
    answers: Mapping[str, str]
    meanings: Mapping[str, str]
    default: str | None = None


def chosen_or_back(asker: Asker, menu: Menu, back: str = "Back") -> str | None:
    """Ask for one of the answers, or return None if the user goes back.

    Args:
        asker: how to ask.
        menu: the question.
        back: label of the answer that goes back.
    """
    answers = {**menu.answers, BACK: back}
    answer = asker.chosen(menu.question, answers, default=menu.default, meanings=menu.meanings)
    return None if answer == BACK else answer


def typed_or_back(
    asker: Asker, question: str, read: Callable[[str], object], complain: Callable[[str], None], default: str = ""
) -> str | None:
    """Ask for a valid or empty line of text, or return None if the user goes back.

    Args:
        asker: how to ask.
        question: one sentence, without its ways out.
        read: raises ValueError with a sentence where the text makes no sense.
        complain: tells that sentence; the question is asked again.
        default: what Enter gives.
    """
    ways = f"{BACK}: go back" + (f", {NOTHING}: none" if default else "")
    while True:
        answer = asker.typed(f"{question} [{ways}]:", default=default)
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

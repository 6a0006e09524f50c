"""Questions to a person at a terminal, by questionary."""

from collections.abc import Mapping, Sequence


def confirmed(question: str) -> bool:
    """Ask yes or no; Ctrl-C is an interruption."""
    import questionary  # noqa: PLC0415 (only for a person)

    return bool(questionary.confirm(question, default=True).unsafe_ask())


def chosen(question: str, answers: Mapping[str, str], *, default: str | None = None) -> str:
    """Ask for one of several answers.

    Args:
        question: one sentence.
        answers: value to label, in order.
        default: the value that is marked first.
    """
    import questionary  # noqa: PLC0415

    choices = [questionary.Choice(title=label, value=value) for value, label in answers.items()]
    return str(questionary.select(question, choices=choices, default=default).unsafe_ask())


def typed(question: str, *, default: str = "") -> str:
    """Ask for a line of text."""
    import questionary  # noqa: PLC0415

    return str(questionary.text(question, default=default).unsafe_ask())


def ticked(question: str, answers: Sequence[str]) -> tuple[str, ...]:
    """Ask for any number of several answers."""
    import questionary  # noqa: PLC0415

    return tuple(questionary.checkbox(question, choices=list(answers)).unsafe_ask())

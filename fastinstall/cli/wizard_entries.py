"""Wishes that are typed: version, required libraries, channels, a wheelhouse, a number of jobs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fastinstall.api.observing import recipe_named
from fastinstall.cli import readers
from fastinstall.cli.ask_back import typed_or_back
from fastinstall.cli.wizard_talk import Talk
from fastinstall.model.wish import Wish


def version(talk: Talk, wish: Wish) -> Wish | None:
    """Of the source."""
    talk.say("The newest version that fits has all security fixes; name one only where something needs it.")
    question = "Version of the source, empty for the newest that fits"
    typed = _typed(talk, question, readers.text, wish.version or "")
    return None if typed is None else replace(wish, version=typed or None)


def require(talk: Talk, wish: Wish) -> Wish | None:
    """Libraries that the build must have."""
    known = recipe_named(talk.session, wish.recipe).libraries

    def read(text: str) -> object:
        unknown = [name for name in readers.names(text) if name not in known]
        if unknown:
            raise ValueError(f"{unknown[0]} is none of {', '.join(known)}")
        return text

    talk.say(f"The setup fails where one of them cannot be had, instead of leaving it out: {', '.join(known)}")
    typed = _typed(talk, "Libraries that it must have, separated by commas", read, ",".join(wish.require))
    return None if typed is None else replace(wish, require=readers.names(typed))


def channels(talk: Talk, wish: Wish) -> Wish | None:
    """Of conda."""
    talk.say("Asked only where another package is needed; the first one is preferred.")
    question = "Channels, separated by commas, empty for those that conda is configured for"
    typed = _typed(talk, question, readers.channels, ",".join(wish.channels))
    return None if typed is None else replace(wish, channels=readers.channels(typed))


def wheelhouse(talk: Talk, wish: Wish) -> Wish | None:
    """A directory of wheels and sdists."""
    talk.say("What lies there is taken before the package index: `fastinstall build -o DIR` makes one.")
    typed = _typed(talk, "Directory of wheels, empty for none", readers.directory, str(wish.wheelhouse or ""))
    return None if typed is None else replace(wish, wheelhouse=_directory(typed))


def jobs(talk: Talk, wish: Wish) -> Wish | None:
    """Parallel compile jobs."""
    talk.say("Fewer leave more of the machine to others while it compiles, and take longer.")
    typed = _typed(talk, "Parallel jobs, empty for one for each CPU", readers.count, str(wish.jobs or ""))
    return None if typed is None else replace(wish, jobs=readers.count(typed) if typed else None)


def _typed(talk: Talk, question: str, read: Callable[[str], object], default: str) -> str | None:
    return typed_or_back(talk.asker, question, read, talk.say, default=default)


def _directory(typed: str) -> Path | None:
    return readers.directory(typed) if typed else None

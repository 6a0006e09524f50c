"""The menu of all that can be customised: each wish with its value, and the command line that asks for all of them."""

from collections.abc import Callable
from pathlib import Path

from fastinstall.api.image_sizes import sampled_sizes
from fastinstall.cli.ask_back import BACK, typed_or_back
from fastinstall.cli.options import as_flags
from fastinstall.cli.wizard_talk import Talk
from fastinstall.cli.wizard_topics import TOPICS, Topic
from fastinstall.errors import FastinstallError
from fastinstall.model.wish import Wish
from fastinstall.rules.loading_promise import promise
from fastinstall.rules.messages import quote

_DONE, _IMAGES = "done", "images"
_QUESTION = "What to change?"


def customised(talk: Talk, wish: Wish, changed: Callable[[Wish], None]) -> Wish | None:
    """Another wish, changed one thing at a time; None where the person takes it all back.

    Args:
        talk: who is talked to.
        wish: what was asked for so far.
        changed: hears of every change, so that none is lost.
    """
    topics = {topic.fields[0]: topic for topic in TOPICS if topic.applies(talk.facts)}
    while True:
        talk.console.talk(f"\nthe same as flags:\n  {_command(talk, wish)}")
        answer = talk.asker.chosen(_QUESTION, _answers(topics, wish))
        if answer == _DONE:
            return wish
        if answer == BACK:
            return None
        if answer == _IMAGES:
            _tell_of_images(talk)
            continue
        other = _asked(talk, topics[answer], wish)
        if other is not None and other != wish:
            wish = other
            changed(wish)


def _answers(topics: dict[str, Topic], wish: Wish) -> dict[str, str]:
    width = max(len(topic.title) for topic in topics.values()) + 2
    rows = {name: f"{topic.title:<{width}}{topic.told(wish)}" for name, topic in topics.items()}
    images = f"{'Your images':<{width}}what to expect (optional)"
    return {_DONE: "Done: show the plan", **rows, _IMAGES: images, BACK: "Back: forget these changes"}


def _asked(talk: Talk, topic: Topic, wish: Wish) -> Wish | None:
    """What a topic's questions come to; a question that cannot be asked now is explained."""
    try:
        return topic.ask(talk, wish)
    except FastinstallError as error:
        talk.say(f"{error.message}; nothing is changed here")
        return None


def _tell_of_images(talk: Talk) -> None:
    typed = typed_or_back(talk.asker, "Where are your images? A directory, or empty", _images, talk.say)
    if typed:
        for sentence in promise(sampled_sizes(_place(typed))):
            talk.say(sentence)


def _images(text: str) -> object:
    place = _place(text)
    if not place.exists():
        raise ValueError(f"{place} is not there")
    return place


def _place(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _command(talk: Talk, wish: Wish) -> str:
    flag = "--prefix" if talk.target.new is None else "--new-env"
    words = ("fastinstall", "setup", flag, str(talk.facts.environment.prefix), *as_flags(wish))
    return " ".join(quote(word) for word in words)

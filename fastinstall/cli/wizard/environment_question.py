"""The question which environment is meant: what is at hand with what is in it, making one, naming one.

Who the wizard talks to, and about what.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

from fastinstall.cli.console import Console
from fastinstall.cli.questions import Asker, ask_text_or_go_back
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Started
from fastinstall.core.values import immutable
from fastinstall.model.facts import Facts
from fastinstall.model.request import EnvironmentKind, Request
from fastinstall.observe.active_environment import NamedTarget, active_prefixes
from fastinstall.observe.session import Session
from fastinstall.verbs.answers import read_kept_answers
from fastinstall.verbs.everywhere import NEARBY, AtHand, discover_environments
from fastinstall.verbs.recipe_comparison import RecipePreview, compare_recipes

CANCELLED = "cancelled; nothing was changed"

_NEW, _NAME, _CANCEL = "new", "name", "cancel"
_ACTIVE = "active"


@immutable
class EnvironmentChooser:
    """Who chooses an environment.

    Attributes:
        session: the outside world.
        asker: how to ask.
        console: where to say something.
        directory: where the person is.
    """

    session: Session
    asker: Asker
    console: Console
    directory: Path

    def choose(self) -> NamedTarget:
        """Ask until there is an answer.

        Raises:
            RefusedError: they cancelled.
        """
        found = discover_environments(self.session, self.directory)
        answers, meanings = self._list_answers(found)
        while True:
            answer = self.asker.choose(_format_question(found, self.session), answers, meanings=meanings)
            if answer == _CANCEL:
                raise RefusedError(CANCELLED)
            if answer not in (_NEW, _NAME):
                return NamedTarget(prefix=Path(answer))
            target = self._ask_new_directory() if answer == _NEW else self._ask_existing_directory()
            if target is not None:
                return target

    def _list_answers(self, found: Sequence[AtHand]) -> tuple[dict[str, str], dict[str, str]]:
        prefixes = {str(each.seen.prefix): each for each in found}
        answers = {
            path: _shorten_path(each.seen.prefix, self.directory, self._get_home()) for path, each in prefixes.items()
        }
        meanings = {path: self._describe_environment(each) for path, each in prefixes.items()}
        answers |= {_NEW: "Make one", _NAME: "Name one", _CANCEL: "Cancel"}
        meanings |= {
            _NEW: "a fresh virtual environment, and nothing else is touched: good for a first try",
            _NAME: "another environment that is there, by its directory",
            _CANCEL: "change nothing",
        }
        return answers, meanings

    def _describe_environment(self, each: AtHand) -> str:
        stopped = "; you stopped here before" if read_kept_answers(self.session, each.seen.prefix) is not None else ""
        return f"{describe_found_environment(each)}{stopped}"

    def _ask_new_directory(self) -> NamedTarget | None:
        typed = self._ask_typed("Directory of the environment to make", self._require_absent, "./fast-env")
        return NamedTarget(new=self.directory / Path(typed).expanduser()) if typed else None

    def _ask_existing_directory(self) -> NamedTarget | None:
        typed = self._ask_typed("Directory of the environment", self._require_environment, "")
        return NamedTarget(prefix=self.directory / Path(typed).expanduser()) if typed else None

    def _ask_typed(self, question: str, read: Callable[[str], object], default: str) -> str | None:
        return ask_text_or_go_back(self.asker, question, read, self._say, default=default)

    def _say(self, text: str) -> None:
        self.console.talk("\n".join(self.console.err.lines(text, first="  ", rest="  ")))

    def _require_absent(self, text: str) -> object:
        place = self.directory / Path(text).expanduser()
        if os.path.lexists(place) and (not place.is_dir() or any(place.iterdir())):
            raise ValueError(f"{place} is there already: type another directory")
        return place

    def _require_environment(self, text: str) -> object:
        place = self.directory / Path(text).expanduser()
        if not any(os.path.lexists(place / name) for name in ("bin/python", "bin/python3")):
            raise ValueError(f"{place} is no Python environment: it has no bin/python")
        return place

    def _get_home(self) -> str:
        return self.session.variables.get("HOME", "")


def is_left_open(target: NamedTarget, session: Session) -> bool:
    """Whether neither flags nor the shell say which one environment is meant; fastinstall's own never is."""
    if target.prefix or target.python or target.new:
        return False
    return len(_list_active_prefixes(session) - {os.path.realpath(session.tool_prefix)}) != 1


def describe_found_environment(each: AtHand) -> str:
    """What is in an environment, and how it is known, in one line."""
    seen = each.seen
    python = f"Python {seen.python}" if seen.python else "Python of an unknown version"
    conda = ", conda" if seen.kind is EnvironmentKind.CONDA else ""
    found = "" if each.found == NEARBY else f"; {each.found}"  # its name says it
    return f"{python}{conda}; {_describe_pillow(each)}{found}"


def _describe_pillow(each: AtHand) -> str:
    seen = each.seen
    there = " and ".join(seen.pillow)
    if seen.ours and seen.is_replaced:
        return f"{there or 'nothing'} in place of the {seen.ours} that fastinstall had set up"
    if seen.ours:
        return f"{there}, set up by fastinstall"
    return f"{there}, not by fastinstall" if there else "no Pillow"


def _list_active_prefixes(session: Session) -> set[str]:
    return {os.path.realpath(prefix) for prefix in active_prefixes(session.variables).values()}


def _format_question(found: Sequence[AtHand], session: Session) -> str:
    active = sum(each.found.startswith(_ACTIVE) for each in found)
    if active > 1:
        return "Two environments are active. Which one is meant?"
    if active:
        return "Which environment should get the fast stack?"
    if os.path.realpath(session.tool_prefix) in _list_active_prefixes(session):
        return "The active environment is fastinstall's own. Where should the fast stack go?"
    return "No environment is active. Where should the fast stack go?"


def _shorten_path(prefix: Path, directory: Path, home: str) -> str:
    """The shortest way to write a path."""
    ways = [str(prefix)]
    if prefix.is_relative_to(directory):
        ways.append(f"./{prefix.relative_to(directory)}")
    if home and prefix.is_relative_to(home):
        ways.append(f"~/{prefix.relative_to(home)}")
    return min(ways, key=len)


@immutable
class WizardConversation:
    """A conversation about one target.

    Attributes:
        session: the outside world.
        target: what is meant.
        facts: of it, as they were shown.
        asker: how to ask.
        console: where to say something.
        offers: the recipes side by side; looked up when they are first asked for.
    """

    session: Session
    target: NamedTarget
    facts: Facts
    asker: Asker
    console: Console
    offers: list[RecipePreview] = field(default_factory=list)

    def list_previews(self, request: Request) -> list[RecipePreview]:
        """The recipes side by side."""
        if not self.offers:
            self.session.emit(Started(stage="index", message="looking up what each recipe would give here"))
            self.offers.extend(compare_recipes(self.session, self.target, self.facts, request))
        return self.offers

    def say(self, text: str) -> None:
        """Say a paragraph."""
        self.console.talk("\n".join(self.console.err.lines(text, first="  ", rest="  ")))

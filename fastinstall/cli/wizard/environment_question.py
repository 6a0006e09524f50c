"""Ask which environment gets the fast Pillow: one that is at hand, a new one, or another directory."""

import os
from collections.abc import Sequence
from pathlib import Path

from fastinstall.cli.console import Console
from fastinstall.cli.questions import Asker, ask_text_or_go_back
from fastinstall.cli.wizard.answers import read_kept_answers
from fastinstall.core.errors import RefusedError
from fastinstall.core.home import expand_home
from fastinstall.core.values import immutable
from fastinstall.model.facts import EnvironmentKind
from fastinstall.observe.environments import USUAL_NAMES, NamedTarget, active_prefixes
from fastinstall.observe.session import Session
from fastinstall.verbs.discover_environments import NEARBY, FoundEnvironment, discover_environments

CANCELLED = "cancelled; nothing was changed"

_OTHER, _CANCEL = "other", "cancel"


@immutable
class EnvironmentChooser:
    """Asks for an environment.

    Attributes:
        session: variables, directories, clock and event listener of this run.
        asker: asks by cursor or in lines, by the terminal.
        console: where to complain about a directory.
        directory: the working directory, whose environments are offered.
    """

    session: Session
    asker: Asker
    console: Console
    directory: Path

    def choose(self, refused: Path | None = None) -> NamedTarget:
        """Ask until there is an answer.

        Args:
            refused: an environment that cannot be changed, and is not offered again.

        Raises:
            RefusedError: the person cancelled.
        """
        everywhere = discover_environments(self.session, self.directory)
        found = [each for each in everywhere if each.seen.prefix != refused]
        there = {str(each.seen.prefix): each for each in found}
        new = str(self.directory / USUAL_NAMES[0])
        answers = {path: self.shorten(Path(path)) for path in there}
        meanings = {path: self._describe(each) for path, each in there.items()}
        if not os.path.lexists(new):
            answers[new], meanings[new] = self.shorten(Path(new)), "make a new one; nothing else changes"
        answers |= {_OTHER: "Other", _CANCEL: "Cancel"}
        meanings |= {_OTHER: "type a directory", _CANCEL: "change nothing"}
        while True:
            answer = self.asker.choose(_word_question(everywhere, self.session), answers, meanings=meanings)
            if answer == _CANCEL:
                raise RefusedError(CANCELLED)
            if answer in there:
                return NamedTarget(prefix=Path(answer))
            if answer == new:
                return NamedTarget(new=Path(new))
            question = "Directory of an environment, or of a new one"
            typed = ask_text_or_go_back(self.asker, question, self._read_target, self.console.talk)
            if typed:
                return self._read_target(typed)

    def shorten(self, prefix: Path) -> str:
        """Return the shortest way to write a path."""
        ways = [str(prefix)]
        if prefix.is_relative_to(self.directory):
            ways.append(f"./{prefix.relative_to(self.directory)}")
        home = self.session.variables.get("HOME", "")
        if home and prefix.is_relative_to(home):
            ways.append(f"~/{prefix.relative_to(home)}")
        return min(ways, key=len)

    def _describe(self, each: FoundEnvironment) -> str:
        stopped = "; you stopped here before" if read_kept_answers(self.session, each.seen.prefix) is not None else ""
        return f"{describe_found_environment(each)}{stopped}"

    def _read_target(self, text: str) -> NamedTarget:
        place = self.directory / expand_home(text)
        if any(os.path.lexists(place / name) for name in ("bin/python", "bin/python3")):
            return NamedTarget(prefix=place)
        if os.path.lexists(place) and (not place.is_dir() or any(place.iterdir())):
            raise ValueError(f"{place} is no Python environment: it has no bin/python")
        return NamedTarget(new=place)


def is_left_open(target: NamedTarget, session: Session) -> bool:
    """Tell whether neither flags nor the shell say which environment is meant; fastinstall's own never is."""
    if target.prefix or target.python or target.new:
        return False
    return len(_list_active_prefixes(session) - {os.path.realpath(session.tool_prefix)}) != 1


def describe_found_environment(each: FoundEnvironment) -> str:
    """Return what is in an environment, and how it is known, in one line."""
    seen = each.seen
    parts = ["conda"] if seen.kind is EnvironmentKind.CONDA else []
    parts += [f"Python {seen.python}"] if seen.python else []
    parts += [_describe_pillow(each)]
    return ", ".join(parts) + ("" if each.found == NEARBY else f" ({each.found})")  # the path says that it is near


def _describe_pillow(each: FoundEnvironment) -> str:
    there = " and ".join(each.seen.pillow) or "no Pillow"
    if not each.seen.ours:
        return there
    return f"{there}; the fast build is gone" if each.seen.is_replaced else f"{there} by fastinstall"


def _list_active_prefixes(session: Session) -> set[str]:
    return {os.path.realpath(prefix) for prefix in active_prefixes(session.variables).values()}


def _word_question(found: Sequence[FoundEnvironment], session: Session) -> str:
    active = sum(each.found.startswith("active") for each in found)
    if active:
        state = "Two environments are active." if active > 1 else ""
    elif os.path.realpath(session.tool_prefix) in _list_active_prefixes(session):
        state = "Only fastinstall's own environment is active."
    else:
        state = "No environment is active."
    return f"{state} Which one gets the fast Pillow?" if state else "Which environment gets the fast Pillow?"

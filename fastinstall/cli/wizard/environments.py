"""Ask which environment to set up: a new one, or one of those found on this machine. Only files are read."""

import os
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from fastinstall.cli.console import Console
from fastinstall.cli.questions import Asker, ask_text_or_go_back
from fastinstall.core.directories import expand_home
from fastinstall.core.errors import DeclinedError
from fastinstall.model.facts import EnvironmentKind
from fastinstall.observe import environments
from fastinstall.observe.environments import USUAL_NAMES, EnvironmentSummary, NamedTarget
from fastinstall.observe.session import Session

CANCELLED = "cancelled; nothing was changed"
_OTHER, _CANCEL = "other", "cancel"
_NEARBY = "in this directory"
_SHOWN = 12


def choose_environment(
    session: Session, asker: Asker, console: Console, directory: Path, refused: Path | None = None
) -> NamedTarget:
    """Ask which environment to set up, and return it.

    Args:
        session: variables, directories, clock and event listener of this run.
        asker: asks the questions.
        console: prints why a typed directory is refused.
        directory: the working directory; environments in it are offered.
        refused: an environment whose setup was just refused, so that it is not offered; None if none was.

    Raises:
        DeclinedError: the user cancelled.
    """
    found, usual = list_environments(session, directory), directory / USUAL_NAMES[0]
    offered = {str(seen.prefix): _describe_environment(seen, how) for seen, how in found if seen.prefix != refused}
    # Enter alone takes the first answer, so the first must be an environment with the usual name, or a new one.
    new = "" if str(usual) in offered else str(_find_free_name(usual))
    first = {new: "make a new one; nothing else changes"} if new else {str(usual): offered[str(usual)]}
    meanings = first | offered | {_OTHER: "type a directory", _CANCEL: "change nothing"}
    home = session.variables.get("HOME", "")
    answers = {path: shorten_path(Path(path), directory, home) for path in meanings}
    answers |= {_OTHER: "Other", _CANCEL: "Cancel"}
    while True:
        answer = asker.choose(_word_question([how for _, how in found], session), answers, meanings=meanings)
        if answer == _CANCEL:
            raise DeclinedError(CANCELLED)
        if answer == new:
            return NamedTarget(new=Path(new))
        if answer != _OTHER:
            return NamedTarget(prefix=Path(answer))
        typed = ask_text_or_go_back(
            asker,
            "Directory of an environment, or of a new one",
            lambda text: _read_target(text, directory),
            lambda text: console.talk("\n".join(console.err.lines(text))),
        )
        if typed:
            return _read_target(typed, directory)


def shorten_path(prefix: Path, directory: Path, home: str) -> str:
    """Return the shortest form of a path: absolute, or relative to the working or home directory."""
    ways = [str(prefix)]
    if prefix.is_relative_to(directory):
        ways.append(f"./{prefix.relative_to(directory)}")
    if home and prefix.is_relative_to(home):
        ways.append(f"~/{prefix.relative_to(home)}")
    return min(ways, key=len)


def _read_target(text: str, directory: Path) -> NamedTarget:
    place = directory / expand_home(text)
    if any(os.path.lexists(place / name) for name in ("bin/python", "bin/python3")):
        return NamedTarget(prefix=place)
    if os.path.lexists(place) and (not place.is_dir() or any(place.iterdir())):
        raise ValueError(f"{place} is not a Python environment: it has no bin/python")
    return NamedTarget(new=place)


def _find_free_name(usual: Path) -> Path:
    """Return `usual` if nothing exists at that path; otherwise, append a number that makes the path free."""
    numbered = (usual.with_name(f"{usual.name}-{number}") for number in count(2))
    return next(path for path in chain((usual,), numbered) if not os.path.lexists(path))


def is_left_open(target: NamedTarget, session: Session) -> bool:
    """Return True if the user must choose: no flag names a target, and none or several environments are active.

    The environment of fastinstall itself does not count as active.
    """
    if target.prefix or target.python or target.new:
        return False
    return len(_list_active_prefixes(session) - {os.path.realpath(session.tool_prefix)}) != 1


def _describe_environment(seen: EnvironmentSummary, how: str) -> str:
    """Return a line on an environment: its Python, its Pillow, and how it was found."""
    pillow = " and ".join(seen.pillow) or "no Pillow"
    if seen.ours:
        pillow += "; the fast build is gone" if seen.is_replaced else " by fastinstall"
    conda = "conda" if seen.kind is EnvironmentKind.CONDA else ""
    parts = ", ".join(filter(None, (conda, seen.python and f"Python {seen.python}", pillow)))
    return parts if how == _NEARBY else f"{parts} ({how})"  # the path shows that an environment is nearby


def _list_active_prefixes(session: Session) -> set[str]:
    return {os.path.realpath(prefix) for prefix in environments.active_prefixes(session.variables).values()}


def _word_question(ways: list[str], session: Session) -> str:
    active = sum(how.startswith("active") for how in ways)
    if active:
        state = "Two environments are active. " if active > 1 else ""
    elif os.path.realpath(session.tool_prefix) in _list_active_prefixes(session):
        state = "Only fastinstall's own environment is active. "
    else:
        state = "No environment is active. "
    return f"{state}Which {'one' if state else 'environment'} gets the fast Pillow?"


def list_environments(session: Session, directory: Path) -> list[tuple[EnvironmentSummary, str]]:
    """Return environments and how each was found ("active (VIRTUAL_ENV)", "in this directory", "known here").

    Active environments come first, then those in the working directory `directory`, then other known ones. Of the
    other known ones, those with neither a Pillow nor a setup of fastinstall are left out. fastinstall's own environment
    is always left out.
    """
    found: dict[str, tuple[EnvironmentSummary, str]] = {}
    own = os.path.realpath(session.tool_prefix)
    for prefix, how in _list_candidates(session, directory):
        real = os.path.realpath(prefix)
        if real == own or real in found or len(found) >= _SHOWN:
            continue
        seen = environments.scan_environment(prefix)
        if how or seen.pillow or seen.ours:
            found[real] = seen, how or "known here"
    return sorted(found.values(), key=_rank)


def _list_candidates(session: Session, directory: Path) -> Iterator[tuple[Path, str]]:
    for name, active in environments.active_prefixes(session.variables).items():
        if environments.is_environment(Path(active)):
            yield Path(active), f"active ({name})"
    for prefix in environments.nearby_environments(directory, session.variables):
        yield prefix, _NEARBY
    for prefix in environments.list_known_environments(session.variables, session.directories.state):
        yield prefix, ""


def _rank(found: tuple[EnvironmentSummary, str]) -> tuple[int, int, bool]:
    seen, how = found
    first = 0 if how.startswith("active") else 1 + (how != _NEARBY)
    names = {name: number for number, name in enumerate(USUAL_NAMES)}
    return first, names.get(seen.prefix.name, len(names)), not seen.ours

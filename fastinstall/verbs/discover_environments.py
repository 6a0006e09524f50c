"""List the environments that the user may want to set up, and what each contains; only files are read."""

import os
from collections.abc import Iterator
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.observe.environments import (
    USUAL_NAMES,
    EnvironmentSummary,
    active_prefixes,
    is_environment,
    list_known_environments,
    nearby_environments,
    scan_environment,
)
from fastinstall.observe.session import Session

NEARBY = "in this directory"
"""The value of `FoundEnvironment.found` for an environment in the working directory."""

_SHOWN = 12


@immutable
class FoundEnvironment:
    """An environment that the user may want to set up.

    Attributes:
        seen: a summary of the environment's contents.
        found: how it was found ("active (VIRTUAL_ENV)", "in this directory", "known here").
    """

    seen: EnvironmentSummary
    found: str


def discover_environments(session: Session, directory: Path) -> tuple[FoundEnvironment, ...]:
    """Return environments, the likeliest first: active ones, then those in the directory, then other known ones.

    An environment that is only known from a registry is left out if it has neither a Pillow nor a setup of fastinstall.
    The environment of fastinstall itself is always left out.

    Args:
        session: variables, directories, clock and event listener of this run.
        directory: the working directory.

    Example:
        for found in discover_environments(session, Path.cwd()):
            print(found.seen.prefix, found.found)
    """
    found: dict[str, FoundEnvironment] = {}
    own = os.path.realpath(session.tool_prefix)
    for prefix, how in _list_candidates(session, directory):
        real = os.path.realpath(prefix)
        if real == own or real in found or len(found) >= _SHOWN:
            continue
        seen = scan_environment(prefix)
        if how or seen.pillow or seen.ours:
            found[real] = FoundEnvironment(seen=seen, found=how or "known here")
    return tuple(sorted(found.values(), key=_rank))


def _list_candidates(session: Session, directory: Path) -> Iterator[tuple[Path, str]]:
    for name, active in active_prefixes(session.variables).items():
        if is_environment(Path(active)):
            yield Path(active), f"active ({name})"
    for prefix in nearby_environments(directory, session.variables):
        yield prefix, NEARBY
    for prefix in list_known_environments(session.variables, session.directories.state):
        yield prefix, ""


def _rank(each: FoundEnvironment) -> tuple[int, int, bool]:
    first = 0 if each.found.startswith("active") else 1 + (each.found != NEARBY)
    names = {name: number for number, name in enumerate(USUAL_NAMES)}
    return first, names.get(each.seen.prefix.name, len(names)), not each.seen.ours

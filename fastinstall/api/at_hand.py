"""The environments that a person may mean, with what is in each; only files are looked at, nothing is run."""

import os
from collections.abc import Iterator
from pathlib import Path

from fastinstall.api.session import Session
from fastinstall.model.immutable import immutable
from fastinstall.probes.environment import active_prefixes
from fastinstall.probes.glimpse import Glimpse, glimpse
from fastinstall.probes.nearby import is_environment, nearby_environments
from fastinstall.probes.registry import known_environments

NEARBY = "in this directory"
"""How an environment is known that lies where the person is."""

_SHOWN = 12
_USUAL = (".venv", "venv")


@immutable
class AtHand:
    """An environment that may be meant.

    Attributes:
        seen: what is in it.
        found: how it is known ("active (VIRTUAL_ENV)", "in this directory", "known here").
    """

    seen: Glimpse
    found: str


def environments_at_hand(session: Session, directory: Path) -> tuple[AtHand, ...]:
    """The likeliest first: active ones, those of the directory, those that fastinstall set up, others with a Pillow.

    Environments without any Pillow are left out where nothing but a list of some tool speaks for them, and so is the
    environment of fastinstall itself.

    Args:
        session: the outside world.
        directory: where the person is.
    """
    found: dict[str, AtHand] = {}
    own = os.path.realpath(session.tool_prefix)
    for prefix, how in _candidates(session, directory):
        real = os.path.realpath(prefix)
        if real == own or real in found or len(found) >= _SHOWN:
            continue
        seen = glimpse(prefix)
        if how or seen.pillow or seen.ours:
            found[real] = AtHand(seen=seen, found=how or "known here")
    return tuple(sorted(found.values(), key=_rank))


def _candidates(session: Session, directory: Path) -> Iterator[tuple[Path, str]]:
    for name, active in active_prefixes(session.variables).items():
        if is_environment(Path(active)):
            yield Path(active), f"active ({name})"
    for prefix in nearby_environments(directory, session.variables):
        yield prefix, NEARBY
    for prefix in known_environments(session.variables, session.directories.state):
        yield prefix, ""


def _rank(each: AtHand) -> tuple[int, int, int]:
    order = ("active", NEARBY)
    first = next((number for number, word in enumerate(order) if each.found.startswith(word)), len(order))
    return first, 0 if each.seen.prefix.name in _USUAL else 1, 0 if each.seen.ours else 1

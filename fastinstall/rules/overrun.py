"""What another program has changed while a setup was at work, in words. Pure."""

from collections.abc import Mapping, Sequence

from fastinstall.model.rivals import Rival
from fastinstall.rules.messages import listing

_SHOWN = 3


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Paths that came, went or are another file by now."""
    return tuple(sorted(path for path in {*before, *now} if before.get(path) != now.get(path)))


def culprits(rivals: Sequence[Rival], installers: Sequence[str]) -> str:
    """Who it was, as far as that is known: a program at work, else who signed what is there."""
    if rivals:
        return listing(f"process {rival.process} ({rival.action})" for rival in rivals)
    foreign = [name for name in installers if name != "fastinstall"]
    return listing(foreign) if foreign else "another program"


def shown(paths: Sequence[str]) -> str:
    """Some of many paths, for a sentence."""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{', '.join(paths[:_SHOWN])}{more}"

"""What a fleet plan says in sentences. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fastinstall.model.fleet import FleetArtefact, HostGroup, LeftOut
from fastinstall.rules.levels import rank
from fastinstall.rules.messages import listing


def counted(number: int, what: str) -> str:
    """A number with its noun: "1 host", "2 hosts", "10,000 hosts"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: (2, 36) of "2.36"; empty where it has none."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def summary_of(artefacts: Sequence[FleetArtefact], left_out: Sequence[LeftOut]) -> str:
    """How few wheels serve how many hosts, and how many are left out."""
    served = sum(len(artefact.hosts) for artefact in artefacts)
    wheels = counted(len(artefacts), "wheel")
    told = f"{wheels} {'serves' if len(artefacts) == 1 else 'serve'} {counted(served, 'host')}"
    return f"{told}; {len(left_out):,} left out" if left_out else told


def system_note(number: int) -> Iterator[str]:
    """Where setup does not go into what was inspected."""
    if number:
        verb = "names" if number == 1 else "name"
        yield (
            f"{counted(number, 'host')} {verb} the system's own Python, which is never changed: "
            "setup there makes an environment of it (--new-env DIR)"
        )


def behind_note(groups: Sequence[HostGroup], artefacts: Sequence[FleetArtefact]) -> Iterator[str]:
    """Where a loader that cannot choose takes the least level of a wheel, and the CPU has a better one of it."""
    levels = {artefact.id: artefact.levels for artefact in artefacts}
    behind = Counter[tuple[str, str]]()
    for group in groups:
        has = [level for level in levels[group.artefact] if rank(level) <= rank(group.level)]
        if has and has[-1] != group.runs:
            behind[group.runs, has[-1]] += len(group.hosts)
    for (runs, better), number in sorted(behind.items()):
        told = f"{counted(number, 'host')} will run {runs}, though the CPU has {better}"
        yield f"{told}: glibc before 2.33 takes the least level of a wheel"


def apart_note(artefacts: Sequence[FleetArtefact]) -> Iterator[str]:
    """What the directories inside a wheelhouse are."""
    apart = list(dict.fromkeys(artefact.directory for artefact in artefacts if artefact.directory != "."))
    if apart:
        what = "is a wheelhouse of its own" if len(apart) == 1 else "are wheelhouses of their own"
        where = listing(f"{name}/" for name in apart)
        yield f"{where} {what}: pip and uv see no CPU, and would take such a wheel on any host"

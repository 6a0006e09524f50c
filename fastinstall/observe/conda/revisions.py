"""What a conda environment says of its past and its pins: `conda-meta/history` and `conda-meta/pinned`.

Malformed lines are skipped, because both files only serve as hints here. Source: conda's `History` and
`get_pinned_specs`.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.secrets import public_text
from fastinstall.model.conda import CondaRevision

_BESIDE_PIL = frozenset({"fastinstall-guard", "jpeg", "libjpeg-turbo", "libtiff"})


_HEADING = re.compile(r"==>\s*(.+?)\s*<==")


_COMMAND = re.compile(r"#\s*cmd:\s*(.+)")


_PACKAGED = (".conda", ".tar.bz2")


def observe_revisions(conda_meta: Path, replaced: tuple[str, ...]) -> tuple[CondaRevision, ...]:
    """Return the revisions that installed or removed a package relevant to PIL, oldest first.

    Args:
        conda_meta: the directory with the history.
        replaced: names of packages that provide PIL; other relevant names are built in.
    """
    names = _BESIDE_PIL.union(replaced)
    lines = (line.strip() for line in foreign.text_or_empty(conda_meta / "history").splitlines())
    blocks: list[list[str]] = []  # each heading with the lines below it; lines before the first are ignored
    for line in lines:
        if _HEADING.match(line):
            blocks.append([])
        if blocks and line:
            blocks[-1].append(line)
    revisions = (_parse_revision(number, block, names) for number, block in enumerate(blocks))
    return tuple(revision for revision in revisions if revision.linked or revision.unlinked)


def read_pinned_specs(conda_meta: Path) -> tuple[str, ...]:
    """Return the match specs of `pinned`, without comments."""
    lines = (line.strip() for line in foreign.text_or_empty(conda_meta / "pinned").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _parse_revision(number: int, block: list[str], names: frozenset[str]) -> CondaRevision:
    heading, *lines = block
    found = _HEADING.match(heading)
    commands = (command[1] for command in map(_COMMAND.match, lines) if command)
    return CondaRevision(
        number=number,
        at=found[1] if found else "",
        command=public_text(next(commands, "")),
        linked=_parse_dists((line.removeprefix("+") for line in lines if not line.startswith(("-", "#"))), names),
        unlinked=_parse_dists((line[1:] for line in lines if line.startswith("-")), names),
    )


def _parse_dists(lines: Iterable[str], names: frozenset[str]) -> tuple[str, ...]:
    """Return the names without their channels."""
    found = []
    for line in lines:  # "https://host/channel/linux-64::NAME-VERSION-BUILD"
        dist = line.rpartition("::")[2]
        dist = next((dist.removesuffix(suffix) for suffix in _PACKAGED if dist.endswith(suffix)), dist)
        if dist.count("-") > 1 and dist.rsplit("-", 2)[0].lower() in names:
            found.append(dist)
    return tuple(found)

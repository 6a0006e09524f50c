"""What was done to a conda environment, and what it holds fast: `conda-meta/history` and `conda-meta/pinned`.

Source: conda's `History` and `get_pinned_specs`. Whatever is malformed is passed over: both are lists of hints here.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from fastinstall.model.conda import CondaRevision
from fastinstall.rules.secrets import public_text
from fastinstall.system import foreign

_BESIDE_PIL = frozenset({"fastinstall-guard", "jpeg", "libjpeg-turbo", "libtiff"})
_HEADING = re.compile(r"==>\s*(.+?)\s*<==")
_COMMAND = re.compile(r"#\s*cmd:\s*(.+)")
_PACKAGED = (".conda", ".tar.bz2")


def observe_revisions(conda_meta: Path, replaced: tuple[str, ...]) -> tuple[CondaRevision, ...]:
    """The revisions that installed or removed something which matters to PIL, oldest first.

    Args:
        conda_meta: the directory that holds the history.
        replaced: names of packages that provide PIL; others that matter are known.
    """
    names = _BESIDE_PIL.union(replaced)
    lines = (line.strip() for line in _text(conda_meta / "history").splitlines())
    revisions = (_revision(number, block, names) for number, block in enumerate(_blocks(lines)))
    return tuple(revision for revision in revisions if revision.linked or revision.unlinked)


def observe_pins(conda_meta: Path) -> tuple[str, ...]:
    """What `pinned` demands, a match spec each, comments aside."""
    lines = (line.strip() for line in _text(conda_meta / "pinned").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _text(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="replace")
    except OSError:
        return ""


def _blocks(lines: Iterable[str]) -> list[list[str]]:
    """Each heading with the lines below it; what stands before the first is nobody's."""
    blocks: list[list[str]] = []
    for line in lines:
        if _HEADING.match(line):
            blocks.append([])
        if blocks and line:
            blocks[-1].append(line)
    return blocks


def _revision(number: int, block: list[str], names: frozenset[str]) -> CondaRevision:
    heading, *lines = block
    found = _HEADING.match(heading)
    commands = (_COMMAND.match(line) for line in lines)
    return CondaRevision(
        number=number,
        at=found[1] if found else "",
        command=public_text(next((command[1] for command in commands if command), "")),
        linked=_dists((line.removeprefix("+") for line in lines if not line.startswith(("-", "#"))), names),
        unlinked=_dists((line[1:] for line in lines if line.startswith("-")), names),
    )


def _dists(lines: Iterable[str], names: frozenset[str]) -> tuple[str, ...]:
    """Return the names without their channels."""
    dists = (_plain(line) for line in lines)
    return tuple(dist for dist in dists if dist.count("-") > 1 and dist.rsplit("-", 2)[0].lower() in names)


def _plain(line: str) -> str:
    """A package of "https://host/channel/linux-64::NAME-VERSION-BUILD", without where it came from."""
    dist = line.rpartition("::")[2]
    return next((dist.removesuffix(suffix) for suffix in _PACKAGED if dist.endswith(suffix)), dist)

"""Put the staged tree in place by renames, in an order that keeps PIL working after each rename.

PIL and its directory of libraries are two entries, which no system call exchanges in one step. So the staged libraries
are first added to the installed directory, file by file ("bridge"). Then PIL is exchanged, then the directory. Between
these two exchanges, both the staged and the previous PIL would find their libraries.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastinstall.conda.moves import find_claimed_entries, list_conda_moves
from fastinstall.core import files, rights
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.model.facts import Facts
from fastinstall.model.history import Move, MoveKind
from fastinstall.model.recipe import LIBRARIES
from fastinstall.observe.guard_files import GUARD_ENTRIES, GUARD_PACKAGE, entries_present
from fastinstall.setup.steps import SetupStep


@immutable
class Swap(SetupStep):
    """Put the staged tree in place of the installed stack; nothing is deleted.

    Attributes:
        removes: metadata directories of the distributions that are replaced ("pillow-13.0.0.dist-info").
        entries: top-level names in site-packages that are moved aside.
        installs: metadata directory of the staged stack.
        records: conda packages that are replaced ("pillow-12.1.1-py311h1234567_0"); their records are moved aside too.
        reason: why the plan has this step, for the user.
    """

    removes: tuple[str, ...]
    entries: tuple[str, ...]
    installs: str
    records: tuple[str, ...] = ()
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        coming, leaving = _name(self.installs), listing(map(_name, self.records or self.removes))
        return f"replace {leaving} with {coming}" if leaving else f"install {coming}"

    def list_moves(self, staged: Path, linked: Path | None, before: Facts) -> tuple[Move, ...]:
        """List every rename of the swap, in an order that keeps an installed PIL working after each of them.

        A staged entry whose name exists in site-packages is exchanged with the installed entry. Other staged entries
        are moved in, libraries before the PIL that needs them. Installed entries without a staged counterpart are moved
        aside. Moves of conda's files outside site-packages come last.

        Args:
            staged: directory of the staged stack, laid out as site-packages.
            linked: the directory of linked conda packages, which contains `staged`; None for a wheel.
            before: facts of the environment before the swap.

        Raises:
            RefusedError: a foreign file is in the way.
            ValueError: site-packages is not below the prefix.
        """
        prefix, site_packages, stack = before.environment.prefix, before.interpreter.site_packages, before.stack
        site, conda = site_packages.relative_to(prefix), before.conda if linked is not None else None
        kept = f"stage/prefix/{site}" if conda is not None else "stage"
        leaving = find_claimed_entries(site, conda, self.records) if conda is not None else ()
        names = sorted(path.name for path in staged.iterdir())
        for name in names:  # must precede the bridge: its hard links share these files' rights
            rights.give_tree(staged / name, rights.read_rights(site_packages))
        incoming = sorted(names, key=lambda name: _rank_arrival(name, site_packages))
        guarded = entries_present(site_packages) if GUARD_PACKAGE in names else ()
        owned = [entry for owner in stack.owners for entry in owner.entries]
        directory = [stack.directory.name] if stack.directory is not None else []
        replaced = sorted({*owned, *directory, *stack.debris, *leaving, *guarded})
        _refuse_foreign(site_packages, incoming, replaced)
        bridge = (linked.parents[1] if linked is not None else staged.parent) / _BRIDGE
        moves = [*_list_bridge_moves(site_packages, staged, bridge, site, incoming)]
        for name in incoming:
            kind = MoveKind.EXCHANGE if os.path.lexists(site_packages / name) else MoveKind.IN
            moves.append(Move(kind=kind, live=str(site / name), kept=f"{kept}/{name}"))
        moves += [
            Move(kind=MoveKind.OUT, live=str(site / name), kept=f"aside/{name}")
            for name in replaced
            if name not in incoming and os.path.lexists(site_packages / name)
        ]
        for number, path in enumerate(path for owner in stack.owners for path in owner.outside):
            if os.path.lexists(site_packages / path):
                live = os.path.relpath(site_packages / path, prefix)
                moves.append(Move(kind=MoveKind.OUT, live=live, kept=f"aside/outside/{number}"))
        if linked is not None and conda is not None:
            moves += list_conda_moves(prefix, site_packages, linked, conda, self.records)
        return tuple(moves)


@immutable
class InstallGuard(SetupStep):
    """Install the start-up guard, whose files are part of the staged tree."""

    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return "add a start-up hook that warns when another tool replaces it"


def _name(metadata: str) -> str:
    """Return the readable name of a distribution or conda package: "pillow-simd 9.0", "pillow 12.1.1 py311h1_0"."""
    if not metadata.endswith(".dist-info"):
        return metadata.replace("-", " ")
    name, _, version = metadata.removesuffix(".dist-info").partition("-")
    return f"{name.replace('_', '-')} {version}".rstrip()  # a directory has underscores where the name has hyphens


_BRIDGE = "aside/bridge"


def _rank_arrival(name: str, site_packages: Path) -> int:
    """Return an entry's rank in the order of moves: added libraries, PIL, libraries that replace others, the rest."""
    if name in LIBRARIES:
        return 2 if os.path.lexists(site_packages / name) else 0
    return 1 if name == "PIL" else 3


def _list_bridge_moves(
    site_packages: Path, staged: Path, bridge: Path, site: Path, incoming: Iterable[str]
) -> Iterator[Move]:
    """Yield moves that add the staged libraries to the installed library directory, before it is exchanged."""
    if not (site_packages / "PIL").is_dir():
        return
    for name in incoming:
        there = site_packages / name
        if name in LIBRARIES and there.is_dir() and not there.is_symlink():
            for path in lay_out_bridge(staged / name, there, bridge / name):
                yield Move(kind=MoveKind.IN, live=str(site / name / path), kept=f"{_BRIDGE}/{name}/{path}")


def _refuse_foreign(site_packages: Path, incoming: Iterable[str], replaced: Iterable[str]) -> None:
    # These names belong to Pillow even if its RECORD, or all its metadata, was lost.
    known = {*replaced, *LIBRARIES, *GUARD_ENTRIES}
    for name in incoming:
        if name not in known and os.path.lexists(site_packages / name):
            hint = f"check it, then move it away: mv {quote(site_packages / name)} /somewhere/else"
            raise RefusedError(f"{site_packages / name} is in the way: no Pillow's RECORD lists it", hint=hint)


def lay_out_bridge(coming: Path, there: Path, space: Path) -> Iterator[str]:
    """Prepare the staged entries that the installed directory lacks, each ready to be renamed into that directory.

    The files are hard links to the staged ones, or copies on filesystems without hard links.

    Args:
        coming: the staged directory of libraries.
        there: the installed directory of libraries.
        space: a directory for the entries, on the same filesystem; created if needed.

    Yields:
        The path of each entry, which is the same relative to all three directories.

    Raises:
        OSError: a directory or file cannot be read or created.
    """
    for path in sorted(coming.iterdir()):
        stands = there / path.name
        if not os.path.lexists(stands):
            space.mkdir(parents=True, exist_ok=True)
            _link_tree(path, space / path.name)
            yield path.name
        elif _is_directory(path) and _is_directory(stands):
            yield from (f"{path.name}/{inner}" for inner in lay_out_bridge(path, stands, space / path.name))


def _link_tree(source: Path, target: Path) -> None:
    if _is_directory(source):
        target.mkdir()
        for path in sorted(source.iterdir()):
            _link_tree(path, target / path.name)
        target.chmod(stat.S_IMODE(source.stat().st_mode))
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # some filesystems have no hard links
        files.copy_file(source, target)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()

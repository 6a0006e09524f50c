"""Put the staged tree in place by renames, in an order in which PIL works after each of them.

PIL and its directory of libraries are two entries, which no kernel exchanges in one step. So the arriving libraries are
first put beside the present ones, file by file; then PIL is exchanged, then the directory. Between the two renames both
the staged PIL and the one before it find their libraries.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from fastinstall.conda.moves import find_claimed_entries, list_conda_moves
from fastinstall.core import files, rights
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing, quote
from fastinstall.core.values import immutable
from fastinstall.model.facts import Facts, InstalledStack
from fastinstall.model.move import Move, MoveKind
from fastinstall.model.recipe import LIBRARIES
from fastinstall.observe.guard_files import GUARD_ENTRIES, GUARD_PACKAGE, entries_present
from fastinstall.setup.steps.step import SetupStep


@immutable
class Swap(SetupStep):
    """Put the staged tree in place of what is there; nothing is deleted.

    Attributes:
        removes: metadata directories of the distributions that make room ("pillow-13.0.0.dist-info").
        entries: top-level names in site-packages that are moved aside.
        installs: metadata directory of what comes in.
        records: conda packages that make room ("pillow-12.1.1-py311h1234567_0"); their records move aside too.
        reason: why the plan has this step, for a person.
    """

    removes: tuple[str, ...]
    entries: tuple[str, ...]
    installs: str
    records: tuple[str, ...] = ()
    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        coming, leaving = _name(self.installs), listing(map(_name, self.records or self.removes))
        return f"replace {leaving} with {coming}" if leaving else f"install {coming}"

    def list_moves(self, staged: Path, linked: Path | None, before: Facts) -> tuple[Move, ...]:
        """List every rename of the swap, those that Python notices first.

        Args:
            staged: what comes in, laid out as site-packages.
            linked: the directory that conda packages were linked into, with `staged` in it; None for a wheel alone.
            before: facts of the environment.

        Raises:
            RefusedError: a foreign file stands in the way.
        """
        prefix, site_packages = Path(before.environment.prefix), Path(before.interpreter.site_packages)
        site = site_packages.relative_to(prefix)
        if linked is None or before.conda is None:
            return list_site_packages_moves(prefix, site_packages, staged, before.stack)
        leaving = find_claimed_entries(site, before.conda, self.records)
        kept = f"stage/prefix/{site}"
        moves = list_site_packages_moves(prefix, site_packages, staged, before.stack, kept=kept, leaving=leaving)
        return (*moves, *list_conda_moves(prefix, site_packages, linked, before.conda, self.records))


@immutable
class InstallGuard(SetupStep):
    """Install the start-up guard: its files come in with the renames of the swap."""

    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return "add a start-up hook that warns when another tool replaces it"


def _name(metadata: str) -> str:
    """Return a distribution or a conda package as people call it: "pillow-simd 9.0", "pillow 12.1.1 py311h1_0"."""
    if not metadata.endswith(".dist-info"):
        return metadata.replace("-", " ")
    name, _, version = metadata.removesuffix(".dist-info").partition("-")
    return f"{name.replace('_', '-')} {version}".rstrip()  # a directory has underscores where the name has hyphens


_BRIDGE = "aside/bridge"


def list_site_packages_moves(
    prefix: Path,
    site_packages: Path,
    staged: Path,
    stack: InstalledStack,
    *,
    kept: str = "stage",
    leaving: tuple[str, ...] = (),
) -> tuple[Move, ...]:
    """List the moves, in an order in which PIL works after each of them where there was one before.

    What comes in and is there already is exchanged in one step; what only goes is moved aside;
    what only comes is moved in, libraries before the PIL that needs them.

    Args:
        prefix: root of the environment that is changed.
        site_packages: the environment's directory that PIL lies in.
        staged: what comes in, laid out as site-packages.
        stack: the PIL that is there.
        kept: where `staged` lies, relative to the transaction's directory.
        leaving: further top-level names that make room.

    Raises:
        RefusedError: site-packages lies outside the prefix, or a foreign file stands in the way.
    """
    names = sorted(path.name for path in staged.iterdir())
    for name in names:  # before links to its files lie in the bridge
        rights.give_tree(staged / name, rights.read_rights(site_packages))
    incoming = sorted(names, key=lambda name: _rank_arrival(name, site_packages))
    guarded = entries_present(site_packages) if GUARD_PACKAGE in names else ()
    owned = [entry for owner in stack.owners for entry in owner.entries]
    directory = [stack.directory.name] if stack.directory is not None else []
    replaced = sorted({*owned, *directory, *stack.debris, *leaving, *guarded})
    _refuse_foreign(site_packages, incoming, replaced)
    site = site_packages.relative_to(prefix)
    coming = [
        Move(
            kind=MoveKind.EXCHANGE if os.path.lexists(site_packages / name) else MoveKind.IN,
            live=str(site / name),
            kept=f"{kept}/{name}",
        )
        for name in incoming
    ]
    going = [
        Move(kind=MoveKind.OUT, live=str(site / name), kept=f"aside/{name}")
        for name in replaced
        if name not in incoming and os.path.lexists(site_packages / name)
    ]
    outside = [
        Move(kind=MoveKind.OUT, live=os.path.relpath(site_packages / path, prefix), kept=f"aside/outside/{number}")
        for number, path in enumerate(path for owner in stack.owners for path in owner.outside)
        if os.path.lexists(site_packages / path)
    ]
    work = staged.parents[len(PurePath(kept).parts) - 1]
    bridge = _list_bridge_moves(site_packages, staged, work, site, incoming)
    return (*bridge, *coming, *going, *outside)


def _rank_arrival(name: str, site_packages: Path) -> int:
    """Rank an arrival: a library before PIL, or after it if it changes place with another (`lay_out_bridge`)."""
    if name in LIBRARIES:
        return 2 if os.path.lexists(site_packages / name) else 0
    return 1 if name == "PIL" else 3


def _list_bridge_moves(
    site_packages: Path, staged: Path, work: Path, site: Path, incoming: Iterable[str]
) -> Iterator[Move]:
    """List libraries that are let in beside those that are there, until these go."""
    if not (site_packages / "PIL").is_dir():
        return
    for name in incoming:
        there = site_packages / name
        if name in LIBRARIES and there.is_dir() and not there.is_symlink():
            for path in lay_out_bridge(staged / name, there, work / _BRIDGE / name):
                yield Move(kind=MoveKind.IN, live=str(site / name / path), kept=f"{_BRIDGE}/{name}/{path}")


def _refuse_foreign(site_packages: Path, incoming: Iterable[str], replaced: Iterable[str]) -> None:
    # A Pillow's own still where its RECORD, or all its metadata, was lost.
    known = {*replaced, *LIBRARIES, *GUARD_ENTRIES}
    for name in incoming:
        if name not in known and os.path.lexists(site_packages / name):
            raise RefusedError(
                f"{site_packages / name} is in the way: no Pillow's RECORD lists it",
                hint=f"check it, then move it away: mv {quote(site_packages / name)} /somewhere/else",
            )


def lay_out_bridge(coming: Path, there: Path, space: Path) -> Iterator[str]:
    """Lay out what comes and is not there, each entry ready to be renamed into its place.

    The files are links to those that come, or copies where links cannot be made.

    Args:
        coming: the staged directory of libraries.
        there: the one that it will take the place of.
        space: a directory for the entries, on the same filesystem; made where it is needed.

    Yields:
        Their paths, relative to all three.

    Raises:
        OSError: as the kernel says.
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
    except OSError:  # no filesystem has to know links
        files.copy_file(source, target)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()

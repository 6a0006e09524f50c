"""Judges what files say of PIL: would an installation from them bring stock Pillow back? Pure.

A range that a build of fastinstall can satisfy is no finding: tools keep what is in place as long as it fits. One
version alone is one, because a build of ours has a label behind it, and an index has none with that label.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

from fastinstall.model.finding import Remedy, Status
from fastinstall.model.immutable import immutable
from fastinstall.model.locks import LockEntry, LockFinding, LockKind
from fastinstall.rules.locks.markers import matters
from fastinstall.rules.locks.names import archive, is_our_build, is_ours, public
from fastinstall.rules.locks.remedies import remedy_for

_PILLOW = "pillow"
_BRINGS = "an installation from this file puts it in the place of the stack"


@immutable
class OurWheel:
    """A wheel of fastinstall's in a directory that a file names.

    Attributes:
        name: of the distribution, normalised.
        version: with its label.
        hash: "sha256:...".
    """

    name: str
    version: str
    hash: str


@immutable
class Surroundings:
    """What an entry is judged by, besides itself.

    Attributes:
        kind: of the file that was named.
        wheels: of ours, where tools are told to look for wheels.
        looks: whether they are told to look anywhere but at an index.
        held: versions of ours that entries beside it hold to.
    """

    kind: LockKind
    wheels: tuple[OurWheel, ...] = ()
    looks: bool = False
    held: tuple[str, ...] = ()


def findings_of(
    file: PurePath, entries: Sequence[LockEntry], accepted: Callable[[LockEntry], bool], around: Surroundings
) -> tuple[LockFinding, ...]:
    """What is wrong with the entries of a file.

    Args:
        file: where they stand.
        entries: of this file.
        accepted: whether a comment beside an entry says that stock Pillow is meant.
        around: what they are judged by.
    """
    return tuple(
        LockFinding(
            file=file,
            line=entry.line,
            says=entry.says,
            status=status,
            message=message,
            remedy=remedy_for(around.kind, entry, file) if status is Status.ERROR else _BESIDE[entry.is_conda],
        )
        for entry in entries
        if matters(entry.marker) and not accepted(entry)
        for status, message in _verdicts(entry, around)
    )


def held_versions(entries: Iterable[LockEntry]) -> tuple[str, ...]:
    """The versions of ours that entries hold to, each for everything that is read together with it."""
    return tuple(dict.fromkeys(version for entry in entries if is_ours(version := _version(entry))))


def _verdicts(entry: LockEntry, around: Surroundings) -> tuple[tuple[Status, str], ...]:
    problem = _problem_in_conda(entry) if entry.is_conda else _problem_in_python(entry, around)
    if problem:
        return ((Status.ERROR, problem),)
    doubt = _doubt(entry, around)
    return ((Status.HINT, doubt),) if doubt else ()


def _problem_in_conda(entry: LockEntry) -> str:
    if is_our_build(entry.build):
        return ""
    if entry.name != _PILLOW:
        return _another(entry)
    if not entry.build:
        return ""
    return f"the build {entry.build} is not one of fastinstall: {_BRINGS}"


def _problem_in_python(entry: LockEntry, around: Surroundings) -> str:
    version = _version(entry)
    wheels = [each for each in around.wheels if each.name == entry.name]
    if is_ours(version):
        return _wrong_hash(entry, [each for each in wheels if each.version == version])
    if entry.source:
        return f"what lies there is no build of fastinstall: {_BRINGS}"
    fitting = [each for each in wheels if not version or public(each.version) == public(version)]
    return _wrong_hash(entry, fitting) if fitting else _problem_of_an_index(entry, version, around)


def _problem_of_an_index(entry: LockEntry, version: str, around: Surroundings) -> str:
    """Where no wheel of ours is at hand, so that an index is asked."""
    if entry.name != _PILLOW:
        return _another(entry)
    # The branch of a lock for where ours cannot be: no two branches are for the same machine.
    if around.held and entry.marker:
        return ""
    if version and public(version) not in map(public, around.held):
        return f"{version} is stock Pillow: {_BRINGS}"
    if entry.hashes and not around.held:
        return f"its hashes are those of stock Pillow: {_BRINGS}"
    return ""


def _version(entry: LockEntry) -> str:
    """A file's name tells more than what stands beside it: pdm writes the public part there."""
    return archive(entry.source)[1] or entry.version


def _another(entry: LockEntry) -> str:
    return f"{entry.name} writes a PIL of its own over the one that is there"


def _wrong_hash(entry: LockEntry, wheels: Sequence[OurWheel]) -> str:
    if not entry.hashes or not wheels or any(each.hash in entry.hashes for each in wheels):
        return ""
    return f"its hashes leave out the build of fastinstall that is at hand ({wheels[0].version}): pip refuses it"


def _doubt(entry: LockEntry, around: Surroundings) -> str:
    if entry.is_conda:
        exact = entry.version and not entry.build
        return f"a solver may take any build of {entry.version}, stock Pillow too" if exact else ""
    told = around.kind is LockKind.REQUIREMENTS and is_ours(entry.version) and not entry.source
    if told and not around.looks:
        return "no line says where this wheel is: where nothing else does, an installation fails"
    return ""


_BESIDE = {
    True: Remedy(text="name the build too: pillow=*=simd_*"),
    False: Remedy(text="name its directory on a line of its own: --find-links wheels"),
}

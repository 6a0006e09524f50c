"""What to change in a file that would bring stock Pillow back. Pure."""

from pathlib import PurePath

from fastinstall.model.finding import Remedy
from fastinstall.model.locks import LockEntry, LockKind
from fastinstall.rules.messages import quote

_PROJECTS = (LockKind.UV, LockKind.POETRY, LockKind.PDM, LockKind.PIXI)
ACCEPTED = "fastinstall: stock"
"""The comment that accepts stock Pillow, on the line of an entry or the one before."""


def remedy_for(kind: LockKind, entry: LockEntry, file: PurePath) -> Remedy:
    """The remedy for an entry.

    Args:
        kind: of the file that was named.
        entry: what stands there.
        file: where it stands.
    """
    if entry.name != "pillow":
        return Remedy(text="ask for pillow instead: builds of fastinstall have that name, and the kernels in it")
    if kind in _PROJECTS:
        project = quote(file.parent)
        return Remedy(
            text="pin the stack in this project, which locks it again",
            command=f"fastinstall guard install --pin --project {project}",
        )
    if entry.is_conda:
        return Remedy(text=_of_channel(kind), command="fastinstall build --format conda -o channel")
    return Remedy(text=_OF_WHEELS.get(kind, _REQUIREMENTS), command=_build(entry, file.parent / "wheels"))


def _build(entry: LockEntry, wheels: PurePath) -> str:
    version = entry.version.partition("+")[0]
    wanted = f" --version {quote(version)}" if version else ""
    return f"fastinstall build -o {quote(wheels)}{wanted}"


def _of_channel(kind: LockKind) -> str:
    if kind is LockKind.ENVIRONMENT:
        return "make a channel of the build, put it first among the channels, and ask for pillow=*=simd_*"
    return "make a channel of the build, ask for pillow=*=simd_* of it, and lock again"


_REQUIREMENTS = (
    "make a wheel, add the line --find-links wheels, and take the hashes away or give the wheel's; "
    f"to accept stock Pillow here, add the comment # {ACCEPTED}"
)
_OF_WHEELS = {
    LockKind.PYLOCK: "make a wheel, and lock again with --find-links wheels",
    LockKind.PIPFILE: "make a wheel, name it in the Pipfile by its path, and lock again",
    LockKind.ENVIRONMENT: "make a wheel, and add - --find-links wheels to the list for pip",
    LockKind.CONDA_LOCK: "make a wheel, name it in environment.yml by its path, and lock again",
}

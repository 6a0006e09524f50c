"""What requirement and lock files say of PIL, and what becomes of the stack by it."""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.model.finding import Remedy, Status
from fastinstall.model.immutable import immutable


class LockKind(StrEnum):
    """The format of a file from which a tool installs."""

    REQUIREMENTS = "requirements"
    UV = "uv"
    POETRY = "poetry"
    PDM = "pdm"
    PYLOCK = "pylock"
    PIPFILE = "pipfile"
    PIXI = "pixi"
    CONDA_LOCK = "conda-lock"
    ENVIRONMENT = "environment"
    EXPLICIT = "explicit"


@immutable
class LockEntry:
    """One place of a file that names what provides PIL.

    Attributes:
        name: the distribution or conda package, normalised ("pillow", "pillow-simd", "pil").
        says: the place, shortened to what matters ("pillow==13.0.0").
        line: where that stands, from 1.
        first: the line where the entry begins; a comment there, or on the line before, speaks of it.
        last: the line where it ends.
        version: the one version that it allows; empty where it allows several.
        source: file, path or URL that it is taken from; empty where an index is asked.
        build: conda's build string, or a pattern of it; empty where it names none.
        is_conda: a conda package, and no distribution of Python's.
        hashes: "sha256:..." of the files that it allows; empty where it allows all.
        marker: when it is installed at all (PEP 508); empty for always.
    """

    name: str
    says: str
    line: int
    first: int
    last: int
    version: str = ""
    source: str = ""
    build: str = ""
    is_conda: bool = False
    hashes: tuple[str, ...] = ()
    marker: str = ""


@immutable
class LockFinding:
    """What an installation from a file would do to the stack.

    Attributes:
        file: as it was named, or included.
        line: from 1.
        says: what stands there, shortened.
        status: `error` where stock Pillow would come, `hint` where that is not certain.
        message: one sentence.
        remedy: what to change.
    """

    file: PurePath
    line: int
    says: str
    status: Status
    message: str
    remedy: Remedy


@immutable
class LockedFile:
    """A file that was judged.

    Attributes:
        file: as it was named.
        kind: its format.
    """

    file: PurePath
    kind: LockKind


@immutable
class LockReport:
    """The verdict on files.

    Attributes:
        status: the gravest of the findings'.
        files: those that were named, in that order.
        findings: by file, then line.
    """

    status: Status
    files: tuple[LockedFile, ...]
    findings: tuple[LockFinding, ...] = ()

"""A library with its fingerprint: what it is, and by what a change of its file is noticed."""

from pathlib import Path, PurePath

from fastinstall.binary.contents import Identity
from fastinstall.binary.dynamic import ElfError, read_dynamic
from fastinstall.binary.identities import JPEG, identify
from fastinstall.binary.jpeg import ENTRY
from fastinstall.binary.lookup import find_definitions
from fastinstall.model.core import Library
from fastinstall.system.files import sha256


def describe(identity: Identity, path: PurePath, *, place: Path, soname: str = "") -> Library:
    """An identified library with size, inode and build-id of its file; of a libjpeg of its own the hash too.

    Args:
        identity: what it is.
        path: where the target has its file.
        place: that file on this machine.
        soname: what it was asked for by; empty for one that is linked into the file.

    Raises:
        ElfError: the file cannot be read as an ELF file.
        OSError: it cannot be opened.
    """
    status = place.stat()
    return Library(
        soname=soname,
        path=path,
        implementation=identity.implementation,
        version=identity.version,
        simd=identity.simd,
        sha256=sha256(place) if identity.kind == JPEG and not identity.inside else "",
        abi=identity.abi,
        size=status.st_size,
        inode=status.st_ino,
        build_id=read_dynamic(place).build_id or "",
    )


def describe_jpeg(soname: str, path: Path | None) -> Library:
    """A library that something asks for, identified if it is a libjpeg; else by its name and place alone.

    Args:
        soname: the name asked for.
        path: where it resolves to, or None if the loader would not find it.
    """
    plain = Library(soname=soname, path=path)
    if path is None:
        return plain
    try:
        found = identify(path, kinds=(JPEG,)) if find_definitions(path, ENTRY) else ()
        return describe(found[0], path, place=path, soname=soname) if found else plain
    except (OSError, ElfError):
        return plain

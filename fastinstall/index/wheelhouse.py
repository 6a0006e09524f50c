"""Read a directory of sdists and wheels; each file is checked before it is used.

A `SHA256SUMS` in the directory (as `sha256sum` writes it) gives the files' hashes. A wheel that it does not list is
checked against the checksums inside the wheel.

The structure and members of a wheel must be sound. A wheel to install must also match its RECORD, and contain only PIL,
its libraries and its metadata. Source: the binary distribution format of packaging.python.org (PEP 427), "The
.dist-info directory".
"""

import re
from collections.abc import Callable, Iterable
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

from fastinstall.core import foreign
from fastinstall.core.archives import ArchiveError, list_zip_files, open_zip, read_tar_member
from fastinstall.core.errors import DocumentError, FailedError
from fastinstall.core.files import sha256
from fastinstall.core.parsing import json_data
from fastinstall.core.version_numbers import is_version, parse_version_number
from fastinstall.index.selection import parse_filename
from fastinstall.model.artefact import Artefact
from fastinstall.model.recipe import LIBRARIES

_PACKAGE = "PIL"


_FOUND_SOUND: set[str] = set()
"""SHA-256 of each wheel that has passed `require_stack_alone`."""


def read_sound_metadata(wheel: Path, *, thorough: bool = True) -> str:
    """Check a wheel's structure, members and checksums, and return its METADATA; empty if it has none.

    Args:
        thorough: decompress all members to verify their checksums; unnecessary if the wheel's hash was verified.

    Raises:
        ArchiveError: the wheel is damaged.
        OSError: the wheel cannot be read.
    """
    with open_zip(wheel) as archive:
        damaged = archive.testzip() if thorough else None
        if damaged is not None:
            raise ArchiveError(wheel, "is damaged: Bad CRC-32", damaged)
        file = f"{metadata_of(list_zip_files(archive))}/METADATA"
        return archive.read(file).decode("utf-8", "replace") if file in list_zip_files(archive) else ""


def require_stack_alone(wheel: Path, *, ours: str = "") -> None:
    """Refuse a wheel that would install anything but PIL, its libraries and its metadata.

    Each wheel is checked once per process, because decompressing and hashing its content takes 150 ms.

    Args:
        ours: SHA-256 of the wheel if fastinstall packed it, so that its content is known to match its RECORD; else
            empty.

    Raises:
        ArchiveError: the wheel would install something else, or is damaged.
        OSError: the wheel cannot be read.
    """
    digest = sha256(wheel)
    if digest in _FOUND_SOUND:
        return
    with open_zip(wheel) as archive:
        metadata = metadata_of(list_zip_files(archive))
        if digest != ours:
            _require_record(wheel, archive)
        _refuse_foreign_members(wheel, list_zip_files(archive), metadata)
        points = f"{metadata}/entry_points.txt"
        if points in list_zip_files(archive) and _SCRIPTS.search(archive.read(points).decode("utf-8", "replace")):
            raise ArchiveError(wheel, "installs programs into the environment's bin directory", points)
    _FOUND_SOUND.add(digest)


_SCRIPTS = re.compile(r"^\s*\[\s*(?:console|gui)_scripts\s*\]", re.MULTILINE)


def metadata_of(names: Iterable[str]) -> str:
    """Return the name of the `.dist-info` directory in a wheel's paths; empty if there is none, or several."""
    found = {top for name in names if re.fullmatch(r"[^/]+\.dist-info", top := name.partition("/")[0])}
    return found.pop() if len(found) == 1 else ""


def _require_record(wheel: Path, archive: ZipFile) -> None:
    """Refuse a wheel whose content differs from its RECORD."""
    from installer import exceptions, sources  # needed only for an installation

    archive.filename = str(wheel)  # WheelFile parses this name, which `open_zip` leaves empty
    try:
        sources.WheelFile(archive).validate_record()
    except (exceptions.InstallerError, ValueError) as error:
        raise ArchiveError(wheel, f"differs from its RECORD: {error}") from error


def _refuse_foreign_members(wheel: Path, names: Iterable[str], metadata: str) -> None:
    """Refuse a wheel with members that do not belong to PIL, its libraries or its metadata.

    All top-level entries are moved into site-packages, where a module, a `.pth` file or a script beside PIL would run
    for every program.
    """
    for name in names:
        top = name.partition("/")[0]
        if "/" not in name or (top not in (_PACKAGE, metadata) and top.lower() not in LIBRARIES):
            raise ArchiveError(
                wheel, f"is not part of {_PACKAGE} and would be installed beside it in site-packages", name
            )
        if "__pycache__" in name.split("/") or name.endswith(".pyc"):
            raise ArchiveError(wheel, "is bytecode, which would run instead of the source", name)


_SUMS = "SHA256SUMS"
_LINE = re.compile(r"^(?P<sha256>[0-9a-fA-F]{64}) [ *](?:\./)?(?P<name>.+)$")
_PROVENANCE = r"[^/]+\.dist-info/fastinstall\.json"


def read_wheelhouse(directory: Path, wanted: Callable[[str], bool]) -> tuple[Artefact, ...]:
    """Return the wanted files of a directory, after checking them.

    Args:
        directory: the directory; its subdirectories are not searched.
        wanted: function that returns whether a file is wanted, given its name; other files are not opened.

    Raises:
        DocumentError: a line of `SHA256SUMS` cannot be read.
        FailedError: the directory does not exist, or a wanted file is damaged.
    """
    if not directory.is_dir():
        raise FailedError(
            f"{directory}: no such directory", hint="create one on a machine with a network: fastinstall build -o DIR"
        )
    sums = read_sums(directory / _SUMS)
    files = sorted(path for path in directory.iterdir() if wanted(path.name))
    return tuple(describe_file(path.absolute(), sums.get(path.name)) for path in files)


def describe_file(path: Path, expected: str | None = None) -> Artefact:
    """Describe an sdist or a wheel on this machine as an artefact.

    Args:
        path: absolute path of the file.
        expected: the file's SHA-256 from `SHA256SUMS` or from its path in our cache; None if unknown. If it is known,
            the checksums inside a wheel are not verified, and an sdist is only read up to its PKG-INFO.

    Raises:
        FailedError: the file is damaged.
        ValueError: the file's name is that of neither an sdist nor a wheel.
    """
    parsed = parse_filename(path.name)
    if parsed is None:
        raise ValueError(f"{path.name}: neither an sdist nor a wheel by its name")
    again = f"copy {path.name} there again"
    try:
        digest = sha256(path)
        if expected is not None and digest != expected.lower():
            raise FailedError(f"{path}: damaged: sha256 is {digest}, but {_SUMS} says {expected.lower()}", hint=again)
        read = read_sound_metadata if parsed.is_wheel else _read_information
        metadata = read(path, thorough=expected is None)
    except OSError as error:
        raise FailedError(f"{path}: cannot be read: {error.strerror or error}", hint=again) from error
    headers = HeaderParser().parsestr(metadata)
    # Advisories are looked up by the version in the file's name, so the metadata must have the same version.
    said = headers.get("Version", str(parsed.version)).strip()
    if not is_version(said) or parse_version_number(said) != parsed.version:
        raise FailedError(
            f"{path}: its name says {parsed.version}, but its metadata says {said}",
            hint=f"remove {path.name} from the directory",
        )
    return Artefact(
        name=parsed.name,
        version=str(parsed.version),
        filename=path.name,
        url=path.as_uri(),
        sha256=digest,
        requires_python=headers.get("Requires-Python", "").strip(),
        size=path.stat().st_size,
    )


def recipe_of(path: Path | None) -> str:
    """Return the name of the recipe that built a wheel; empty if the wheel has no `fastinstall.json` that states it."""
    if path is None or path.suffix != ".whl":
        return ""
    try:
        with open_zip(path) as archive:
            told = [name for name in list_zip_files(archive) if re.fullmatch(_PROVENANCE, name)]
            made = json_data(archive.read(told[0])) if told else {}
    except (OSError, FailedError, ValueError):
        return ""
    return str(made.get("recipe", "")) if isinstance(made, dict) else ""


def _read_information(sdist: Path, *, thorough: bool) -> str:
    """Return an sdist's PKG-INFO; empty if it has none."""
    if sdist.suffix != ".zip":
        return read_tar_member(sdist, _is_information, thorough=thorough).decode("utf-8", "replace")
    with open_zip(sdist) as archive:
        found = next(filter(_is_information, list_zip_files(archive)), None)
        return archive.read(found).decode("utf-8", "replace") if found else ""


def _is_information(name: str) -> bool:
    return re.fullmatch(r"[^/]+/PKG-INFO", name) is not None


def read_sums(path: Path) -> dict[str, str]:
    """Return the hashes in a `SHA256SUMS`, by file name; empty if the file does not exist.

    Raises:
        DocumentError: the file cannot be read, or a line of it is malformed.
    """
    if not path.is_file():
        return {}
    try:
        text = foreign.read_text(path, errors="surrogateescape")
    except OSError as error:
        raise DocumentError(path, "", f"cannot be read: {error.strerror or error}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.match(line)
        if match is None and line.strip():
            raise DocumentError(path, f"line {number}", "expected a SHA-256 and a file name, as written by sha256sum")
        if match is not None:
            found[match["name"]] = match["sha256"]
    return found

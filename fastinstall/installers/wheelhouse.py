"""A directory of sdists and wheels as a source: each file that would be used is found sound first.

Where a `SHA256SUMS` lies beside them (as `sha256sum` writes it), it decides; a wheel without one
is checked against the sums inside it.
"""

import gzip
import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from fastinstall.errors import DocumentError, FailedError
from fastinstall.installers.selection import FileName, parse_filename
from fastinstall.model.artefact import Artefact
from fastinstall.system.files import sha256

_SUMS = "SHA256SUMS"
_LINE = re.compile(r"^(?P<sha256>[0-9a-fA-F]{64}) [ *](?:\./)?(?P<name>.+)$")
_PROVENANCE = r"[^/]+\.dist-info/fastinstall\.json"
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError, NotImplementedError)


def read_wheelhouse(directory: Path, wanted: Callable[[str], bool]) -> tuple[Artefact, ...]:
    """The wanted files of a directory, found sound.

    Args:
        directory: where they lie; not its subdirectories.
        wanted: says by its name whether a file matters; the others are not opened.

    Raises:
        DocumentError: a line of `SHA256SUMS` cannot be read.
        FailedError: there is no such directory, or a wanted file is damaged.
    """
    if not directory.is_dir():
        raise FailedError(
            f"{directory}: no such directory", hint="fill one on a machine with a network: fastinstall build -o DIR"
        )
    sums = _read_sums(directory / _SUMS)
    files = sorted(path for path in directory.iterdir() if wanted(path.name) and path.is_file())
    return tuple(describe_file(path.absolute(), sums.get(path.name)) for path in files)


def describe_file(path: Path, expected: str | None = None) -> Artefact:
    """An sdist or a wheel on this machine as an artefact.

    Args:
        path: of the file, absolute.
        expected: the sha256 that `SHA256SUMS` gives for it, if there is one.

    Raises:
        FailedError: the file is damaged.
        ValueError: its name is that of neither an sdist nor a wheel.
    """
    parsed = parse_filename(path.name)
    if parsed is None:
        raise ValueError(f"{path.name}: neither an sdist nor a wheel by its name")
    digest = sha256(path)
    if expected is not None and digest != expected.lower():
        raise FailedError(
            f"{path}: damaged: sha256 is {digest}, but {_SUMS} says {expected.lower()}",
            hint=f"copy {path.name} there again",
        )
    return Artefact(
        name=parsed.name,
        version=str(parsed.version),
        filename=path.name,
        url=path.as_uri(),
        sha256=digest,
        requires_python=_inspect(path, parsed),
        size=path.stat().st_size,
    )


def recipe_of(path: Path | None) -> str:
    """The recipe that a wheel of ours was built by, as its own `fastinstall.json` says; empty where none does."""
    if path is None or path.suffix != ".whl":
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            told = [name for name in archive.namelist() if re.fullmatch(_PROVENANCE, name)]
            made = json.loads(archive.read(told[0])) if told else {}
    except (*_BROKEN, ValueError):
        return ""
    return str(made.get("recipe", "")) if isinstance(made, dict) else ""


def _inspect(path: Path, parsed: FileName) -> str:
    try:
        return _inspect_wheel(path) if parsed.is_wheel else _inspect_sdist(path)
    except _BROKEN as error:
        raise FailedError(f"{path}: damaged: {error}", hint=f"copy {path.name} there again") from error


def _inspect_wheel(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        broken = archive.testzip()
        if broken is not None:
            raise zipfile.BadZipFile(f"bad checksum of {broken}")
        metadata = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        return _requires_python(archive.read(metadata[0])) if metadata else ""


def _inspect_sdist(path: Path) -> str:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            metadata = [name for name in archive.namelist() if re.fullmatch(r"[^/]+/PKG-INFO", name)]
            return _requires_python(archive.read(metadata[0])) if metadata else ""
    _read_through(path)
    with tarfile.open(path) as archive:
        for member in archive:
            if re.fullmatch(r"[^/]+/PKG-INFO", member.name) and (stream := archive.extractfile(member)):
                return _requires_python(stream.read())
    return ""


def _read_through(path: Path) -> None:
    """Read a compressed file to its end, where its checksum stands."""
    with gzip.open(path) as stream:
        while stream.read(1 << 20):
            pass


def _requires_python(metadata: bytes) -> str:
    for line in metadata.decode("utf-8", "replace").splitlines():
        if not line:
            break
        key, _, value = line.partition(":")
        if key.lower() == "requires-python":
            return value.strip()
    return ""


def _read_sums(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), start=1):
        match = _LINE.match(line)
        if match is None and line.strip():
            raise DocumentError(path, f"line {number}", "expected a sha256 and a file name, as sha256sum writes them")
        if match is not None:
            found[match["name"]] = match["sha256"]
    return found

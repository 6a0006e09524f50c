"""PIL as it lies in site-packages, and the distributions around it, from files alone: nothing is imported or run.

- Which distributions are installed, from the names of their `.dist-info` directories. Older formats are neither made
  nor removed by the installers that matter here.
- Which of them claim files of PIL, and whether those files still match their RECORD.
- Which require a distribution that we would replace. A requirement is parsed only if its line begins with one of the
  names, and the `packaging` library is loaded only if such a line has a marker: it would double doctor's time.

Source: PyPA "Recording installed projects"; REQUESTED is PEP 376's.
"""

import base64
import csv
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.values import immutable
from fastinstall.elf.description import ImagingCore
from fastinstall.elf.imaging_core import read_core
from fastinstall.model.facts import Dependant, Distribution, InstalledStack, Interpreter, Owner

_PACKAGE = "PIL"
_VERSION = re.compile(r"""^__version__\s*(?::[^=]*)?=\s*(['"])(.*?)\1""", re.MULTILINE)
_CORE = re.compile(r"_imaging\.(?:.*\.)?so")
_PLACEHOLDERS = "-~.=%0123456789"


@immutable
class Loader:
    """What the dynamic loader's search depends on, beside the files themselves.

    Attributes:
        hwcaps: levels whose subdirectories it searches, the best first ("x86-64-v3").
        library_path: the variable LD_LIBRARY_PATH, as written.
        preload: the variable LD_PRELOAD, as written.
        level: of the CPU, above which the loader refuses a file, whatever its tunables say; None: as `hwcaps`.
        platform: what it takes $PLATFORM for; empty: the machine.
        capabilities: what else it searches for before glibc 2.37; None: the machine.
    """

    hwcaps: tuple[str, ...] = ()
    library_path: str = ""
    preload: str = ""
    level: str | None = None
    platform: str = ""
    capabilities: tuple[str, ...] | None = None


_PLAIN = Loader()


def observe_stack(  # noqa: PLR0913 (how thoroughly to look is asked of every probe of files)
    interpreter: Interpreter,
    replaces: tuple[str, ...],
    symbols: tuple[str, ...],
    distributions: tuple[Distribution, ...],
    *,
    loader: Loader = _PLAIN,
    thorough: bool = True,
) -> InstalledStack:
    """Everything that files tell about PIL in the target's site-packages.

    Args:
        interpreter: the target's Python.
        replaces: names of distributions that provide PIL, normalised.
        symbols: symbols that tell SIMD kernels, looked for in the core.
        distributions: everything installed there.
        loader: what the dynamic loader's search depends on.
        thorough: see `observe_owners`.
    """
    site_packages = Path(interpreter.site_packages)
    directory = site_packages / _PACKAGE
    owners = observe_owners(site_packages, replaces, distributions, thorough=thorough)
    version = _read_version(directory / "_version.py")
    core = _find_core_file(directory, interpreter.extension_suffix)
    return InstalledStack(
        directory=directory if directory.is_dir() else None,
        has_init=(directory / "__init__.py").is_file(),
        version=version,
        core=_read(core, symbols, interpreter, loader, version) if core is not None else None,
        foreign_cores=tuple(f"{_PACKAGE}/{path.name}" for path in _list_core_files(directory) if path != core),
        owners=owners,
        unclaimed=tuple(sorted(set(_list_package_files(site_packages)) - list_record_files(site_packages, owners))),
        debris=_find_debris(site_packages, replaces),
        dependants=observe_dependants(interpreter, replaces, distributions),
    )


def _read(
    core: Path, symbols: tuple[str, ...], interpreter: Interpreter, loader: Loader, version: str | None
) -> ImagingCore:
    return read_core(
        core,
        symbols,
        main=Path(os.path.realpath(interpreter.executable)),
        hwcaps=loader.hwcaps,
        library_path=tuple(Path(entry) for entry in re.split("[:;]", loader.library_path) if entry),
        expected_version=version,
    )


def _read_version(path: Path) -> str | None:
    try:
        found = _VERSION.search(foreign.read_text(path, errors="replace"))
    except OSError:
        return None
    return found[2] if found else None


def _list_core_files(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if _CORE.fullmatch(path.name))
    except OSError:
        return []


def _find_core_file(directory: Path, extension_suffix: str) -> Path | None:
    """The file that `import PIL._imaging` would take, by the order of the import system's suffixes."""
    suffixes = (extension_suffix, ".abi3.so", ".so")
    names = {path.name: path for path in _list_core_files(directory)}
    return next((names["_imaging" + suffix] for suffix in suffixes if "_imaging" + suffix in names), None)


def _list_package_files(site_packages: Path) -> Iterator[str]:
    """Files below PIL/ relative to site-packages, bytecode aside."""
    skipped = len(str(site_packages)) + 1
    for directory, _, names in os.walk(site_packages / _PACKAGE):
        for name in names:
            if not name.endswith((".pyc", ".pyo")):
                yield f"{directory[skipped:]}/{name}"


def _find_debris(site_packages: Path, replaces: tuple[str, ...]) -> tuple[str, ...]:
    """What an interrupted pip leaves.

    It moves a directory aside under its own name with the first letters replaced: "~IL", "~-llow.libs".
    Source: pip's AdjacentTempDirectory.
    """
    try:
        names = [path.name for path in site_packages.iterdir() if path.name.startswith("~")]
    except OSError:
        return ()
    pattern = _make_debris_pattern(replaces)
    return tuple(sorted(name for name in names if pattern.fullmatch(name)))


def _make_debris_pattern(replaces: tuple[str, ...]) -> re.Pattern[str]:
    distributions = {re.sub("[-_.]+", "_", name) for name in replaces}
    spellings = [(_PACKAGE, r"(?:-.*)?"), *((name, r"(?:-.*|\.libs)?") for name in distributions)]
    alternatives = (
        rf"[{re.escape(_PLACEHOLDERS)}]{{{start - 1}}}{re.escape(name[start:])}{tail}"
        for name, tail in spellings
        for start in range(1, len(name))
    )
    return re.compile(rf"~(?:{'|'.join(alternatives)})", re.IGNORECASE)


_PIL_DIRECTORY = "PIL/"
_CORE_FILE = "PIL/_imaging."
_SMALL = 1 << 20
_WRITTEN_LAST = ("RECORD", "INSTALLER", "METADATA", "")


def observe_owners(
    site_packages: Path,
    replaces: tuple[str, ...],
    distributions: tuple[Distribution, ...],
    *,
    thorough: bool = True,
) -> tuple[Owner, ...]:
    """The distributions that are named like one of `replaces`, or whose RECORD lists files below `PIL/`.

    Args:
        site_packages: where they lie.
        replaces: names of distributions that provide PIL, normalised.
        distributions: everything installed there.
        thorough: read every file. Else a file of the recorded size that has not changed since its RECORD was written,
            by its times of modification and of change of status, counts as it was recorded.
    """
    digests = _Digests(str(site_packages), thorough=thorough)
    claims = ((distribution, _record(site_packages, distribution)) for distribution in distributions)
    return tuple(
        _make_owner(site_packages, distribution, record, digests)
        for distribution, record in claims
        if distribution.name in replaces or (record is not None and _is_claiming_package(record))
    )


def list_record_files(site_packages: Path, owners: tuple[Owner, ...]) -> frozenset[str]:
    """Every file that the RECORDs of `owners` list, relative to site-packages."""
    records = (_record(site_packages, owner.distribution) for owner in owners)
    return frozenset(row.path for record in records if record is not None for row in _parse_rows(record))


@dataclass(frozen=True, slots=True)
class _RecordRow:
    """A line of a RECORD."""

    path: str
    digest: str
    size: str


@dataclass(frozen=True, slots=True)
class _Digests:
    """Digests of files below site-packages, each file read once however many RECORDs list it."""

    root: str
    thorough: bool
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, path: str, algorithm: str) -> str:
        key = (path, algorithm)
        if key not in self.known:
            self.known[key] = base64.urlsafe_b64encode(_digest(f"{self.root}/{path}", algorithm)).rstrip(b"=").decode()
        return self.known[key]


def _digest(path: str, algorithm: str) -> bytes:
    """A small file is hashed in one piece, which takes half the time; a large one never lies in memory whole."""
    with foreign.open_foreign_file(path) as stream:
        if os.fstat(stream.fileno()).st_size > _SMALL:
            return hashlib.file_digest(stream, algorithm).digest()
        return hashlib.new(algorithm, stream.read()).digest()


def _record(site_packages: Path, distribution: Distribution) -> bytes | None:
    try:
        return foreign.read_bytes(site_packages / distribution.metadata / "RECORD")
    except OSError:
        return None


def _is_claiming_package(record: bytes) -> bool:
    return record.startswith(_PIL_DIRECTORY.encode()) or b"\n" + _PIL_DIRECTORY.encode() in record


@lru_cache(maxsize=2)
def _parse_rows(record: bytes) -> tuple[_RecordRow, ...]:
    """The files of a RECORD, without bytecode: it is made anew whenever it is needed."""
    text = record.decode("utf-8", "surrogateescape")
    try:
        return tuple(_read_rows(csv.reader(io.StringIO(text, newline=""))))
    except csv.Error:  # a field without end
        return ()


def _read_rows(lines: Iterable[list[str]]) -> Iterator[_RecordRow]:
    for cells in lines:
        path, digest, size = (*cells, "", "", "")[:3]
        if path and not path.endswith((".pyc", ".pyo")):
            yield _RecordRow(os.path.normpath(path), digest, size)


def _make_owner(site_packages: Path, distribution: Distribution, record: bytes | None, digests: _Digests) -> Owner:
    rows = _parse_rows(record) if record is not None else ()
    inside = [row for row in rows if not _is_outside(row.path)]
    missing = [row.path for row in rows if not os.path.exists(f"{digests.root}/{row.path}")]  # noqa: PTH110 (likewise)
    absent, written = frozenset(missing), _read_record_time(site_packages / distribution.metadata / "RECORD")
    return Owner(
        distribution=distribution,
        installed_at=_read_installation_time(site_packages / distribution.metadata),
        has_record=record is not None,
        recorded_core=next((row.digest for row in rows if row.path.startswith(_CORE_FILE) and row.digest), None),
        entries=tuple(sorted({distribution.metadata, *(row.path.partition("/")[0] for row in inside)})),
        outside=tuple(row.path for row in rows if _is_outside(row.path)),
        files=len(rows),
        mismatched=tuple(row.path for row in rows if row.path not in absent and _is_altered(row, written, digests)),
        missing=tuple(missing),
    )


def _read_record_time(record: Path) -> int:
    """When a RECORD was written, in nanoseconds since the epoch; 0 where there is none."""
    try:
        return record.stat().st_mtime_ns
    except OSError:
        return 0


def _is_outside(path: str) -> bool:
    return path.startswith("/") or path.partition("/")[0] == ".."


def _is_altered(row: _RecordRow, written: int, digests: _Digests) -> bool:
    """Whether a file on disk is not what RECORD says; one that cannot be read is not."""
    try:
        status = os.stat(f"{digests.root}/{row.path}")  # noqa: PTH116 (like `_digest`)
        if not stat.S_ISREG(status.st_mode) or (row.size.isdigit() and int(row.size) != status.st_size):
            return True
        if not digests.thorough and max(status.st_mtime_ns, status.st_ctime_ns) <= written:
            return False
        algorithm, _, digest = row.digest.partition("=")
        return bool(digest) and digests.of(row.path, algorithm) != digest
    except (OSError, ValueError, TypeError):  # what its hash is named after makes none of a fixed length
        return True


def _read_installation_time(metadata: Path) -> str:
    """When the metadata was written: the time of what installers write last."""
    path = next((metadata / name for name in _WRITTEN_LAST if (metadata / name).exists()), None)
    if path is None:
        return ""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")


_ESCAPED = re.compile(r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>v?\d[A-Za-z0-9.+!]*)\.dist-info")
_HEADER = re.compile(rb"^(Name|Version):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)


def observe_distributions(site_packages: Path) -> tuple[Distribution, ...]:
    """Everything installed there, sorted by name (about 22 us each)."""
    try:
        metadata = [path for path in site_packages.iterdir() if path.name.endswith(".dist-info")]
    except OSError:
        return ()
    found = (_parse_distribution(path) for path in metadata if not path.name.startswith("~"))
    return tuple(sorted(found, key=lambda distribution: (distribution.name, distribution.version)))


def normalise_distribution_name(name: str) -> str:
    """A distribution's name for comparisons (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_head(metadata: Path) -> bytes:
    """The headers of a METADATA file, without the description; empty if it cannot be read."""
    try:
        content = foreign.read_bytes(metadata / "METADATA")
    except OSError:
        return b""
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n")
    return content.partition(b"\n\n")[0]


def _parse_distribution(metadata: Path) -> Distribution:
    """One distribution; METADATA is read only where the directory's name can be split in two ways."""
    match = _ESCAPED.fullmatch(metadata.name)
    name, version = (match["name"], match["version"]) if match else _from_metadata(metadata)
    return Distribution(
        name=normalise_distribution_name(name),
        version=version,
        metadata=metadata.name,
        installer=_read_installer(metadata / "INSTALLER"),
        requested=(metadata / "REQUESTED").exists(),
    )


def _from_metadata(metadata: Path) -> tuple[str, str]:
    headers = {key: value.decode("utf-8", "replace") for key, value in _HEADER.findall(read_head(metadata))}
    name, _, version = metadata.name.removesuffix(".dist-info").rpartition("-")
    return headers.get(b"Name", name or version), headers.get(b"Version", version if name else "")


def _read_installer(path: Path) -> str:
    try:
        return foreign.read_text(path, errors="replace").strip()
    except OSError:
        return ""


_EXTRA_ONLY = re.compile(r"""\(?\s*extra\s*==\s*(['"])[^'"]*\1\s*\)?""")


def observe_dependants(
    interpreter: Interpreter, replaces: tuple[str, ...], distributions: tuple[Distribution, ...]
) -> tuple[Dependant, ...]:
    """The distributions that require one of `replaces` on this interpreter, extras left out.

    Args:
        interpreter: the target's Python, for the environment markers.
        replaces: names of distributions, normalised.
        distributions: everything installed there.
    """
    pattern = _make_requirement_pattern(replaces)
    others = [distribution for distribution in distributions if distribution.name not in replaces]
    return tuple(
        Dependant(name=distribution.name, requirement=applicable, version=distribution.version)
        for distribution in others
        for requirement in _read_requirements(Path(interpreter.site_packages) / distribution.metadata, pattern)
        if (applicable := _apply_marker(requirement, interpreter))
    )


def _make_requirement_pattern(names: tuple[str, ...]) -> re.Pattern[bytes]:
    spellings = "|".join(r"[-_.]+".join(map(re.escape, normalise_distribution_name(name).split("-"))) for name in names)
    text = rf"^Requires-Dist:[ \t]*((?:{spellings})(?![A-Za-z0-9._-]).*?)[ \t\r]*$"
    return re.compile(text.encode(), re.IGNORECASE | re.MULTILINE)


def _read_requirements(metadata: Path, pattern: re.Pattern[bytes]) -> Iterator[str]:
    for line in pattern.findall(read_head(metadata)):
        yield line.decode("utf-8", "replace")


def _apply_marker(requirement: str, interpreter: Interpreter) -> str:
    """Return the requirement without its marker, or "" if the marker excludes this interpreter."""
    bare, semicolon, marker = (part.strip() for part in requirement.partition(";"))
    if not semicolon:
        return bare
    if _EXTRA_ONLY.fullmatch(marker) or not _is_marker_true(marker, interpreter):
        return ""
    return bare


def _is_marker_true(marker: str, interpreter: Interpreter) -> bool:
    """Whether a marker holds for the target; a malformed one counts as holding (it hides nothing)."""
    from packaging.markers import InvalidMarker, Marker  # noqa: PLC0415 (slow, and rarely needed)

    full = interpreter.version
    short = ".".join(full.split(".")[:2])
    target = {"python_version": short, "python_full_version": full, "implementation_version": full, "extra": ""}
    names = {"cpython": "CPython", "pypy": "PyPy"}
    target["implementation_name"] = interpreter.implementation
    target["platform_python_implementation"] = names.get(interpreter.implementation, interpreter.implementation)
    try:
        return Marker(marker).evaluate(target)
    except InvalidMarker:
        return True

"""Observe PIL in site-packages, and the distributions around it, from files alone; nothing is imported or run.

This module determines:

- Which distributions are installed, from the names of their `.dist-info` directories. Older formats are ignored: no
  relevant installer creates or removes them.
- Which distributions claim files of PIL, and whether these files still match the RECORD.
- Which distributions require a distribution that setup would replace. A requirement is parsed only if its line starts
  with the name of a distribution to be replaced. The `packaging` library is imported only if the line has a marker,
  because importing it would double doctor's time.
- The version of CUDA, ROCm or XPU that an installed torch was built for, from `torch/version.py`. If that file does not
  give it, these do: the local label of torch's version, the required `nvidia-cuda-runtime`, or the build string of
  conda's package.

Sources: PyPA, "Recording installed projects"; PEP 376 for REQUESTED.
"""

import base64
import csv
import hashlib
import io
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.errors import UndeterminedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.version_numbers import normalise_distribution_name
from fastinstall.elf.imaging_core import read_core
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.model.conda import CondaPackage
from fastinstall.model.facts import Dependant, Distribution, InstalledStack, Interpreter, Owner
from fastinstall.model.machine import FrameworkBuild
from fastinstall.observe.guard_files import GUARD_ENTRIES
from fastinstall.observe.obstacles import find_entries_of_others, find_hidden_entries

_PACKAGE = "PIL"
_VERSION = re.compile(r"""^__version__\s*(?::[^=]*)?=\s*(['"])(.*?)\1""", re.MULTILINE)
_CORE = re.compile(r"_imaging\.(?:.*\.)?so")
_PLACEHOLDERS = "-~.=%0123456789"
_BYTECODE = (".pyc", ".pyo")


def observe_stack(
    interpreter: Interpreter,
    replaces: tuple[str, ...],
    symbols: tuple[str, ...],
    distributions: tuple[Distribution, ...],
    *,
    settings: ProcessSettings,
    thorough: bool = True,
) -> InstalledStack:
    """Return everything that files show about PIL in the target's site-packages.

    Args:
        interpreter: the target's Python.
        replaces: names of distributions that provide PIL, normalised.
        symbols: symbols to look for in the core; they identify SIMD kernels.
        distributions: every distribution in site-packages.
        settings: inputs of the dynamic loader's search, with the interpreter as the program.
        thorough: see `observe_owners`.

    Raises:
        UndeterminedError: this user has no permission to read the directory `PIL`.
    """
    site_packages = interpreter.site_packages
    directory = site_packages / _PACKAGE
    owners = observe_owners(site_packages, replaces, distributions, thorough=thorough)
    entries = (_PACKAGE, *(entry for owner in owners for entry in owner.entries), *GUARD_ENTRIES)
    hidden = find_hidden_entries(site_packages, entries)
    if directory.is_dir() and not os.access(directory, os.R_OK | os.X_OK):
        closed = " ".join(quote(site_packages / name) for name in hidden or (_PACKAGE,))
        raise UndeterminedError(
            f"{directory}: this user may not read it, so PIL cannot be imported",
            hint=f"let its owner or root run: chmod -R go+rX {closed}",
        )
    version = read_pil_version(directory)
    cores = [name for name in foreign.list_names(directory) if _CORE.fullmatch(name)]
    # `core` is the file that `import PIL._imaging` would load: Python's import system tries suffixes in this order
    suffixes = (interpreter.extension_suffix, ".abi3.so", ".so")
    core = next((f"_imaging{suffix}" for suffix in suffixes if f"_imaging{suffix}" in cores), None)
    seen = None
    if core is not None:
        seen = read_core(
            directory / core,
            symbols,
            main=Path(os.path.realpath(interpreter.executable)),
            hwcaps=settings.hwcaps,
            library_path=tuple(Path(entry) for entry in re.split("[:;]", settings.library_path) if entry),
            expected_version=version,
        )
    return InstalledStack(
        directory=directory if directory.is_dir() else None,
        has_init=(directory / "__init__.py").is_file(),
        version=version,
        core=seen,
        foreign_cores=tuple(f"{_PACKAGE}/{name}" for name in cores if name != core),
        owners=owners,
        unclaimed=_list_unclaimed_files(site_packages, owners),
        debris=_find_debris(site_packages, replaces),
        dependants=observe_dependants(interpreter, replaces, distributions),
        hidden=hidden,
        of_others=find_entries_of_others(site_packages, entries),
    )


def read_pil_version(directory: Path) -> str | None:
    """Return the version in `_version.py` of PIL's directory, or None if the file is missing or has no version."""
    written = _VERSION.search(foreign.text_or_empty(directory / "_version.py"))
    return written[2] if written else None


def _find_debris(site_packages: Path, replaces: tuple[str, ...]) -> tuple[str, ...]:
    """List directories that an interrupted pip leaves behind: renamed directories, and empty metadata directories.

    pip moves a directory aside by replacing the first letters of its name: "~IL", "~-llow.libs". Source: pip's
    AdjacentTempDirectory.
    """
    spellings = [(_PACKAGE, r"(?:-.*)?"), *((re.sub("[-_.]+", "_", name), r"(?:-.*|\.libs)?") for name in replaces)]
    alternatives = (
        rf"[{re.escape(_PLACEHOLDERS)}]{{{start - 1}}}{re.escape(name[start:])}{tail}"
        for name, tail in spellings
        for start in range(1, len(name))
    )
    pattern = re.compile(rf"~(?:{'|'.join(alternatives)})", re.IGNORECASE)
    names = foreign.list_names(site_packages)
    emptied = (
        name
        for name in names
        if name.endswith(".dist-info")
        and normalise_distribution_name(name.partition("-")[0]) in replaces
        and _is_empty_metadata(site_packages / name)
    )
    return (*(name for name in names if pattern.fullmatch(name)), *emptied)


_CORE_FILE = "PIL/_imaging."
_SMALL = 1 << 20
_WRITTEN_LAST = ("RECORD", "INSTALLER", "METADATA", "")


def observe_owners(
    site_packages: Path, replaces: tuple[str, ...], distributions: tuple[Distribution, ...], *, thorough: bool = True
) -> tuple[Owner, ...]:
    """Return the distributions that are named in `replaces`, or whose RECORD lists files below `PIL/`.

    Args:
        site_packages: the directory that contains PIL.
        replaces: names of distributions that provide PIL, normalised.
        distributions: every distribution in site-packages.
        thorough: if True, read every file. Otherwise, a file counts as unaltered if it has the recorded size, and
            neither its mtime nor its ctime is later than the mtime of the RECORD.
    """
    digests: dict[tuple[str, str], str] = {}
    return tuple(
        _make_owner(site_packages, distribution, record, digests, thorough=thorough)
        for distribution in distributions
        for record in (_read_record(site_packages, distribution),)
        if (distribution.name in replaces or _has_path(record or b"", b"PIL/"))
        and not _is_empty_metadata(site_packages / distribution.metadata)
    )


def _is_empty_metadata(metadata: Path) -> bool:
    """Return whether a metadata directory is empty, as an interrupted removal leaves it; installers ignore it."""
    return not foreign.list_names(metadata) and os.access(metadata, os.R_OK)


def _read_checkout(metadata: Path) -> PurePath | None:
    """Return the source directory of an editable installation (PEP 610), or None for other distributions."""
    text = foreign.text_or_empty(metadata / "direct_url.json")
    if '"editable"' not in text:
        return None
    from urllib.parse import unquote, urlsplit  # slow to import, and rarely needed

    try:
        source = json_data(text)
        url, editable = urlsplit(source["url"]), source["dir_info"]["editable"] is True
    except (ValueError, TypeError, LookupError, AttributeError):  # direct_url.json does not follow PEP 610
        return None
    return PurePath(unquote(url.path)) if editable and url.scheme == "file" else None


def list_distributions_with(site_packages: Path, start: str) -> tuple[str, ...]:
    """Return the names of the distributions whose RECORD lists a path that begins with `start`."""
    return tuple(
        distribution.name
        for distribution in observe_distributions(site_packages)
        if _has_path(_read_record(site_packages, distribution) or b"", os.fsencode(start))
    )


def _has_path(record: bytes, start: bytes) -> bool:
    return record.startswith(start) or b"\n" + start in record


def _list_unclaimed_files(site_packages: Path, owners: tuple[Owner, ...]) -> tuple[str, ...]:
    """List the files below PIL/, without bytecode, that no RECORD of `owners` lists; relative to site-packages."""
    skipped = len(str(site_packages)) + 1
    records = (_read_record(site_packages, owner.distribution) for owner in owners)
    listed = {path for record in records if record is not None for path, _, _ in read_rows(record)}
    walked = ((directory[skipped:], names) for directory, _, names in os.walk(site_packages / _PACKAGE))
    found = {f"{place}/{name}" for place, names in walked for name in names if not name.endswith(_BYTECODE)}
    return tuple(sorted(found - listed))


def digest_file(path: str, algorithm: str) -> bytes:
    """Return a file's digest. A file of at most 1 MiB is read at once, in half the time; a larger one in pieces."""
    with foreign.open_foreign_file(path) as stream:
        if os.fstat(stream.fileno()).st_size > _SMALL:
            return hashlib.file_digest(stream, algorithm).digest()
        return hashlib.new(algorithm, stream.read()).digest()


def _read_record(site_packages: Path, distribution: Distribution) -> bytes | None:
    try:
        return foreign.read_bytes(site_packages / distribution.metadata / "RECORD")
    except OSError:
        return None


@lru_cache(maxsize=2)
def read_rows(record: bytes) -> tuple[tuple[str, str, str], ...]:
    """Return the path, digest and size of each file that a RECORD lists, without bytecode; empty if it is malformed."""
    text = record.decode("utf-8", "surrogateescape")
    try:
        lines = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:  # a malformed field, such as one with an unclosed quote
        return ()
    rows = ((*cells, "", "", "")[:3] for cells in lines)
    return tuple(
        (os.path.normpath(path), digest, size) for path, digest, size in rows if path and not path.endswith(_BYTECODE)
    )


def _make_owner(
    site_packages: Path,
    distribution: Distribution,
    record: bytes | None,
    digests: dict[tuple[str, str], str],
    *,
    thorough: bool,
) -> Owner:
    rows = read_rows(record) if record is not None else ()
    metadata, root = site_packages / distribution.metadata, str(site_packages)
    outside = tuple(path for path, _, _ in rows if path.startswith("/") or path.partition("/")[0] == "..")
    missing = tuple(path for path, _, _ in rows if not os.path.exists(f"{root}/{path}"))  # noqa: PTH110 (faster)
    elsewhere, absent, since = frozenset(outside), frozenset(missing), -1
    with suppress(OSError):
        since = -1 if thorough else (metadata / "RECORD").stat().st_mtime_ns
    return Owner(
        distribution=distribution,
        installed_at=_read_installation_time(metadata),
        has_record=record is not None,
        recorded_core=next((digest for path, digest, _ in rows if path.startswith(_CORE_FILE) and digest), None),
        entries=tuple(
            sorted({distribution.metadata, *(row[0].partition("/")[0] for row in rows if row[0] not in elsewhere)})
        ),
        outside=outside,
        files=len(rows),
        mismatched=tuple(row[0] for row in rows if row[0] not in absent and is_altered(root, row, since, digests)),
        missing=missing,
        checkout=_read_checkout(metadata),
    )


def is_altered(root: str, row: tuple[str, str, str], since: int, digests: dict[tuple[str, str], str]) -> bool:
    """Return whether a file differs from its row in a RECORD; an unreadable file counts as different.

    Args:
        root: the path of site-packages.
        row: path, digest and size, from the RECORD.
        since: a time in nanoseconds since the epoch. A file that has the recorded size, and whose times are not later,
            counts as unaltered without being read.
        digests: cache of digests, by path and algorithm, so that a file in several RECORDs is read once.
    """
    path, told, size = row
    algorithm, _, digest = told.partition("=")
    try:
        status = os.stat(f"{root}/{path}")  # noqa: PTH116 (a thousand Path objects would take too long)
        if not stat.S_ISREG(status.st_mode) or (size.isdigit() and int(size) != status.st_size):
            return True
        if not digest or max(status.st_mtime_ns, status.st_ctime_ns) <= since:
            return False
        if (path, algorithm) not in digests:
            digests[path, algorithm] = encode_digest(digest_file(f"{root}/{path}", algorithm))
        return digests[path, algorithm] != digest
    except (OSError, ValueError, TypeError):  # TypeError: the hash algorithm has no fixed length
        return True


def decode_digest(recorded: str) -> str:
    """Return a SHA-256 digest in RECORD ("sha256=...") as hexadecimal digits; empty for other algorithms."""
    algorithm, _, encoded = recorded.partition("=")
    try:
        return base64.urlsafe_b64decode(f"{encoded}=").hex() if algorithm == "sha256" else ""
    except ValueError:
        return ""


def encode_digest(digest: bytes) -> str:
    """Return a digest as RECORD contains it: in URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _read_installation_time(metadata: Path) -> str:
    """Return the installation time of a distribution, in ISO 8601 and UTC; empty if unknown.

    This is the mtime of the first of `_WRITTEN_LAST` that exists.
    """
    path = next((metadata / name for name in _WRITTEN_LAST if (metadata / name).exists()), None)
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds") if path is not None else ""


def observe_distributions(site_packages: Path) -> tuple[Distribution, ...]:
    """Return every distribution in site-packages, sorted by name; takes about 22 us for each distribution."""
    names = (name for name in foreign.list_names(site_packages) if name.endswith(".dist-info"))
    found = (_parse_distribution(site_packages / name) for name in names if not name.startswith("~"))
    return tuple(sorted(found, key=lambda distribution: (distribution.name, distribution.version)))


def read_head(metadata: Path) -> bytes:
    """Return the headers in the METADATA of a `.dist-info` directory; empty if the file cannot be read."""
    content = foreign.bytes_or_empty(metadata / "METADATA")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n")
    return content.partition(b"\n\n")[0]


def _parse_distribution(metadata: Path) -> Distribution:
    """Describe a distribution from its metadata directory, named NAME-VERSION.dist-info; NAME has no hyphens (PyPA)."""
    name, _, version = metadata.name.removesuffix(".dist-info").rpartition("-")
    return Distribution(
        name=normalise_distribution_name(name or version),
        version=version if name else "",
        metadata=metadata.name,
        installer=foreign.text_or_empty(metadata / "INSTALLER").strip(),
        requested=(metadata / "REQUESTED").exists(),
    )


_EXTRA_ONLY = re.compile(r"""\(?\s*extra\s*==\s*(['"])[^'"]*\1\s*\)?""")


def observe_dependants(
    interpreter: Interpreter, replaces: tuple[str, ...], distributions: tuple[Distribution, ...]
) -> tuple[Dependant, ...]:
    """Return the distributions that require one of `replaces` on this interpreter; requirements of extras are ignored.

    Args:
        interpreter: the target's Python, for which environment markers are evaluated.
        replaces: names of distributions, normalised.
        distributions: every distribution in site-packages.
    """
    spellings = "|".join(r"[-_.]+".join(map(re.escape, name.split("-"))) for name in replaces)
    text = rf"^Requires-Dist:[ \t]*((?:{spellings})(?![A-Za-z0-9._-]).*?)[ \t\r]*$"
    pattern = re.compile(text.encode(), re.IGNORECASE | re.MULTILINE)
    found = []
    for each in distributions:
        if each.name in replaces:
            continue
        for line in pattern.findall(read_head(interpreter.site_packages / each.metadata)):
            requirement, _, marker = (part.strip() for part in line.decode("utf-8", "replace").partition(";"))
            if not marker or (not _EXTRA_ONLY.fullmatch(marker) and _is_marker_true(marker, interpreter)):
                found.append(Dependant(name=each.name, requirement=requirement, version=each.version))
    return tuple(found)


def observe_constraints(
    interpreter: Interpreter, replaces: tuple[str, ...], files: Sequence[tuple[str, Path]]
) -> tuple[Dependant, ...]:
    """Return the constraints on any of `replaces`, from constraints files.

    Args:
        interpreter: the target's Python, for which environment markers are evaluated.
        replaces: names of distributions, normalised.
        files: pairs of an origin and a constraints file. The origin is the variable or file that names the constraints
            file; it becomes `Dependant.name`.
    """
    found = []
    for origin, file in files:
        for line in foreign.text_or_empty(file).splitlines():
            text = re.split(r"\s#|\s--|^#", line, maxsplit=1)[0]
            requirement, _, marker = (part.strip() for part in text.partition(";"))
            name = re.match(r"[A-Za-z0-9._-]+", requirement)
            if name is None or name[0] == requirement or normalise_distribution_name(name[0]) not in replaces:
                continue
            if not marker or _is_marker_true(marker, interpreter):
                found.append(Dependant(name=origin, requirement=requirement, constraints=file))
    return tuple(found)


def _is_marker_true(marker: str, interpreter: Interpreter) -> bool:
    """Return whether a marker is true for the target; True for a malformed marker, so that no requirement is lost."""
    from packaging.markers import InvalidMarker, Marker  # slow to import, and rarely needed

    try:
        return Marker(marker).evaluate(interpreter.markers)
    except InvalidMarker:
        return True


_CUDA_LABEL = re.compile(r"\+(?:cu|cuda)(\d{2,3})(?![\d.])")
_CUDA_RUNTIME = re.compile(rb"^Requires-Dist:\s*nvidia-cuda-runtime(?:-cu\d+)?\s*\(?==\s*(\d+\.\d+)", re.MULTILINE)
_CUDA_BUILD = re.compile(r"cuda_?(\d+)(?:\.(\d+))?")
_CONSTANT = re.compile(r"""^(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*(?:(['"])(.*?)\2|None)[ \t]*$""", re.MULTILINE)
"""Matches a line of a module that assigns a literal string, or None, to a variable."""


def observe_frameworks(
    site_packages: Path, distributions: Sequence[Distribution], packages: Sequence[CondaPackage] = ()
) -> tuple[FrameworkBuild, ...]:
    """Return the installed torch, with the version of CUDA, ROCm or XPU that it was built for; empty without torch.

    Args:
        site_packages: the directory that contains torch.
        distributions: every distribution in site-packages.
        packages: the installed conda packages; empty outside conda environments.
    """
    distribution = next((each for each in distributions if each.name == "torch"), None)
    path = site_packages / "torch/version.py"
    words = {name: value for name, _, value in _CONSTANT.findall(foreign.text_or_empty(path))}
    if "cuda" in words:
        own = FrameworkBuild(
            name="torch",
            version=words.get("__version__") or (distribution.version if distribution else ""),
            cuda=words["cuda"] or None,
            rocm=words.get("rocm") or words.get("hip") or None,
            xpu=words.get("xpu") or None,
            source=path,
        )
        return (own,)
    of_conda = tuple(_describe_conda_build(each) for each in packages if each.name == "pytorch")
    if distribution is None:
        return of_conda
    metadata, version = site_packages / distribution.metadata, distribution.version
    label, runtime = _CUDA_LABEL.search(version), _CUDA_RUNTIME.search(read_head(metadata))
    cuda = _insert_dot(label[1]) if label else (runtime[1].decode() if runtime else None)
    if cuda is None and "+" not in version and of_conda:
        return of_conda
    known = cuda is not None or "+cpu" in version
    return (FrameworkBuild(name="torch", version=version, cuda=cuda, known=known, source=metadata / "METADATA"),)


def _describe_conda_build(package: CondaPackage) -> FrameworkBuild:
    """Describe conda's torch from its build string: "py3.11_cuda12.1_cudnn8.9.2_0", "cuda126_generic_py311"."""
    found = _CUDA_BUILD.search(package.build)
    cuda = (f"{found[1]}.{found[2]}" if found[2] else _insert_dot(found[1])) if found else None
    known = cuda is not None or "cpu" in package.build
    return FrameworkBuild(name="torch", version=package.version, cuda=cuda, known=known)


def _insert_dot(digits: str) -> str:
    """Put a dot before the last digit: "126" becomes "12.6", "92" becomes "9.2"."""
    return f"{digits[:-1]}.{digits[-1]}"

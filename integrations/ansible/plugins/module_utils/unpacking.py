"""Check, choose and unpack wheels into an environment of their own, without pip.

Directories that other users can write to are refused. Several processes can unpack the same wheels at the same time.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import FAILED, ToolError
from .interpreters import ask, candidates, described, objection_to, rank_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .interpreters import Python

MAKE_IT = "make it: fastinstall build --with-tool -o DIR"
"""The hint in errors about missing wheels."""

_LAYOUT = "fastinstall.tool/1"
_ELSEWHERE = "choose another directory with tool_directory"
_EVERYBODY_WRITES = 0o002
_MEGABYTE = 1024 * 1024
_BYTECODE = 1.5  # size of unpacked files and their bytecode, relative to the size of the files alone


def read_sums(wheels: Path, checksum: str | None) -> dict[str, str]:
    """Return the SHA-256 of each wheel in `SHA256SUMS`, by file name.

    Args:
        wheels: the directory of the wheels.
        checksum: expected SHA-256 of `SHA256SUMS` itself; None to trust the directory if no other user can write to it.

    Raises:
        ToolError: the file cannot be read or trusted.
    """
    file = wheels / "SHA256SUMS"
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}", MAKE_IT) from None
    if checksum is None:
        _refuse_shared(wheels, "copy the wheelhouse elsewhere, or pass its checksum as tool_checksum")
    elif hashlib.sha256(content).hexdigest() != checksum.lower():
        raise ToolError(f"{file} does not match tool_checksum", "copy the wheelhouse again")
    lines = re.findall(r"^([0-9a-f]{64}) [ *]([^/\s]+\.whl)$", content.decode("ascii", "replace"), re.MULTILINE)
    return {name: digest for digest, name in lines}


def choose(wheels: Path, sums: Iterable[str], named: str | None) -> tuple[Python, list[str]]:
    """Return the first interpreter that has a fitting wheel of every distribution, and the names of these wheels.

    Args:
        wheels: the directory of the wheels, for messages.
        sums: file names of the wheels.
        named: the interpreter to use; None for any.

    Raises:
        ToolError: no interpreter is suitable; the message has the reason for each one.
    """
    objections = []
    for candidate in candidates(named):
        python = ask(candidate)
        objection = objection_to(python)
        if python is not None and not objection:
            chosen, missing = _chosen(sums, python)
            if chosen and not missing:
                return python, chosen
            objection = f"{wheels} has no wheel of {', '.join(missing) or 'fastinstall'} for {described(python)}"
        objections.append(f"{candidate}: {objection}")
    message = f"no Python on this machine can run fastinstall: {'; '.join(objections)}"
    raise ToolError(message, "install Python 3.11 or later, build the wheelhouse for it, or name one with tool_python")


def unpack(wheels: Path, sums: dict[str, str], python: Python, parent: Path) -> Path:
    """Return the path of the environment with the given wheels; create the environment if it is missing.

    Args:
        wheels: the directory of the wheels.
        sums: the SHA-256 of each wheel to unpack, by file name.
        python: the interpreter of the environment.
        parent: the directory of all such environments; each is named by a digest of its wheels and its interpreter.

    Raises:
        ToolError: a wheel does not match its checksum, the disk is too full, or other users can write to the directory.
    """
    key = json.dumps([_LAYOUT, python, sums], sort_keys=True)
    root = Path(os.path.realpath(str(parent))) / hashlib.sha256(key.encode()).hexdigest()[:24]
    if not root.is_dir():
        _make(root, python, [(wheels / name, digest) for name, digest in sums.items()])
    _refuse_shared(root, _ELSEWHERE)
    return root


def _chosen(names: Iterable[str], python: Python) -> tuple[list[str], list[str]]:
    """Return the best-fitting wheel of each distribution, and the distributions without a fitting wheel."""
    best: dict[str, tuple[tuple[list[int], int], str] | None] = {}
    for name in names:
        distribution, rank = name.partition("-")[0].lower(), rank_of(name, python)
        known = best.setdefault(distribution, None)
        if rank is not None and (known is None or (rank, name) > known):
            best[distribution] = (rank, name)
    missing = sorted(distribution for distribution, found in best.items() if found is None)
    return sorted(found[1] for found in best.values() if found is not None), missing


def _make(root: Path, python: Python, wheels: Sequence[tuple[Path, str]]) -> None:
    """Create the environment under a temporary name and rename it, unless another process has created it meanwhile."""
    try:
        root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=str(root.parent)))
    except OSError as error:
        raise ToolError(f"{error.filename}: {error.strerror}", _ELSEWHERE, FAILED) from None
    try:
        _fill(making, python, wheels)
        os.rename(making, root)
    except OSError as error:
        if not root.is_dir():
            raise ToolError(f"{error.filename or making}: {error.strerror}", _ELSEWHERE, FAILED) from None
    finally:
        shutil.rmtree(str(making), ignore_errors=True)


def _fill(making: Path, python: Python, wheels: Sequence[tuple[Path, str]]) -> None:
    archives = [_checked(path, digest) for path, digest in wheels]
    _refuse_little_space(making.parent, sum(member.file_size for each in archives for member in each.infolist()))
    version = ".".join(map(str, python["version"][:2]))
    packages = making / "lib" / f"python{version}" / "site-packages"
    for directory in (packages, making / "bin"):
        directory.mkdir(parents=True)
    for archive in archives:
        _extract(archive, {"purelib": packages, "platlib": packages, "scripts": making / "bin"})
    (making / "bin" / "python").symlink_to(python["executable"])
    home = Path(python["executable"]).parent
    configuration = f"home = {home}\ninclude-system-site-packages = false\n"  # PEP 405
    (making / "pyvenv.cfg").write_text(configuration, encoding="utf-8")


def _refuse_little_space(directory: Path, content: int) -> None:
    needed, free = int(content * _BYTECODE), shutil.disk_usage(str(directory)).free
    if free < needed:
        sizes = f"{free // _MEGABYTE} MB are free, and fastinstall itself needs {needed // _MEGABYTE + 1} MB"
        raise ToolError(f"{directory}: {sizes}", _ELSEWHERE, FAILED)


def _checked(path: Path, digest: str) -> zipfile.ZipFile:
    """Read a wheel, check its SHA-256, and return the opened archive of the bytes that were checked."""
    again = "copy the wheelhouse again"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}", again) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise ToolError(f"{path} does not match SHA256SUMS", again)
    return zipfile.ZipFile(io.BytesIO(content))


def _extract(archive: zipfile.ZipFile, schemes: dict[str, Path]) -> None:
    """Unpack a wheel without headers and data files. Source: the binary distribution format, "Installing a wheel"."""
    for member in archive.infolist():
        scheme, parts = "purelib", member.filename.split("/")
        if member.filename.startswith("/") or ".." in parts:
            raise ToolError(f"{member.filename}: a wheel must not contain this path")
        if parts[0].endswith(".data"):
            scheme, parts = parts[1], parts[2:]
        if scheme in schemes and not member.is_dir():
            file = schemes[scheme].joinpath(*parts)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(archive.read(member))
            is_program = scheme == "scripts" or member.external_attr >> 16 & 0o111
            file.chmod(0o755 if is_program else 0o644)


def _refuse_shared(directory: Path, hint: str) -> None:
    """Refuse a directory that other users can write to, or could have put into one of its parent directories."""
    real = Path(os.path.realpath(str(directory)))
    caller = os.environ.get("SUDO_UID", "")
    trusted = {0, os.geteuid(), int(caller) if caller.isdecimal() else 0}
    if real.stat().st_mode & _EVERYBODY_WRITES:
        raise ToolError(f"{real}: everybody can write there, so its files are not safe to run", hint)
    for place in (real, *real.parents):
        above = place.parent.stat()
        if above.st_mode & _EVERYBODY_WRITES and place.stat().st_uid not in {*trusted, above.st_uid}:
            raise ToolError(
                f"{place}: anybody could have put it there, and it belongs neither to you nor to root", hint
            )

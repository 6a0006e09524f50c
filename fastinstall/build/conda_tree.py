"""Turn a wheel into the tree of files that a conda package carries: as conda would leave it, with bytecode."""

import base64
import csv
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

from fastinstall.binary.dynamic import ElfError, read_dynamic
from fastinstall.build.conda_archive import MOMENT, Member
from fastinstall.build.wheel import metadata_directory, unpack_wheel
from fastinstall.errors import FailedError
from fastinstall.installers.sound_wheel import require_stack_alone
from fastinstall.model.facts import Interpreter
from fastinstall.system import files, process

_ALONE = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
_PERMISSIONS = 0o777
_ORIGIN = ("$ORIGIN", "${ORIGIN}")


def site_packages_of(interpreter: Interpreter) -> str:
    """Where conda puts the modules of such a Python, relative to the prefix."""
    minor = ".".join(interpreter.version.split(".")[:2])
    return f"lib/python{minor}{'t' if interpreter.free_threaded else ''}/site-packages"


def tree_of(wheel: Path, interpreter: Interpreter, root: Path) -> Path:
    """Lay a wheel out as an environment has it, with bytecode of the interpreter.

    Args:
        wheel: the file.
        interpreter: whose bytecode is compiled, without paths of any machine.
        root: an empty directory that stands for the prefix.

    Returns:
        Its `.dist-info` directory.

    Raises:
        FailedError: the wheel is not whole, brings more than PIL, or has files that name a place of this machine.
    """
    site = root / site_packages_of(interpreter)
    site.mkdir(parents=True)
    require_stack_alone(wheel)
    unpack_wheel(wheel, site)
    metadata = metadata_directory(site)
    _require_relative(site, root)
    for path in site.rglob("*.py"):
        os.utime(path, (MOMENT, MOMENT))
    _compile(site, interpreter, root)
    files.write_text(metadata / "INSTALLER", "conda\n", durable=False)
    _write_record(site, metadata)
    return metadata


def members_of(root: Path) -> dict[str, Member]:
    """Every file below a directory, by its path there."""
    return {
        path.relative_to(root).as_posix(): Member(
            content=path.read_bytes(), mode=0o755 if path.stat().st_mode & 0o100 else 0o644
        )
        for path in _files(root)
    }


def _files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())


def _require_relative(site: Path, root: Path) -> None:
    """Refuse a library that looks for others by an absolute path: it would find another environment's, or none."""
    for path in (path for path in _files(site) if ".so" in path.suffixes):
        try:
            dynamic = read_dynamic(path)
        except ElfError as error:
            raise FailedError(f"{path.name}: {error}") from error
        search = (dynamic.runpath if dynamic.runpath is not None else dynamic.rpath) or ""
        outside = [place for place in search.split(":") if place and not _is_inside(place, path.parent, root)]
        outside += [name for name in dynamic.needed if "/" in name]
        if outside:
            raise FailedError(
                f"{path.relative_to(site)} looks for libraries in {outside[0]}, which no other environment has",
                hint="build it again with --link bundle",
            )


def _is_inside(place: str, directory: Path, root: Path) -> bool:
    origin = next((origin for origin in _ORIGIN if place.startswith(origin)), None)
    if origin is None:
        return False
    reached = os.path.normpath(f"{directory}/{place.removeprefix(origin)}")
    return reached == str(root) or reached.startswith(f"{root}/")


def _compile(site: Path, interpreter: Interpreter, root: Path) -> None:
    """Compile from the prefix, so that the code names its files relative to it; in order, so that the bytes repeat."""
    argv = (str(interpreter.executable), "-I", "-S", "-m", "compileall", "-q", str(site.relative_to(root)))
    process.run(argv, environment=_ALONE, directory=root, timeout=120)


def _write_record(site: Path, metadata: Path) -> None:
    """RECORD as an installer leaves it: bytecode is named, without a hash."""
    record = metadata / "RECORD"
    rows: list[tuple[str, str, str]] = []
    for path in _files(site):
        name = path.relative_to(site).as_posix()
        unhashed = path == record or path.suffix == ".pyc"
        rows.append((name, "" if unhashed else _digest(path), "" if unhashed else str(path.stat().st_size)))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    files.write_text(record, text.getvalue(), durable=False)


def _digest(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"

"""Lay a wheel out as conda would install it: below a prefix, with bytecode, and without a path of this machine."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from fastinstall.conda.archive import MOMENT
from fastinstall.core import files, process
from fastinstall.core.errors import FailedError
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.index.sound_wheels import require_stack_alone
from fastinstall.model.facts import Interpreter
from fastinstall.wheelbuild.wheel_files import describe_member, format_record, metadata_directory, unpack_wheel


def list_files(root: Path) -> Iterator[Path]:
    """Yield the files of a tree, sorted by path."""
    return (path for path in sorted(root.rglob("*")) if path.is_file())


def lay_out_wheel(wheel: Path, interpreter: Interpreter, root: Path) -> Path:
    """Lay a wheel out as an environment has it, with bytecode of the interpreter.

    Args:
        interpreter: whose bytecode is compiled, without paths of any machine.
        root: an empty directory that stands for the prefix.

    Returns:
        Its `.dist-info` directory.

    Raises:
        FailedError: the wheel is not whole, brings more than PIL, or has files that name a place of this machine.
    """
    minor = ".".join(interpreter.version.split(".")[:2]) + ("t" if interpreter.free_threaded else "")
    site = root / "lib" / f"python{minor}" / "site-packages"
    site.mkdir(parents=True)
    require_stack_alone(wheel)
    unpack_wheel(wheel, site)
    metadata = metadata_directory(site)
    _require_relative(site, root)
    for path in site.rglob("*.py"):
        os.utime(path, (MOMENT, MOMENT))
    # From the prefix, so that the code names its files relative to it; in order, so that the bytes repeat.
    argv = (str(interpreter.executable), "-I", "-S", "-m", "compileall", "-q", str(site.relative_to(root)))
    alone = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    process.run(argv, environment=alone, directory=root, timeout=120)
    files.write_text(metadata / "INSTALLER", "conda\n", durable=False)
    # RECORD as an installer leaves it: bytecode is named, without a hash.
    record = metadata / "RECORD"
    rows = [
        (path.relative_to(site).as_posix(), "", "")
        if path == record or path.suffix == ".pyc"
        else describe_member(path.relative_to(site).as_posix(), path.read_bytes())
        for path in list_files(site)
    ]
    files.write_text(record, format_record(rows), durable=False)
    return metadata


def _require_relative(site: Path, root: Path) -> None:
    """Refuse a library that looks for others by an absolute path: it would find another environment's, or none."""
    for path in (path for path in list_files(site) if ".so" in path.suffixes):
        try:
            dynamic = read_dynamic(path)
        except ElfError as error:
            raise FailedError(f"{path.name}: {error}") from error
        outside = [name for name in dynamic.needed if "/" in name]
        for place in filter(
            None, ((dynamic.runpath if dynamic.runpath is not None else dynamic.rpath) or "").split(":")
        ):
            reached = re.sub(r"^\$(ORIGIN|\{ORIGIN\})", str(path.parent), place)
            if reached == place or not Path(os.path.normpath(reached)).is_relative_to(root):
                outside.insert(0, place)
        if outside:
            raise FailedError(
                f"{path.relative_to(site)} looks for libraries in {outside[0]}, which exists only here",
                hint="build it again with --link bundle",
            )

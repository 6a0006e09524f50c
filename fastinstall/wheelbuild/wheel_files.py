"""Unpack, label, pack, stage and describe wheels.

- The same tree gives the same bytes, on any machine and date. Source: PEP 427 and the binary distribution format of
  packaging.python.org.
- A label is a wheel's name, version and tags, and the documents in its metadata.
- Staging unpacks a wheel as an installer would, with bytecode for the target.
- A wheel's record of its own build is read from the staged tree, so it is known wherever the wheel was built.
"""

import base64
import csv
import hashlib
import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fastinstall import __version__
from fastinstall.core import files, foreign, process
from fastinstall.core.archives import unpack_zip
from fastinstall.core.errors import FailedError
from fastinstall.core.parsing import json_data
from fastinstall.core.process import RunningProbe
from fastinstall.core.values import immutable
from fastinstall.elf.description import ImagingCore
from fastinstall.elf.imaging_core import read_core
from fastinstall.index.sound_wheels import require_stack_alone
from fastinstall.model.facts import Interpreter
from fastinstall.model.receipt import BuiltCore

_DATE = (2020, 1, 1, 0, 0, 0)
_EFFORT = 4  # of deflate: 3% larger than by default, in less than half of the time


@immutable
class Tags:
    """Compatibility tags of a wheel (PEP 425).

    Attributes:
        python: "cp311".
        abi: "cp311".
        platforms: "manylinux_2_27_x86_64", ...; in the wheel's order.
    """

    python: str
    abi: str
    platforms: tuple[str, ...]


def unpack_wheel(wheel: Path, directory: Path) -> None:
    """Unpack a wheel; executable files stay executable.

    Args:
        wheel: the file.
        directory: the destination; created if missing.

    Raises:
        FailedError: it is not a wheel, is damaged, or has a member that no wheel needs; nothing of it stays.
        OSError: as the kernel says.
    """
    unpack_zip(wheel, directory)


def pack_wheel(tree: Path, target: Path, *, compress: bool = True) -> None:
    """Rewrite RECORD and pack the tree: sorted, dated 2020-01-01, metadata last.

    Args:
        tree: an unpacked wheel.
        target: the file to write.
        compress: whether to deflate; False is quicker, for a wheel that is only examined.
    """
    metadata = metadata_directory(tree)
    record = metadata / "RECORD"
    paths = (path for path in tree.rglob("*") if path.is_file() and path != record)
    contents = {path.relative_to(tree).as_posix(): path for path in paths}
    names = sorted(contents, key=lambda name: (name.startswith(f"{metadata.name}/"), name))
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    rows: list[tuple[str, str, str]] = []
    with zipfile.ZipFile(target, "w", method, compresslevel=_EFFORT) as archive:
        for name in names:
            content = contents[name].read_bytes()
            rows.append((name, f"sha256={_digest_urlsafe(content)}", str(len(content))))
            archive.writestr(_make_entry(name, contents[name], method), content)
        rows.append((f"{metadata.name}/RECORD", "", ""))
        archive.writestr(_make_entry(rows[-1][0], None, method), _format_csv(rows))


def metadata_directory(tree: Path) -> Path:
    """Return the one `.dist-info` directory of an unpacked wheel.

    Raises:
        FailedError: there is none, or more than one.
    """
    found = sorted(path for path in tree.glob("*.dist-info") if path.is_dir())
    if len(found) != 1:
        raise FailedError(f"{tree}: expected one .dist-info directory, found {len(found)}")
    return found[0]


def tags_of(tree: Path) -> Tags:
    """Return the tags in the WHEEL file of an unpacked wheel.

    Raises:
        FailedError: it has none.
    """
    path = metadata_directory(tree) / "WHEEL"
    lines = re.findall(r"^Tag: *([^-\s]+)-([^-\s]+)-(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if not lines:
        raise FailedError(f"{path}: no Tag")
    return Tags(python=lines[0][0], abi=lines[0][1], platforms=tuple(dict.fromkeys(tag[2] for tag in lines)))


def _make_entry(name: str, path: Path | None, method: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    executable = path is not None and path.stat().st_mode & stat.S_IXUSR
    entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
    entry.compress_type = method
    entry.create_system = 3  # Unix, so that the permissions count
    return entry


def _digest_urlsafe(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _format_csv(rows: list[tuple[str, str, str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


PROVENANCE_FILE = "fastinstall.json"
SBOM_FILE = "sboms/fastinstall.cdx.json"


@immutable
class Label:
    """The name of a wheel and its metadata.

    Attributes:
        distribution: "pillow".
        version: "12.1.1+simd.v3".
        summary: one line.
        platforms: platform tags, in order.
        statements: texts about the wheel, by file name in its metadata directory.
    """

    distribution: str
    version: str
    summary: str
    platforms: tuple[str, ...]
    statements: dict[str, str]


def label_tree(tree: Path, label: Label) -> str:
    """Rewrite the metadata of an unpacked wheel, except RECORD, which packing rewrites.

    Returns:
        The wheel's file name.

    Raises:
        FailedError: METADATA has no Name or Version to rewrite.
    """
    tags = tags_of(tree)
    stem = f"{_escape_name(label.distribution)}-{label.version.replace('-', '_')}"
    metadata = _rename_directory(metadata_directory(tree), f"{stem}.dist-info")
    _rewrite(metadata / "METADATA", {"Name": label.distribution, "Version": label.version, "Summary": label.summary})
    files.write_text(
        metadata / "WHEEL", _make_wheel_file(tuple(f"{tags.python}-{tags.abi}-{p}" for p in label.platforms))
    )
    for stale in metadata.glob("sboms/*"):
        files.discard(stale)
    for name, text in label.statements.items():
        files.write_text(metadata / name, text)
    return f"{stem}-{tags.python}-{tags.abi}-{'.'.join(label.platforms)}.whl"


def replace_metadata_fields(metadata: str, fields: dict[str, str]) -> str:
    """Return METADATA with these fields replaced; the description and all other fields stay.

    Raises:
        FailedError: a field is missing, or there more than once.
    """
    head, separator, body = metadata.partition("\n\n")
    for name, value in fields.items():
        line = f"{name}: {value}".replace("\\", r"\\")
        head, count = re.subn(rf"^{name}:.*$", line, head, flags=re.MULTILINE)
        if count != 1:
            raise FailedError(f"METADATA: expected one {name}, found {count}")
    return head + separator + body


def _rewrite(path: Path, fields: dict[str, str]) -> None:
    files.write_text(path, replace_metadata_fields(path.read_text(encoding="utf-8"), fields))


def _rename_directory(directory: Path, name: str) -> Path:
    target = directory.with_name(name)
    if target != directory:
        files.rename(directory, target)
    return target


def _make_wheel_file(tags: tuple[str, ...]) -> str:
    lines = ["Wheel-Version: 1.0", f"Generator: fastinstall {__version__}", "Root-Is-Purelib: false"]
    return "\n".join([*lines, *(f"Tag: {tag}" for tag in tags)]) + "\n"


def _escape_name(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


INSTALLER = b"fastinstall\n"
_STRIPS_PATHS = (3, 9)
_WORTH_A_POOL, _MOST_WORKERS = 3, 8
"""CPUs."""


def stage_wheel(wheel: Path, stage: Path, interpreter: Interpreter, ours: str = "") -> str:
    """Install a wheel into `stage` instead of site-packages; `compile_meanwhile` adds its bytecode.

    Args:
        wheel: the file.
        stage: an empty directory on the target's filesystem.
        interpreter: the target's.
        ours: for `require_stack_alone`.

    Returns:
        The name of its `.dist-info` directory.

    Raises:
        FailedError: the wheel is damaged, or has files that are not part of PIL.
    """
    require_stack_alone(wheel, ours=ours)
    from installer import install  # noqa: PLC0415 (only a setup stages)
    from installer.destinations import SchemeDictionaryDestination  # noqa: PLC0415
    from installer.exceptions import InstallerError  # noqa: PLC0415
    from installer.sources import WheelFile  # noqa: PLC0415

    destination = SchemeDictionaryDestination(
        {"purelib": str(stage), "platlib": str(stage)},  # no other schemes pass the check above
        interpreter=str(interpreter.executable),
        script_kind="posix",
    )
    try:
        with WheelFile.open(wheel) as source:
            install(source, destination, additional_metadata={"INSTALLER": INSTALLER})
            metadata = source.dist_info_dir
    except InstallerError as error:
        raise FailedError(f"{wheel}: damaged: {error}", hint="remove it and run the same command again") from error
    return metadata


@contextmanager
def compile_meanwhile(stage: Path, interpreter: Interpreter) -> Iterator[None]:
    """Write bytecode as the target's interpreter would, while the block runs; it is complete after the block."""
    compiling = RunningProbe(partial(_compile_bytecode, stage, interpreter))
    try:
        yield
    finally:
        compiling.result()


def _compile_bytecode(stage: Path, interpreter: Interpreter) -> None:
    """Compile with the final paths in the target."""
    compiler = (interpreter.executable, "-I", "-S", "-m", "compileall", "-q", "-j", str(_choose_worker_count()))
    minor = tuple(int(part) for part in interpreter.version.split(".")[:2])
    paths = (
        ("-s", stage, "-p", interpreter.site_packages) if minor >= _STRIPS_PATHS else ("-d", interpreter.site_packages)
    )
    process.run((*compiler, *map(str, paths), str(stage)), timeout=120)


def _choose_worker_count() -> int:
    """Return how many processes compile: a pool costs 0.15 s of CPU, more than two CPUs save (measured)."""
    granted = len(os.sched_getaffinity(0))
    return min(granted, _MOST_WORKERS) if granted >= _WORTH_A_POOL else 1


def describe_core(stage: Path, interpreter: Interpreter, symbols: tuple[str, ...]) -> BuiltCore:
    """Return Pillow's C extension of a staged tree; with a copy per CPU level, what all copies share.

    Raises:
        FailedError: there is none for this interpreter, it cannot be read, or a copy of it cannot be loaded.
    """
    relative = f"PIL/_imaging{interpreter.extension_suffix}"
    if not (stage / relative).is_file():
        raise FailedError(f"the wheel has no {relative}", hint="it was built for another Python")
    read = partial(read_core, stage / relative, symbols, main=Path(interpreter.executable))
    core = read(hwcaps=())
    _refuse_unusable(relative, core)
    for copy in core.levels[1:]:
        _refuse_unusable(relative, read(hwcaps=(copy.level,)))
    everywhere = [symbol for symbol in core.simd_symbols if all(symbol in copy.simd_symbols for copy in core.levels)]
    return BuiltCore(
        path=relative,
        size=core.size,
        mtime_ns=core.mtime_ns,
        sha256=core.sha256,
        simd_symbols=tuple(everywhere),
    )


def _refuse_unusable(relative: str, core: ImagingCore) -> None:
    """Refuse a core that some CPU could not load: running it here only tests this CPU's copy."""
    problems = [f"{copy.path.name} for {copy.level}: {copy.problem}" for copy in core.levels if copy.problem]
    if problems or not core.readable:
        raise FailedError(f"{relative}: {problems[0] if problems else core.problem}", details=tuple(problems))
    lost = [library.soname for library in core.libraries if library.path is None]
    if core.levels and lost:
        level = next(copy.level for copy in core.levels if copy.loaded)
        raise FailedError(f"{relative}: its copy for {level} would not find {', '.join(lost)}")


def stack_version(stage: Path) -> str:
    """Return the version in `PIL/_version.py` of a staged tree.

    Raises:
        FailedError: it has none.
    """
    text = foreign.read_text(stage / "PIL" / "_version.py")
    found = re.search(r"""^__version__ = ["'](.+?)["']""", text, re.MULTILINE)
    if found is None:
        raise FailedError("PIL/_version.py of the wheel names no version")
    return found[1]


def read_left_out(stage: Path, metadata: str) -> tuple[str, ...]:
    """Return the kernels that were left out of a wheel; none where it has no valid record.

    Args:
        stage: the staged tree.
        metadata: name of its `.dist-info` directory.
    """
    try:
        said = json_data(foreign.read_text(stage / metadata / PROVENANCE_FILE))
        return tuple(map(str, said["without"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ()

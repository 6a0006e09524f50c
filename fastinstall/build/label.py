"""Label an unpacked wheel: its name, version and tags, and the statements inside about what it is."""

import re
from pathlib import Path

from fastinstall import __version__
from fastinstall.build.wheel import metadata_directory, tags_of
from fastinstall.errors import FailedError
from fastinstall.model.immutable import immutable
from fastinstall.system import files

PROVENANCE_FILE = "fastinstall.json"
SBOM_FILE = "sboms/fastinstall.cdx.json"
MERGE_FILE = "fastinstall-merge.json"


@immutable
class Label:
    """What a wheel is to be called.

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
    """Rewrite the metadata of an unpacked wheel; RECORD is left to the packing.

    Returns:
        The wheel's file name.

    Raises:
        FailedError: METADATA has no Name or Version to rewrite.
    """
    tags = tags_of(tree)
    stem = f"{_escaped(label.distribution)}-{label.version.replace('-', '_')}"
    metadata = _renamed(metadata_directory(tree), f"{stem}.dist-info")
    _rewrite(metadata / "METADATA", {"Name": label.distribution, "Version": label.version, "Summary": label.summary})
    files.write_text(metadata / "WHEEL", _wheel_text(tuple(f"{tags.python}-{tags.abi}-{p}" for p in label.platforms)))
    for stale in metadata.glob("sboms/*"):
        files.discard(stale)
    for name, text in label.statements.items():
        files.write_text(metadata / name, text)
    return f"{stem}-{tags.python}-{tags.abi}-{'.'.join(label.platforms)}.whl"


def rewritten(metadata: str, fields: dict[str, str]) -> str:
    """METADATA with these fields replaced; the description and all other fields stay as they are.

    Raises:
        FailedError: a field is not there, or more than once.
    """
    head, separator, body = metadata.partition("\n\n")
    for name, value in fields.items():
        line = f"{name}: {value}".replace("\\", r"\\")
        head, count = re.subn(rf"^{name}:.*$", line, head, flags=re.MULTILINE)
        if count != 1:
            raise FailedError(f"METADATA: expected one {name}, found {count}")
    return head + separator + body


def _rewrite(path: Path, fields: dict[str, str]) -> None:
    files.write_text(path, rewritten(path.read_text(encoding="utf-8"), fields))


def _renamed(directory: Path, name: str) -> Path:
    target = directory.with_name(name)
    if target != directory:
        files.rename(directory, target)
    return target


def _wheel_text(tags: tuple[str, ...]) -> str:
    lines = ["Wheel-Version: 1.0", f"Generator: fastinstall {__version__}", "Root-Is-Purelib: false"]
    return "\n".join([*lines, *(f"Tag: {tag}" for tag in tags)]) + "\n"


def _escaped(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()

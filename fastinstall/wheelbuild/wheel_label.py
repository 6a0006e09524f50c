"""A wheel's label: its name, version and tags, and the documents in its metadata."""

import re
from pathlib import Path

from fastinstall import __version__
from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.values import immutable
from fastinstall.wheelbuild.wheel_files import metadata_directory, read_wheel_tags

PROVENANCE_FILE = "fastinstall.json"


SBOM_FILE = "sboms/fastinstall.cdx.json"


@immutable
class Label:
    """The name of a wheel and its metadata.

    Attributes:
        distribution: its name, as in "pillow".
        version: with its local part, as in "12.1.1+simd.v3".
        summary: one line that describes it.
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
    tags = read_wheel_tags(tree)
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

"""Label and pack wheels: the same tree gives the same bytes on any machine and date.

Labelling sets a wheel's name, version and tags, and adds files about its build to the metadata. Source: PEP 427 and the
binary distribution format of packaging.python.org.
"""

import csv
import hashlib
import io
import re
import stat
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall import __version__
from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.values import immutable
from fastinstall.observe.stack import encode_digest

_DATE = (2020, 1, 1, 0, 0, 0)
_EFFORT = 4  # deflate level: less than half of the default level's time, for wheels that are 3% larger
PROVENANCE_FILE = "fastinstall.json"
SBOM_FILE = "sboms/fastinstall.cdx.json"


@immutable
class Tags:
    """Compatibility tags of a wheel (PEP 425).

    Attributes:
        python: Python tag, like "cp311" or "py3".
        abi: ABI tag, like "cp311" or "abi3".
        platforms: platform tags, like "manylinux_2_27_x86_64", in the wheel's order.
    """

    python: str
    abi: str
    platforms: tuple[str, ...]


def pack_wheel(tree: Path, target: Path, *, compress: bool = True) -> None:
    """Pack a tree as a wheel with a new RECORD. Its files are sorted, metadata last, and have the date 2020-01-01.

    Args:
        tree: the directory of an unpacked wheel.
        target: the file to write.
        compress: whether to compress the files; False is faster, for a wheel that is only examined.
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
            rows.append(describe_member(name, content))
            archive.writestr(_make_entry(name, contents[name], method), content)
        rows.append((f"{metadata.name}/RECORD", "", ""))
        archive.writestr(_make_entry(rows[-1][0], None, method), format_record(rows))


def metadata_directory(tree: Path) -> Path:
    """Return the `.dist-info` directory of an unpacked wheel.

    Raises:
        FailedError: the wheel has no such directory, or several.
    """
    found = sorted(path for path in tree.glob("*.dist-info") if path.is_dir())
    if len(found) != 1:
        raise FailedError(f"{tree}: expected one .dist-info directory, found {len(found)}")
    return found[0]


def read_wheel_tags(tree: Path) -> Tags:
    """Return the tags in the WHEEL file of an unpacked wheel.

    Raises:
        FailedError: the file has no tags.
    """
    path = metadata_directory(tree) / "WHEEL"
    lines = re.findall(r"^Tag: *([^-\s]+)-([^-\s]+)-(\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if not lines:
        raise FailedError(f"{path}: no Tag")
    return Tags(python=lines[0][0], abi=lines[0][1], platforms=tuple(dict.fromkeys(tag[2] for tag in lines)))


def describe_member(name: str, content: bytes) -> tuple[str, str, str]:
    """Return the row of a file in RECORD: path, digest and size."""
    return name, f"sha256={encode_digest(hashlib.sha256(content).digest())}", str(len(content))


def format_record(rows: list[tuple[str, str, str]]) -> str:
    """Return the text of a RECORD."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def label_tree(
    tree: Path,
    *,
    distribution: str,
    version: str,
    summary: str,
    platforms: Sequence[str],
    statements: Mapping[str, str],
) -> str:
    """Rewrite the metadata of an unpacked wheel, except RECORD, which `pack_wheel` writes.

    Args:
        tree: the directory of the unpacked wheel.
        distribution: name of the distribution ("pillow").
        version: version with its local part ("12.1.1+simd.v3").
        summary: one line that describes the wheel.
        platforms: platform tags, in order.
        statements: files to add to the metadata directory: text by file name.

    Returns:
        The wheel's file name.

    Raises:
        FailedError: METADATA has no Name or Version to rewrite.
    """
    tags = read_wheel_tags(tree)
    stem = f"{re.sub(r'[-_.]+', '_', distribution).lower()}-{version.replace('-', '_')}"
    metadata = tree / f"{stem}.dist-info"
    if metadata_directory(tree) != metadata:
        files.rename(metadata_directory(tree), metadata)
    fields = {"Name": distribution, "Version": version, "Summary": summary}
    text = (metadata / "METADATA").read_text(encoding="utf-8")
    files.write_text(metadata / "METADATA", replace_metadata_fields(text, fields))
    lines = ["Wheel-Version: 1.0", f"Generator: fastinstall {__version__}", "Root-Is-Purelib: false"]
    lines += (f"Tag: {tags.python}-{tags.abi}-{platform}" for platform in platforms)
    files.write_text(metadata / "WHEEL", "".join(f"{line}\n" for line in lines))
    for name, text in statements.items():
        files.write_text(metadata / name, text)
    return f"{stem}-{tags.python}-{tags.abi}-{'.'.join(platforms)}.whl"


def replace_metadata_fields(metadata: str, fields: dict[str, str]) -> str:
    """Return the text of METADATA with some fields replaced; the description and all other fields stay.

    Raises:
        FailedError: a field is missing, or occurs more than once.
    """
    head, separator, body = metadata.partition("\n\n")
    for name, value in fields.items():
        line = f"{name}: {value}".replace("\\", r"\\")
        head, count = re.subn(rf"^{name}:.*$", line, head, flags=re.MULTILINE)
        if count != 1:
            raise FailedError(f"METADATA: expected one {name}, found {count}")
    return head + separator + body


def _make_entry(name: str, path: Path | None, method: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    executable = path is not None and path.stat().st_mode & stat.S_IXUSR
    entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
    entry.compress_type = method
    entry.create_system = 3  # Unix, so that unpacking applies the permissions
    return entry

"""Handwritten site-packages directories, in the form that an installer leaves."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

CORE = "PIL/_imaging.cpython-311-x86_64-linux-gnu.so"
PIL_FILES: Mapping[str, bytes] = {
    "PIL/__init__.py": b"from ._version import __version__\n",
    "PIL/_version.py": b'# a comment\n__version__ = "12.1.1"\n',
    "PIL/Image.py": b"",
    CORE: b"not an ELF file",
    "pillow.libs/libjpeg-1.so": b"library",
}


def install(
    site_packages: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes],
    *,
    requires: tuple[str, ...] = (),
    installer: str = "pip",
) -> Path:
    """Write the files of a distribution and its metadata, and return the metadata directory."""
    metadata = f"{name.replace('-', '_')}-{version}.dist-info"
    headers = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {line}" for line in requires)]
    content = "\n".join(["Metadata-Version: 2.1", *headers, "", "Requires-Dist: pillow in a description", ""])
    own = {f"{metadata}/METADATA": content.encode(), f"{metadata}/INSTALLER": f"{installer}\n".encode()}
    for path, text in {**files, **own}.items():
        (site_packages / path).parent.mkdir(parents=True, exist_ok=True)
        (site_packages / path).write_bytes(text)
    lines = [record_line(path, text) for path, text in {**files, **own}.items()]
    bytecode = ["PIL/__pycache__/Image.cpython-311.pyc,,"] if "PIL/Image.py" in files else []
    record = "\n".join([*lines, f"{metadata}/RECORD,,", *bytecode, ""])
    (site_packages / metadata / "RECORD").write_text(record)
    return site_packages / metadata


def rerecord(metadata: Path, changed: Path) -> None:
    """Update a file's line in RECORD, so that the change looks like part of the build."""
    name = changed.relative_to(metadata.parent).as_posix()
    lines = (metadata / "RECORD").read_text().splitlines()
    kept = [line for line in lines if not line.startswith(f"{name},")]
    (metadata / "RECORD").write_text("\n".join((*kept, record_line(name, changed.read_bytes()), "")))


def record_line(path: str, content: bytes) -> str:
    """Return a line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}"

"""Minimal wheels with given files."""

import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from support.environments.site_packages import record_line

BUILT = "13.0.0+simd.v2.v3"
OFFICIAL = "13.0.0"
PURE = "py3-none-any"


def write_wheel(directory: Path, name: str = "pillow", version: str = BUILT, tag: str = PURE, *headers: str) -> Path:
    """Write a pure wheel with one module, which contains the version; `headers` are further lines of METADATA.

    If `version` has a local part ("+..."), the wheel says that fastinstall built it from the recipe "pillow-fast".
    """
    files = {f"{name}_module.py": f"version = {version!r}\n".encode()}
    if "+" in version:
        files[f"{name}-{version}.dist-info/fastinstall.json"] = b'{"recipe": "pillow-fast", "link": "bundle"}'
    return write_files_wheel(directory, name, version, files, tag=tag, headers=("Requires-Python: >=3.8", *headers))


def write_files_wheel(
    directory: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes],
    *,
    tag: str = PURE,
    headers: Sequence[str] = (),
) -> Path:
    """Write a wheel with files, given by paths in site-packages; `headers` are further lines of METADATA."""
    directory.mkdir(parents=True, exist_ok=True)
    wheel = directory / f"{_stem(name, version)}-{tag}.whl"
    wheel.write_bytes(pack_files(name, version, files, tag=tag, headers=headers))
    return wheel


def stub_wheel(name: str, version: str, *requires: str) -> tuple[str, bytes]:
    """Return the file name and the content of a wheel; it has one module, which contains the version."""
    headers = [f"Requires-Dist: {requirement}" for requirement in requires]
    content = pack_files(name, version, {f"{name}.py": f"version = {version!r}\n".encode()}, headers=headers)
    return f"{_stem(name, version)}-{PURE}.whl", content


def pack_files(
    name: str, version: str, files: Mapping[str, bytes], *, tag: str = PURE, headers: Sequence[str] = ()
) -> bytes:
    """Return the content of a wheel with these files."""
    metadata = f"{_stem(name, version)}.dist-info"
    lines = ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers, "")
    members = {
        **files,
        f"{metadata}/METADATA": "\n".join(lines).encode(),
        f"{metadata}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    return pack_members(members, metadata)


def pack_members(members: Mapping[str, bytes], metadata: str) -> bytes:
    """Return an uncompressed wheel of these members and a RECORD; equal members give equal bytes.

    Args:
        metadata: the directory for RECORD.
    """
    record = "\n".join([*(record_line(*member) for member in members.items()), f"{metadata}/RECORD,,", ""])
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, content in {**members, f"{metadata}/RECORD": record.encode()}.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return stream.getvalue()


def _stem(name: str, version: str) -> str:
    return f"{name.replace('-', '_')}-{version}"

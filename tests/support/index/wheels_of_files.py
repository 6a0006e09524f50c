"""Wheels of files that a test names: for what distributions install into each other's directories."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from support.environments.site_packages import record_line


def write_files_wheel(directory: Path, name: str, version: str, contents: Mapping[str, bytes]) -> Path:
    """A pure wheel of these files, by their paths in site-packages."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = f"{stem}.dist-info"
    files = {
        **contents,
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{metadata}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "\n".join([*(record_line(path, content) for path, content in files.items()), f"{metadata}/RECORD,,", ""])
    wheel = directory / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in {**files, f"{metadata}/RECORD": record.encode()}.items():
            archive.writestr(path, content)
    return wheel

"""Wheels written by hand, as small as pip and uv take them."""

import zipfile
from pathlib import Path

from support.environments.site_packages import record_line

BUILT = "13.0.0+simd.v2.v3"
OFFICIAL = "13.0.0"


def write_wheel(
    directory: Path, name: str = "pillow", version: str = BUILT, tag: str = "py3-none-any", *headers: str
) -> Path:
    """A pure wheel that brings a module, whose content names its version and `headers`; more headers follow METADATA's.

    One with a local version says, as those of fastinstall do, that the recipe "pillow-fast" has made it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    metadata = f"{name}-{version}.dist-info"
    lines = ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Requires-Python: >=3.8", *headers, "")
    files = {
        f"{name}_module.py": f"version = {version!r}\n".encode(),
        f"{metadata}/METADATA": "\n".join(lines).encode(),
        f"{metadata}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    if "+" in version:
        files[f"{metadata}/fastinstall.json"] = b'{"recipe": "pillow-fast"}'
    record = "\n".join([*(record_line(path, content) for path, content in files.items()), f"{metadata}/RECORD,,", ""])
    wheel = directory / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in {**files, f"{metadata}/RECORD": record.encode()}.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content)
    return wheel

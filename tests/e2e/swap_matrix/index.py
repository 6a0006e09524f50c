"""The index of the swap matrix: three versions of Pillow, and small packages that require Pillow."""

import hashlib
import sys
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from support.index.cached_files import fetched
from support.index.server import SimpleIndex, content_answer
from support.index.wheels import pack_members, stub_wheel

OLDER = "12.1.1"
_PLATFORM = "manylinux_2_27_x86_64.manylinux_2_28_x86_64"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pillows:
    """Official wheels of Pillow.

    Attributes:
        same: the version that the stack is built from.
        newer: a later version, made from the wheel of `same` by changing the number in metadata, package and core.
        wheels: contents of the wheels, by file name.
    """

    same: str
    newer: str
    wheels: dict[str, bytes]

    @property
    def versions(self) -> dict[str, str]:
        """The versions, keyed by "older", "same" and "newer"."""
        return {"older": OLDER, "same": self.same, "newer": self.newer}

    def sha256(self, version: str) -> str:
        """Return the sha256 of the wheel of a version."""
        return hashlib.sha256(self.wheels[wheel_of(version)]).hexdigest()

    def offered(self, *versions: str) -> dict[str, bytes]:
        """Return the wheels of these versions."""
        return {wheel_of(version): self.wheels[wheel_of(version)] for version in versions}


def wheel_of(version: str) -> str:
    """Return the file name of the official wheel for the Python that runs the tests."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"pillow-{version}-{tag}-{tag}-{_PLATFORM}.whl"


def pillows(cache: Path, same: str) -> Pillows:
    """Download the official wheels, and create the wheel of the newer version.

    Args:
        cache: fastinstall's cache.
        same: the version that the stack is built from.
    """
    major, minor, *_ = same.split(".")
    newer = f"{major}.{int(minor) + 1}.0"
    official = {name: path.read_bytes() for name, path in fetched(cache, wheel_of(OLDER), wheel_of(same)).items()}
    wheels = {**official, wheel_of(newer): renumbered(official[wheel_of(same)], same, newer)}
    return Pillows(same=same, newer=newer, wheels=wheels)


def offer(index: SimpleIndex, published: Pillows, *versions: str) -> None:
    """Serve these versions of Pillow and the packages that require it, replacing what earlier calls served."""
    _offer(index, "pillow", published.offered(*versions))
    for name, releases in _requiring(published.newer).items():
        _offer(index, name, dict(stub_wheel(name, version, *requires) for version, requires in releases.items()))


def _offer(index: SimpleIndex, name: str, wheels: dict[str, bytes]) -> None:
    """Serve wheels, each with its metadata as a separate file (PEP 658)."""
    index.offer(name, wheels, attributes='data-core-metadata="true"')
    for filename, wheel in wheels.items():
        with zipfile.ZipFile(BytesIO(wheel)) as archive:
            (metadata,) = (member for member in archive.namelist() if member.endswith(".dist-info/METADATA"))
            content = archive.read(metadata)
        index.answers[f"/files/{filename}.metadata"] = content_answer(content, "application/octet-stream")


def _requiring(newer: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return distributions that require Pillow, as {name: {version: requirements}}."""
    return {
        "frame": {"1.0": ("pillow>=8",), "2.0": ("pillow>=8",)},
        "easel": {"1.0": ("pillow>=8",)},
        "demanding": {"1.0": (f"pillow>={newer}",)},
        "unrelated": {"1.0": ()},
    }


def renumbered(wheel: bytes, version: str, other: str) -> bytes:
    """Replace a Pillow wheel's version number with another of the same length; return the new wheel."""
    assert len(version) == len(other), f"{other} does not fit where {version} stands in the core"
    with zipfile.ZipFile(BytesIO(wheel)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}
    old, new = version.encode(), other.encode()
    members = {
        name.replace(f"pillow-{version}.", f"pillow-{other}."): content.replace(old, new)
        if _numbered(name)
        else content
        for name, content in contents.items()
    }
    return pack_members(members, f"pillow-{other}.dist-info")


def _numbered(name: str) -> bool:
    return name.endswith(("/METADATA", "PIL/_version.py")) or name.startswith("PIL/_imaging.")

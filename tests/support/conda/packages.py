"""Writes real `.conda` packages from given files, in the format of conda-build.

Nothing is compiled or detected: the caller provides all files and metadata.
"""

import hashlib
import io
import json
import posixpath
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conda_package_streaming.create import conda_builder

PLACEHOLDER = "/opt/placeholder".ljust(255, "_")
"""Represents the prefix in files that contain its path."""

SUBDIRS = ("linux-64", "noarch")
_MOMENT = 1_700_000_000  # seconds; a fixed time, so that equal inputs give equal packages
_LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of a package: `data`, a copy of `source`, or a symbolic link.

    Attributes:
        data: its content.
        source: file with its content.
        link: target of the symbolic link.
        mode: its permissions.
        prefixed: "text" or "binary" if it contains PLACEHOLDER; None otherwise.
    """

    data: bytes = b""
    source: Path | None = None
    link: str | None = None
    mode: int = 0o644
    prefixed: str | None = None

    @property
    def content(self) -> bytes:
        """The content of the file, or of an absolute link's target."""
        source = self.source or (Path(self.link) if self.link and Path(self.link).is_absolute() else None)
        return source.read_bytes() if source else self.data


Entries = Mapping[str, Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaPackage:
    """A package to write.

    Attributes:
        noarch: "python" or "generic"; None for a package for this platform. Modules of a "python" package are in
            `site-packages/`, and are installed where the environment's Python expects them.
        entry_points: the console scripts of a "python" package, such as "pip = pip._internal.cli.main:main".
    """

    name: str
    version: str
    build: str
    build_number: int = 0
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()
    noarch: str | None = None
    files: Entries = field(default_factory=dict)
    entry_points: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """The package's file name without the suffix."""
        return f"{self.name}-{self.version}-{self.build}"

    @property
    def subdir(self) -> str:
        """The package's directory in a channel."""
        return "noarch" if self.noarch else "linux-64"

    def write(self, channel: Path) -> Path:
        """Write the package into a channel, which must be indexed afterwards."""
        directory = channel / self.subdir
        directory.mkdir(parents=True, exist_ok=True)
        with conda_builder(self.stem, directory, compression_level=_LEVEL) as archive:
            for path, entry in sorted({**self.files, **self._information()}.items()):
                _add(archive, path, entry)
        return directory / f"{self.stem}.conda"

    def _information(self) -> Entries:
        described = [self._described(path) for path in sorted(self.files)]
        documents: dict[str, Any] = {
            "index": self._index(),
            "paths": {"paths": described, "paths_version": 1},
            "about": {},
        }
        if self.noarch == "python":
            points = {"type": "python", "entry_points": list(self.entry_points)}
            documents["link"] = {"noarch": points, "package_metadata_version": 1}
        made = {f"info/{name}.json": text_entry(json.dumps(document, indent=1)) for name, document in documents.items()}
        return {**made, "info/files": text_entry("".join(f"{path}\n" for path in sorted(self.files)))}

    def _described(self, path: str) -> dict[str, Any]:
        """Return a file's entry in info/paths.json; a link has the size and the hash of its target."""
        entry = self.files[path]
        content = self._followed(path).content
        kind = "hardlink" if entry.link is None else "softlink"
        own = {"_path": path, "path_type": kind, "sha256": hashlib.sha256(content).hexdigest()}
        prefixed = {"file_mode": entry.prefixed, "prefix_placeholder": PLACEHOLDER} if entry.prefixed else {}
        return {**own, "size_in_bytes": len(content), **prefixed}

    def _followed(self, path: str) -> Entry:
        entry = self.files.get(path, Entry())
        if entry.link is None or entry.link.startswith("/"):
            return entry
        return self._followed(posixpath.normpath(f"{posixpath.dirname(path)}/{entry.link}"))

    def _index(self) -> dict[str, Any]:
        machine = {"arch": None, "platform": None} if self.noarch else {"arch": "x86_64", "platform": "linux"}
        return {
            "name": self.name,
            "version": self.version,
            "build": self.build,
            "build_number": self.build_number,
            "depends": list(self.depends),
            "constrains": list(self.constrains),
            "subdir": self.subdir,
            "timestamp": _MOMENT * 1000,
            **machine,
            **({"noarch": self.noarch} if self.noarch else {}),
        }


def index_channel(channel: Path) -> str:
    """Write the repodata of a channel, after packages were added or removed.

    Returns:
        The channel's URL.
    """
    from rattler.index import index_fs
    from support.conda.asynchronous import complete

    for subdir in SUBDIRS:
        (channel / subdir).mkdir(parents=True, exist_ok=True)
    complete(index_fs(channel, write_zst=False, write_shards=False, force=True))
    return channel.as_uri()


def text_entry(text: str, *, mode: int = 0o644) -> Entry:
    """Return a file with this text; if it contains PLACEHOLDER, conda replaces that by the prefix."""
    return Entry(data=text.encode(), mode=mode, prefixed="text" if PLACEHOLDER in text else None)


def tree_entries(root: Path, below: str = "") -> dict[str, Entry]:
    """Return all files and links in a directory except bytecode; `below` ("lib/") is put before their paths."""
    return {f"{below}{path.relative_to(root).as_posix()}": _entry_of(path) for path in _files(root)}


def wheel_entries(wheel: Path, site: str = "site-packages/") -> dict[str, Entry]:
    """Return the files of a wheel that has no data directory, and the INSTALLER file that conda-build adds."""
    with zipfile.ZipFile(wheel) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        found = {f"{site}{name}": Entry(data=archive.read(name)) for name in names}
    (metadata,) = (path for path in found if path.endswith(".dist-info/METADATA"))
    return {**found, metadata.replace("METADATA", "INSTALLER"): text_entry("conda\n")}


def wheel_scripts(wheel: Path) -> tuple[str, ...]:
    """Return the console scripts of a wheel in the form of `entry_points`."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
        parser = ConfigParser(delimiters=("=",))
        parser.read_string(archive.read(name).decode())
    return tuple(f"{script} = {place}" for script, place in parser["console_scripts"].items())


def metadata_entries(name: str, version: str, *, requires: Iterable[str] = ()) -> dict[str, Entry]:
    """Return the dist-info of a distribution that conda installs in `site-packages/`."""
    needs = [f"Requires-Dist: {line}" for line in requires]
    metadata = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *needs, ""])
    directory = f"site-packages/{name}-{version}.dist-info"
    record = "".join(f"{name}-{version}.dist-info/{file},,\n" for file in ("METADATA", "INSTALLER", "RECORD"))
    texts = {"METADATA": metadata, "INSTALLER": "conda\n", "RECORD": f"{name}.py,,\n{record}"}
    return {f"{directory}/{file}": text_entry(text) for file, text in texts.items()}


def _add(archive: tarfile.TarFile, path: str, entry: Entry) -> None:
    info = tarfile.TarInfo(path)
    info.mtime, info.mode = _MOMENT, entry.mode
    if entry.link is not None:
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
        archive.addfile(info)
        return
    content = entry.content
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def _entry_of(path: Path) -> Entry:
    if path.is_symlink():
        return Entry(link=str(path.readlink()))
    return Entry(source=path, mode=path.stat().st_mode & 0o777)


def _files(root: Path) -> Iterator[Path]:
    found = (path for path in sorted(root.rglob("*")) if "__pycache__" not in path.parts)
    return (path for path in found if path.is_symlink() or path.is_file())

"""Real `.conda` packages, made of given files as conda-build makes them.

Not a builder: nothing is compiled or found out here; what a package says and carries is told by the caller.
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
"""What stands for the prefix in files that need its path."""

SUBDIRS = ("linux-64", "noarch")
_MOMENT = 1_700_000_000  # seconds: what is packed twice is the same
_LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of a package: `data`, or a copy of `source`, or a symbolic link.

    Attributes:
        data: its content.
        source: where its content is read.
        link: what it points to.
        mode: its permissions.
        prefixed: "text" or "binary" where PLACEHOLDER stands in it for the prefix.
    """

    data: bytes = b""
    source: Path | None = None
    link: str | None = None
    mode: int = 0o644
    prefixed: str | None = None

    @property
    def content(self) -> bytes:
        """What is in the file, or in what an absolute link points to."""
        source = self.source or (Path(self.link) if self.link and Path(self.link).is_absolute() else None)
        return source.read_bytes() if source else self.data


Entries = Mapping[str, Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaPackage:
    """A package to be made.

    Attributes:
        noarch: "python" or "generic"; None for one of this machine's kind. The modules of a "python" package lie below
            `site-packages/`, and are put where the Python of an environment wants them.
        entry_points: of a noarch Python package: "pip = pip._internal.cli.main:main".
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
        """Its file name, without the suffix."""
        return f"{self.name}-{self.version}-{self.build}"

    @property
    def subdir(self) -> str:
        """Where it lies in a channel."""
        return "noarch" if self.noarch else "linux-64"

    def write(self, channel: Path) -> Path:
        """Pack it into a channel, which has to be indexed after."""
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
        """Its line in info/paths.json; of a link, the content counts that is found by it."""
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
    """Write the repodata of a channel, after packages were put in or taken away.

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
    """A file with this text; one that has PLACEHOLDER in it gets the prefix there."""
    return Entry(data=text.encode(), mode=mode, prefixed="text" if PLACEHOLDER in text else None)


def tree_entries(root: Path, below: str = "") -> dict[str, Entry]:
    """What lies below a directory, with symbolic links as they are and without bytecode; `below` ends with "/"."""
    return {f"{below}{path.relative_to(root).as_posix()}": _entry_of(path) for path in _files(root)}


def wheel_entries(wheel: Path, site: str = "site-packages/") -> dict[str, Entry]:
    """The files of a wheel without data directories, with the INSTALLER that conda-build leaves."""
    with zipfile.ZipFile(wheel) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        found = {f"{site}{name}": Entry(data=archive.read(name)) for name in names}
    (metadata,) = (path for path in found if path.endswith(".dist-info/METADATA"))
    return {**found, metadata.replace("METADATA", "INSTALLER"): text_entry("conda\n")}


def wheel_scripts(wheel: Path) -> tuple[str, ...]:
    """The console scripts of a wheel, as `entry_points` wants them."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
        parser = ConfigParser(delimiters=("=",))
        parser.read_string(archive.read(name).decode())
    return tuple(f"{script} = {place}" for script, place in parser["console_scripts"].items())


def metadata_entries(name: str, version: str, *, requires: Iterable[str] = ()) -> dict[str, Entry]:
    """The dist-info of a distribution that conda installed in `site-packages/`."""
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

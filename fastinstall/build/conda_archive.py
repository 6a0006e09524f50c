"""Write a `.conda` package: the same files give the same bytes, whenever and wherever it is written.

Source: conda's package specification (CEP 35, `.conda` files; `info/paths.json`, `info/index.json`).
"""

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastinstall.installers.conda.extra import extra_missing
from fastinstall.model.conda import CondaPackage
from fastinstall.model.immutable import immutable
from fastinstall.system import files

MOMENT = 1577836800
"""2020-01-01, in seconds: the date of every file in a package, which bytecode in it has to agree with."""

_DATE = (2020, 1, 1, 0, 0, 0)
_LEVEL = 3  # of zstd: a seventh of a second for each 10 MB; 9 makes it a tenth smaller and takes three times as long


@immutable
class Member:
    """A file of a package.

    Attributes:
        content: all of it.
        mode: its permissions.
    """

    content: bytes
    mode: int = 0o644


def write_archive(
    package: CondaPackage, members: Mapping[str, Member], about: Mapping[str, Any], channel: Path
) -> CondaPackage:
    """Write a package into a channel, in place of a file of that name.

    Args:
        package: what `info/index.json` says.
        members: its files, by their paths relative to the prefix.
        about: what `info/about.json` says.
        channel: the directory; its index is left as it is.

    Returns:
        The package, with channel, URL and hash.

    Raises:
        RefusedError: conda-package-streaming is not installed.
    """
    target = channel / package.subdir / f"{package.dist}.conda"
    everything = {**members, **_information(package, members, about)}
    with files.temporary_directory("conda") as space:
        files.write_bytes(target, _dated(_packed(package.dist, everything, space)))
    url, sha256 = target.absolute().as_uri(), files.sha256(target)
    return replace(package, channel=channel.absolute().as_uri(), url=url, sha256=sha256)


def _packed(stem: str, members: Mapping[str, Member], space: Path) -> Path:
    try:
        from conda_package_streaming.create import conda_builder  # noqa: PLC0415 (of the extra "conda")
    except ImportError as error:
        raise extra_missing("conda-package-streaming") from error
    with conda_builder(stem, space, compression_level=_LEVEL) as archive:
        for path, member in sorted(members.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(member.content), member.mode, MOMENT
            archive.addfile(entry, io.BytesIO(member.content))
    return space / f"{stem}.conda"


def _dated(archive: Path) -> bytes:
    """The same archive without the date of its making."""
    content = io.BytesIO()
    with zipfile.ZipFile(archive) as made, zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as fixed:
        for name in made.namelist():
            fixed.writestr(zipfile.ZipInfo(name, _DATE), made.read(name))
    return content.getvalue()


def _information(package: CondaPackage, members: Mapping[str, Member], about: Mapping[str, Any]) -> dict[str, Member]:
    paths = [_path(path, member.content) for path, member in sorted(members.items())]
    documents = {
        "index": _index(package, str(about.get("license", ""))),
        "paths": {"paths": paths, "paths_version": 1},
        "about": about,
    }
    texts = {
        f"info/{name}.json": json.dumps(document, indent=1, sort_keys=True) for name, document in documents.items()
    }
    texts["info/files"] = "".join(f"{path}\n" for path in sorted(members))
    return {path: Member(content=text.encode()) for path, text in texts.items()}


def _path(path: str, content: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    return {"_path": path, "path_type": "hardlink", "sha256": digest, "size_in_bytes": len(content)}


def _index(package: CondaPackage, spdx: str) -> dict[str, Any]:
    noarch = package.subdir == "noarch"
    kind = {"noarch": "generic"} if noarch else {}
    return {
        **package.index,
        "subdir": package.subdir,
        "arch": None if noarch else "x86_64",
        "platform": None if noarch else "linux",
        "timestamp": MOMENT * 1000,
        **({"license": spdx} if spdx else {}),
        **kind,
    }

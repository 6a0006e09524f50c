"""Write a `.conda` archive: the same files give the same bytes, whenever and wherever it is written.

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

from fastinstall.conda.missing_extra import make_missing_extra_error
from fastinstall.core import files, temporary_directories
from fastinstall.core.architecture import architecture_of_subdir
from fastinstall.core.values import immutable
from fastinstall.model.conda import CondaPackage

MOMENT = 1577836800
"""2020-01-01, in seconds: the date of every file in a package, which bytecode in it has to agree with."""


@immutable
class CondaPackageFile:
    """A file of a package.

    Attributes:
        mode: its permissions, as of chmod(2).
    """

    content: bytes
    mode: int = 0o644


def write_archive(
    package: CondaPackage, members: Mapping[str, CondaPackageFile], about: Mapping[str, Any], channel: Path
) -> CondaPackage:
    """Write a package into a channel, in place of a file of that name.

    Args:
        package: what `info/index.json` says of it.
        members: its files, by their paths relative to the prefix.
        about: the content of `info/about.json`.
        channel: the directory; its index is left as it is.

    Returns:
        The package, with channel, URL and hash.

    Raises:
        RefusedError: conda-package-streaming is not installed.
    """
    try:
        from conda_package_streaming.create import conda_builder  # noqa: PLC0415 (of the extra "conda")
    except ImportError as error:
        raise make_missing_extra_error("conda-package-streaming") from error
    target = channel / package.subdir / f"{package.dist}.conda"
    everything = {**members, **_make_information(package, members, about)}
    undated = io.BytesIO()
    with temporary_directories.temporary_directory("conda") as space:
        # of zstd: a seventh of a second for each 10 MB; 9 makes it a tenth smaller and takes three times as long
        with conda_builder(package.dist, space, compression_level=3) as archive:
            for path, member in sorted(everything.items()):
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode, entry.mtime = len(member.content), member.mode, MOMENT
                archive.addfile(entry, io.BytesIO(member.content))
        # The same archive without the date of its making.
        with zipfile.ZipFile(space / target.name) as made, zipfile.ZipFile(undated, "w", zipfile.ZIP_STORED) as fixed:
            for name in made.namelist():
                fixed.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), made.read(name))
    files.write_bytes(target, undated.getvalue())
    return replace(
        package, channel=channel.absolute().as_uri(), url=target.absolute().as_uri(), sha256=files.sha256(target)
    )


def _make_information(
    package: CondaPackage, members: Mapping[str, CondaPackageFile], about: Mapping[str, Any]
) -> dict[str, CondaPackageFile]:
    paths = [
        {
            "_path": path,
            "path_type": "hardlink",
            "sha256": hashlib.sha256(member.content).hexdigest(),
            "size_in_bytes": len(member.content),
        }
        for path, member in sorted(members.items())
    ]
    noarch = package.subdir == "noarch"
    index = {
        **package.index,
        "subdir": package.subdir,
        "arch": None if noarch else architecture_of_subdir(package.subdir).archspec_family,
        "platform": None if noarch else "linux",
        "timestamp": MOMENT * 1000,
        **({"license": str(about["license"])} if about.get("license") else {}),
        **({"noarch": "generic"} if noarch else {}),
    }
    documents = {"index": index, "paths": {"paths": paths, "paths_version": 1}, "about": about}
    texts = {f"info/{name}.json": json.dumps(each, indent=1, sort_keys=True) for name, each in documents.items()}
    texts["info/files"] = "".join(f"{path}\n" for path in sorted(members))
    return {path: CondaPackageFile(content=text.encode()) for path, text in texts.items()}

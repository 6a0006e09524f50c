"""Write a conda channel as a directory: its packages, and the index `repodata.json` that solvers read.

Source: conda's specification of channels (CEP 36).
"""

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fastinstall.conda.package import pack_guard, place_package
from fastinstall.core import files, temporary_directories
from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.model.conda import CondaPackage, CondaStack
from fastinstall.wheelbuild.output_directory import explain_write_errors, refuse_links, replace_files

SUBDIRS = (architecture_of(os.uname().machine).conda_subdir, "noarch")
_INDEX = "repodata.json"


def write_repodata(channel: Path) -> None:
    """Rewrite the index `repodata.json` of each subdirectory of a channel (this platform's, and noarch).

    Raises:
        FailedError: a package cannot be read.
    """
    for subdir in SUBDIRS:
        files.write_text(channel / subdir / _INDEX, _make_repodata(subdir, (channel / subdir).glob("*")))


def _make_repodata(subdir: str, packages: Iterable[Path]) -> str:
    """Return the text of a subdirectory's `repodata.json`; files that are not packages are ignored."""
    paths = sorted(packages, key=lambda path: path.name)
    found = {
        kind: {path.name: _make_record(path) for path in paths if path.name.endswith(suffix)}
        for kind, suffix in (("packages.conda", ".conda"), ("packages", ".tar.bz2"))
    }
    document = {"info": {"subdir": subdir}, **found, "removed": [], "repodata_version": 1}
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def publish_packages(
    pack: Callable[[int, Path], CondaPackage], plan_guard: Callable[[CondaPackage], CondaPackage] | None, channel: Path
) -> CondaStack:
    """Put a package and its guard package into a channel, and update the channel's index; do all of this or nothing.

    Args:
        pack: a function that takes a build number and a directory, and writes the package into this directory. It is
            called with the numbers 0, 1, 2, ... until the channel has no different package with the same file name.
        plan_guard: a function that takes the package and returns the planned guard package; None for no guard.
        channel: the channel's directory, created if missing. Other packages in it stay.

    Raises:
        FailedError: the channel cannot be written, or a package in it cannot be read; the channel is unchanged.
        EnvironmentDamagedError: the channel was written only in part, and could not be restored.
        RefusedError: a subdirectory of the channel is a symbolic link.
    """
    refuse_links(channel, SUBDIRS)
    with temporary_directories.temporary_directory("channel") as scratch:
        package = place_package(_pack_unlike_others(pack, channel, scratch), channel)
        guard = pack_guard(plan_guard(package), channel, scratch) if plan_guard is not None else None
        with explain_write_errors(channel), replace_files(channel) as staged:
            for subdir in SUBDIRS:
                names = [f"{each.dist}.conda" for each in (package, guard) if each and each.subdir == subdir]
                packages = {path.name: path for path in (channel / subdir).glob("*")}
                packages |= {name: scratch / subdir / name for name in names}
                for name in names:
                    staged.write(f"{subdir}/{name}", packages[name].read_bytes())
                staged.write(f"{subdir}/{_INDEX}", _make_repodata(subdir, packages.values()).encode())
        placed = place_package(guard, channel) if guard is not None else None
    return CondaStack(package=package, guard=placed, channel=channel)


def _pack_unlike_others(pack: Callable[[int, Path], CondaPackage], channel: Path, scratch: Path) -> CondaPackage:
    for number in itertools.count():
        package = pack(number, scratch)
        target = channel / package.subdir / f"{package.dist}.conda"
        if not target.exists() or files.sha256(target) == package.sha256:
            break
    return package


def _make_record(package: Path) -> dict[str, Any]:
    """Return a package's entry in the index of its subdirectory."""
    from conda_package_streaming.package_streaming import stream_conda_info  # needs the extra "conda"

    problem, index = "it has no info/index.json", None
    try:
        for archive, member in stream_conda_info(package):
            stream = archive.extractfile(member) if member.name == "info/index.json" else None
            if stream is not None:
                problem, index = "its info/index.json is not an object", json_data(stream.read())
    except Exception as error:  # noqa: BLE001 (the archive reader raises errors of any type)
        problem, index = str(error), None
    if not isinstance(index, dict):
        raise FailedError(
            f"{package}: not a valid conda package: {problem}",
            hint=f"mv {quote(package)} /tmp, then run the same command again",
        )
    content = package.read_bytes()
    return {
        **index,
        "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
    }


def write_offered_channel(packages: Sequence[CondaPackage], cache: Path) -> str:
    """Write a channel that has only an index, so that a solver can choose packages that do not exist yet.

    Engines cache indices by the channel's URL. Therefore the name of the channel's directory is a digest of the index.

    Returns:
        The channel's URL.
    """
    indices: dict[str, dict[str, Any]] = {subdir: {} for subdir in SUBDIRS}
    for each in packages:
        subdir = each.subdir or SUBDIRS[0]
        sums = {"sha256": each.sha256 or "0" * 64, "md5": "0" * 32, "size": 0}
        noarch = {"noarch": "generic"} if subdir == "noarch" else {}
        indices[subdir][f"{each.dist}.conda"] = {**each.index, "subdir": subdir, **sums, **noarch}
    content = json.dumps(indices, sort_keys=True)
    channel = cache / "offered" / hashlib.sha256(content.encode()).hexdigest()[:16]
    for subdir, entries in indices.items():
        index = {"info": {"subdir": subdir}, "packages": {}, "packages.conda": entries, "repodata_version": 1}
        files.write_text(channel / subdir / _INDEX, json.dumps(index), durable=False)
    return channel.absolute().as_uri()

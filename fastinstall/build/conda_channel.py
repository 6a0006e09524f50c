"""A channel in a directory: packages added to it, and `repodata.json`, which solvers read. Nothing is solved here.

Source: conda's specification of channels (CEP 36).
"""

import hashlib
import itertools
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastinstall.errors import FailedError
from fastinstall.model.conda import CondaPackage
from fastinstall.model.parsing import json_data
from fastinstall.rules.messages import quote
from fastinstall.system import files

SUBDIRS = ("linux-64", "noarch")
_KINDS = {"packages.conda": ".conda", "packages": ".tar.bz2"}


def write_index(channel: Path) -> None:
    """Write `repodata.json` of both subdirectories anew, from the packages that lie there.

    Raises:
        FailedError: a package cannot be read.
    """
    for subdir in SUBDIRS:
        directory = channel / subdir
        found = {kind: _records(directory, suffix) for kind, suffix in _KINDS.items()}
        document = {"info": {"subdir": subdir}, **found, "removed": [], "repodata_version": 1}
        files.write_text(directory / "repodata.json", json.dumps(document, indent=1, sort_keys=True) + "\n")


def publish(packed: Callable[[int, Path], CondaPackage], channel: Path) -> CondaPackage:
    """Put a package into a channel under the first number under which nothing else lies there.

    Args:
        packed: makes the package with a number, in a channel's directory.
        channel: the directory; its index is left as it is.

    Returns:
        The package in its place.
    """
    with files.temporary_directory("channel", within=channel) as scratch:
        for number in itertools.count():
            package = packed(number, scratch)
            file = f"{package.subdir}/{package.dist}.conda"
            target = channel / file
            if not target.exists() or files.sha256(target) == package.sha256:
                break
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(scratch / file, target)
        return replace(package, channel=channel.absolute().as_uri(), url=target.absolute().as_uri())


def _records(directory: Path, suffix: str) -> dict[str, Any]:
    return {path.name: _record(path) for path in sorted(directory.glob(f"*{suffix}"))}


def _record(package: Path) -> dict[str, Any]:
    content = package.read_bytes()
    return {
        **_index_of(package),
        "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
    }


def _index_of(package: Path) -> dict[str, Any]:
    from conda_package_streaming.package_streaming import stream_conda_info  # noqa: PLC0415 (of the extra "conda")

    try:
        for archive, member in stream_conda_info(package):
            if member.name == "info/index.json":
                stream = archive.extractfile(member)
                found: dict[str, Any] = json_data(stream.read()) if stream is not None else {}
                return found
    except Exception as error:
        raise _unreadable(package, str(error)) from error
    raise _unreadable(package, "it has no info/index.json")


def _unreadable(package: Path, problem: str) -> FailedError:
    return FailedError(
        f"{package}: not a whole conda package: {problem}",
        hint=f"mv {quote(package)} /tmp, and run the same command again",
    )

"""A channel with an index and no packages: what is going to be made, shown to a solver before it exists."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastinstall.model.conda import CondaPackage
from fastinstall.system.files import write_text

_SUBDIRS = ("linux-64", "noarch")
_NO_SHA256 = "0" * 64
_NO_MD5 = "0" * 32


def offered_channel(packages: Sequence[CondaPackage], cache: Path) -> str:
    """Write the index of a channel that offers these packages.

    Its place follows from its content: engines keep what they have read of a channel.

    Returns:
        The channel's URL.
    """
    indices = {subdir: _index(subdir, packages) for subdir in _SUBDIRS}
    content = json.dumps(indices, sort_keys=True)
    channel = cache / "offered" / hashlib.sha256(content.encode()).hexdigest()[:16]
    for subdir, index in indices.items():
        write_text(channel / subdir / "repodata.json", json.dumps(index), durable=False)
    return channel.absolute().as_uri()


def file_name(package: CondaPackage) -> str:
    """The package's file in a channel of ours."""
    return f"{package.dist}.conda"


def _index(subdir: str, packages: Sequence[CondaPackage]) -> dict[str, Any]:
    entries = {file_name(each): _entry(each) for each in packages if (each.subdir or "linux-64") == subdir}
    return {"info": {"subdir": subdir}, "packages": {}, "packages.conda": entries, "repodata_version": 1}


def _entry(package: CondaPackage) -> dict[str, Any]:
    noarch = {"noarch": "generic"} if package.subdir == "noarch" else {}
    return {
        **package.index,
        "subdir": package.subdir or "linux-64",
        "sha256": package.sha256 or _NO_SHA256,
        "md5": _NO_MD5,
        "size": 0,
        **noarch,
    }

"""A channel with an index and no packages, which shows the solver a package before it is made."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastinstall.core.architecture import architecture_of
from fastinstall.core.files import write_text
from fastinstall.model.conda import CondaPackage


def write_offered_channel(packages: Sequence[CondaPackage], cache: Path) -> str:
    """Write the index of a channel that offers these packages.

    Its place follows from its content: engines keep what they have read of a channel.

    Returns:
        The channel's URL.
    """
    here = architecture_of(os.uname().machine).conda_subdir
    indices: dict[str, dict[str, Any]] = {here: {}, "noarch": {}}
    for each in packages:
        subdir = each.subdir or here
        sums = {"sha256": each.sha256 or "0" * 64, "md5": "0" * 32, "size": 0}
        noarch = {"noarch": "generic"} if subdir == "noarch" else {}
        indices[subdir][f"{each.dist}.conda"] = {**each.index, "subdir": subdir, **sums, **noarch}
    content = json.dumps(indices, sort_keys=True)
    channel = cache / "offered" / hashlib.sha256(content.encode()).hexdigest()[:16]
    for subdir, entries in indices.items():
        index = {"info": {"subdir": subdir}, "packages": {}, "packages.conda": entries, "repodata_version": 1}
        write_text(channel / subdir / "repodata.json", json.dumps(index), durable=False)
    return channel.absolute().as_uri()

"""Downloads files of the package index by name, and keeps them in fastinstall's cache."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from fastinstall.core.events import ignore
from fastinstall.index.client import ask_indexes
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import pip_settings

_SECONDS = 60.0


def fetched(cache: Path, *filenames: str) -> dict[str, Path]:
    """Return the paths of downloaded files, by file name.

    Args:
        cache: fastinstall's cache.
        filenames: names of sdists or wheels, for any platform.
    """
    settings = replace(pip_settings(Path(sys.executable), os.environ), timeout=_SECONDS)
    names = tuple({name.partition("-")[0].replace("_", "-") for name in filenames})
    offered = {found.filename: found for found in ask_indexes(settings, names, filenames.__contains__)}
    index = PackageIndex(settings=settings)
    return {name: index.fetch(offered[name], cache, ignore) for name in filenames}

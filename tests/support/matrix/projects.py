"""The projects of the swap matrix: a manifest for each manager that makes environments of one, and how it is locked."""

import sys
from pathlib import Path

from support.projects.tools import OF_PDM, OF_POETRY

_MANIFEST = """\
[project]
name = "gallery"
version = "0.1.0"
requires-python = ">={python}"
dependencies = ["frame>=1", "pillow>=8"]
"""
MANIFESTS = {"uv": _MANIFEST, "poetry": _MANIFEST + OF_POETRY, "pdm": _MANIFEST + OF_PDM}
"""By manager; the directory has nothing of a package to build."""

LOCK = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock"}
"""The name of the lock, by manager."""


def write_manifest(manager: str, directory: Path, url: str) -> None:
    """Write pyproject.toml; `url` is the index."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    (directory / "pyproject.toml").write_text(MANIFESTS[manager].format(python=python, url=url))

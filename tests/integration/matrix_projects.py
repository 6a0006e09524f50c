"""The projects of the swap matrix: a manifest for each manager that makes environments of one, and how it is locked."""

import sys
from pathlib import Path

_MANIFEST = """\
[project]
name = "gallery"
version = "0.1.0"
requires-python = ">={python}"
dependencies = ["frame>=1", "pillow>=8"]
"""
_OF_POETRY = """
[tool.poetry]
package-mode = false

[[tool.poetry.source]]
name = "local"
url = "{url}"
priority = "primary"
"""
_OF_PDM = """
[tool.pdm]
distribution = false

[[tool.pdm.source]]
name = "pypi"
url = "{url}"
verify_ssl = false
"""

MANIFESTS = {"uv": _MANIFEST, "poetry": _MANIFEST + _OF_POETRY, "pdm": _MANIFEST + _OF_PDM}
"""By manager; the directory has nothing of a package to build."""

LOCK = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock"}
"""The name of the lock, by manager."""


def write_manifest(manager: str, directory: Path, url: str) -> None:
    """Write pyproject.toml; `url` is the index."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    (directory / "pyproject.toml").write_text(MANIFESTS[manager].format(python=python, url=url))

"""What is in an environment at a glance: its Python and its Pillow, from file names and one small file; nothing is run.

Not facts: nothing here is held against what the files contain.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from fastinstall.errors import DocumentError
from fastinstall.journal.receipts import receipt_data
from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.immutable import immutable
from fastinstall.probes.environment import kind_of_prefix
from fastinstall.system import foreign

_OWNER = re.compile(r"(?P<name>pillow(?:[-_.]simd)?|pil)-(?P<version>[^-]+)\.dist-info", re.IGNORECASE)
_CONDA_PYTHON = re.compile(r"python-(?P<version>\d[\d.]*)-[^-]+\.json")
_SITE = ("lib/python*/site-packages", "lib64/python*/site-packages")


@immutable
class Glimpse:
    """An environment, seen from outside.

    Attributes:
        prefix: its directory.
        kind: who manages it.
        python: version of its interpreter; empty where no file tells.
        pillow: distributions that say they are Pillow ("pillow 13.0.0"), sorted; empty: none.
        ours: what fastinstall set up there ("pillow 13.0.0+simd.v2.v3"); empty: nothing.
    """

    prefix: Path
    kind: EnvironmentKind
    python: str = ""
    pillow: tuple[str, ...] = ()
    ours: str = ""

    @property
    def is_replaced(self) -> bool:
        """Whether something else has taken the place of what fastinstall set up."""
        return bool(self.ours) and self.ours not in self.pillow


def glimpse(prefix: Path) -> Glimpse:
    """Look at an environment; what cannot be read is left empty."""
    return Glimpse(
        prefix=prefix,
        kind=kind_of_prefix(prefix),
        python=_venv_python(prefix) or _conda_python(prefix),
        pillow=tuple(sorted(set(_owners(prefix)))),
        ours=_ours(prefix),
    )


def _venv_python(prefix: Path) -> str:
    """Sources: `venv` writes "version", virtualenv and uv "version_info"."""
    try:
        lines = foreign.read_text(prefix / "pyvenv.cfg", errors="replace").splitlines()
    except OSError:
        return ""
    pairs = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    told = pairs.get("version") or pairs.get("version_info", "")
    return ".".join(told.split(".")[:3])


def _conda_python(prefix: Path) -> str:
    found = (_CONDA_PYTHON.fullmatch(path.name) for path in prefix.glob("conda-meta/python-*.json"))
    return next((match["version"] for match in found if match), "")


def _owners(prefix: Path) -> Iterator[str]:
    for pattern in _SITE:
        for site in prefix.glob(pattern):
            for match in map(_OWNER.fullmatch, _names(site)):
                if match:
                    yield f"{match['name'].lower().replace('_', '-')} {match['version']}"


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir()]
    except OSError:
        return []


def _ours(prefix: Path) -> str:
    try:
        data = receipt_data(prefix) or {}
    except DocumentError:
        return ""
    return f"{data['distribution']} {data['version']}" if data.get("distribution") and data.get("version") else ""

"""A summary of an environment: its Python and Pillow from file names and one small file.

It is not a fact: no file content is checked.
"""

import contextlib
import re
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.errors import DocumentError
from fastinstall.core.values import immutable
from fastinstall.journal.receipt_file import receipt_data
from fastinstall.model.facts import EnvironmentKind
from fastinstall.observe.active_environment import kind_of_prefix


def has_pillow(prefix: Path) -> bool:
    """Return whether PIL is in an environment, from its directories alone."""
    return any(True for lib in ("lib", "lib64") for _ in prefix.glob(f"{lib}/p*/site-packages/PIL"))


_OWNER = re.compile(r"(?P<name>pillow(?:[-_.]simd)?|pil)-(?P<version>[^-]+)\.dist-info", re.IGNORECASE)


_CONDA_PYTHON = re.compile(r"python-(?P<version>\d[\d.]*)-[^-]+\.json")


_SITE = ("lib/python*/site-packages", "lib64/python*/site-packages")


@immutable
class EnvironmentSummary:
    """An environment, seen from outside.

    Attributes:
        kind: who manages it: conda, `venv` or the system.
        python: version of its interpreter; empty if unknown.
        pillow: distributions that say they are Pillow ("pillow 13.0.0"), sorted; empty if none.
        ours: what fastinstall set up there ("pillow 13.0.0+simd.v2.v3"); empty if nothing.
    """

    prefix: Path
    kind: EnvironmentKind
    python: str = ""
    pillow: tuple[str, ...] = ()
    ours: str = ""

    @property
    def is_replaced(self) -> bool:
        """Whether something else replaced what fastinstall set up."""
        return bool(self.ours) and self.ours not in self.pillow


def scan_environment(prefix: Path) -> EnvironmentSummary:
    """Return a summary of an environment; unreadable parts are left empty."""
    lines = foreign.text_or_empty(prefix / "pyvenv.cfg").splitlines()
    pairs = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    told = pairs.get("version") or pairs.get("version_info", "")  # from `venv`; from virtualenv and uv
    records = filter(None, map(_CONDA_PYTHON.fullmatch, foreign.list_names(prefix / "conda-meta")))
    sites = [site for pattern in _SITE for site in prefix.glob(pattern)]
    owners = [found for site in sites for found in map(_OWNER.fullmatch, foreign.list_names(site)) if found]
    data: dict[str, str] = {}
    with contextlib.suppress(DocumentError):
        data = receipt_data(prefix) or {}
    ours = data.get("distribution") and data.get("version") and f"{data['distribution']} {data['version']}"
    return EnvironmentSummary(
        prefix=prefix,
        kind=kind_of_prefix(prefix),
        python=".".join(told.split(".")[:3]) or next((match["version"] for match in records), ""),
        pillow=tuple(sorted({f"{each['name'].lower().replace('_', '-')} {each['version']}" for each in owners})),
        ours=ours or "",
    )

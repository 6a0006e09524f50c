"""Keeps what the swap matrix has shown, for the page that matrix_page.py makes of it."""

import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from support.matrix.cells import Outcome, Row
from support.matrix.scene import PIP, Column, Scene
from support.projects.tools import REQUIREMENTS

_TOLD = {"end": "at its end", "during": "while it runs", "import": "at the next import"}


def record(scene: Scene, row: Row, column: Column) -> None:
    """Append a cell that came out as expected to the file that FASTINSTALL_SWAP_MATRIX names, if it does."""
    kept = os.environ.get("FASTINSTALL_SWAP_MATRIX")
    if not kept:
        return
    versions = scene.published.versions
    cell = {
        "row": row.command.format(**versions, site="SITE-PACKAGES"),
        "column": column,
        "outcome": _described(row.expected(column), column).format(**versions),
        "versions": {**versions, **_tools()},
    }
    with Path(kept).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(cell) + "\n")


def _described(outcome: Outcome, column: Column) -> str:
    if not outcome.change:
        return "refused" if outcome.refused else "kept"
    change = outcome.change.removeprefix("was ").removeprefix("replaced with ")
    told = f"{outcome.tool or 'told'}, {_TOLD[outcome.told]}" if column is not Column.UNGUARDED else "silent"
    return f"{change}; {told}; {'accepted' if outcome.required else 'repaired'}"


def _tools() -> Mapping[str, str]:
    pinned = (requirement.partition("==") for requirement in (PIP, *REQUIREMENTS))
    found = {name.partition("[")[0]: number for name, _, number in pinned}
    return {**found, "uv": version("uv"), "python": platform.python_version()}

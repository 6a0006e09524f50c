"""Runs the swap matrix and writes its page:

PYTHONPATH=tests python -m e2e.swap_matrix.page docs/explanation/swap-matrix.md
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from e2e.swap_matrix.cells import Outcome, Row
from e2e.swap_matrix.scene import PIP, Column, Scene
from support.projects.tools import REQUIREMENTS

_TOLD = {"end": "at its end", "during": "while it runs", "import": "at the next import"}


def record(scene: Scene, row: Row, column: Column) -> None:
    """Append a successful cell to the file that the variable FASTINSTALL_SWAP_MATRIX names, if it is set."""
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
    told = f"{outcome.tool or 'a warning'}, {_TOLD[outcome.told]}" if column is not Column.UNGUARDED else "silent"
    return f"{change}; {told}; {'accepted' if outcome.required else 'repaired'}"


def _tools() -> Mapping[str, str]:
    pinned = (requirement.partition("==") for requirement in (PIP, *REQUIREMENTS))
    found = {name.partition("[")[0]: number for name, _, number in pinned}
    return {**found, "uv": version("uv"), "python": platform.python_version()}


FILES = ("tests/e2e/swap_matrix/test_swap_matrix.py", "tests/e2e/swap_matrix/test_swap_matrix_projects.py")
_PAGE = """\
# Which command replaces the fast build, who notices, and what repairs it

Written on {date} by `PYTHONPATH=tests python -m e2e.swap_matrix.page docs/explanation/swap-matrix.md`. It runs
{files}:
real commands in a real environment with the fast build of Pillow {same}. Tried with CPython {python}, pip {pip}, uv
{uv}, poetry {poetry} and pdm {pdm}. A local index has the official wheels of Pillow {older} and {same}, and a copy that
calls itself {newer}. `frame`, `easel` and `demanding` are small packages that require pillow; `demanding` requires that
copy. [Guards](guards.md) says how a replacement is noticed, and [pins](../how-to/pin.md) how to prevent one.

- **kept**: the command succeeds, and the stack is still as it was set up. **refused**: the pin makes the command fail.
- **silent**: no program warns. `fastinstall doctor` reports it afterwards, and names the tool if it left its name.
- **pip, at its end**: the guard warns once, at the end of pip, and names pip. **a warning**: the guard names no tool.
- **repaired**: the printed command was pasted into a terminal unchanged, and its questions were answered with yes.
  Afterwards the fast build was in place, and neither `doctor --quick` nor an import had a warning. If several
  rows of a column leave the same files, only the first of them was repaired.
- **accepted**: another package requires that Pillow. The repair refuses to break this package, and prints a
  command that accepts the installed Pillow. That command was pasted too.

| command | {columns} |
|---|{lines}
{rows}
"""


def page(cells: Iterable[dict[str, Any]], date: str) -> str:
    """Return the page that shows all cells."""
    table: dict[str, dict[str, str]] = {}
    versions: dict[str, str] = {}
    for cell in cells:
        table.setdefault(cell["row"], {})[cell["column"]] = cell["outcome"]
        versions = cell["versions"]
    columns = next(iter(table.values()))
    in_order = sorted(table, key=lambda row: not row.startswith("pip "))
    return _PAGE.format(
        date=date,
        files=" and ".join(f"`{name}`" for name in FILES),
        columns=" | ".join(columns),
        lines="---|" * len(columns),
        rows="\n".join(f"| `{row}` | {' | '.join(table[row][name] for name in columns)} |" for row in in_order),
        **versions,
    )


def main(target: Path) -> int:
    """Run the matrix, write its page if all cells came out as expected, and return pytest's exit code."""
    with tempfile.TemporaryDirectory() as directory:
        kept = Path(directory, "cells")
        side_by_side = ("--numprocesses", "2", "--dist", "loadfile")
        command = (sys.executable, "-m", "pytest", "-q", "--every-row", *side_by_side, *FILES)
        variables = {**os.environ, "FASTINSTALL_SWAP_MATRIX": str(kept)}
        code = subprocess.run(command, env=variables, check=False).returncode
        if code == 0:
            cells = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
            target.write_text(page(cells, time.strftime("%Y-%m-%d")), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

"""Every command of uv, poetry and pdm that may replace the stack. See test_swap_matrix.py for pip."""

from collections.abc import Iterator

import pytest
from e2e.swap_matrix.cells import KEPT, REFUSED, REMOVED, Outcome, Row, called, play, played
from e2e.swap_matrix.page import record
from e2e.swap_matrix.scene import Column, Scene, make_scene
from support.index.server import serving
from support.projects.tools import ProjectTools
from support.projects.tools import project_tools as project_tools  # noqa: PLC0414 (a fixture of this module)
from support.sandbox import NewSandbox

POETRY = r"Poetry 2.5.1"
LATER = Outcome(change="was replaced with Pillow {newer}", tool="uv", told="import")
EARLIER = Outcome(change="was replaced with Pillow {older}", tool="uv", told="import")
STOCK = Outcome(change="was replaced with another build", tool="uv", told="import")
GONE = Outcome(change=REMOVED, told="import")
STOCK_IN_COMMAND = Outcome(change="was replaced with another build", tool="uv", told="during")
STOCK_BY_POETRY = Outcome(change="was replaced with another build", tool=POETRY, told="import")
LATER_BY_PDM = Outcome(change="was replaced with Pillow {newer}", tool="pdm", told="import")

ROWS = (
    Row(manager="uv-pip", command="uv pip install easel", unpinned=KEPT, pinned=KEPT),
    Row(manager="uv-pip", command="uv pip install -U frame", unpinned=LATER, pinned=KEPT, alike=True),
    Row(manager="uv-pip", command="uv pip install -U pillow", unpinned=LATER, pinned=KEPT),
    Row(manager="uv-pip", command="uv pip install --reinstall frame", unpinned=LATER, pinned=KEPT),
    Row(
        manager="uv-pip",
        command="uv pip install --reinstall-package pillow pillow=={same}",
        unpinned=STOCK,
        pinned=KEPT,
    ),
    Row(manager="uv-pip", command="uv pip install pillow=={older}", unpinned=EARLIER, pinned=REFUSED),
    Row(
        manager="uv-pip",
        command="uv pip install --require-hashes -r hashed-older.txt",
        unpinned=EARLIER,
        pinned=REFUSED,
    ),
    Row(manager="uv-pip", command="uv pip sync older.txt", unpinned=EARLIER, pinned=REFUSED),
    Row(manager="uv-pip", command="uv pip sync same.txt", unpinned=KEPT, pinned=KEPT, alike=True),
    Row(manager="uv-pip", command="uv pip uninstall pillow", unpinned=GONE, pinned=GONE),
    Row(manager="uv", command="uv sync", unpinned=STOCK, pinned=KEPT),
    Row(manager="uv", command="uv sync --upgrade", unpinned=LATER, pinned=KEPT, alike=True),
    Row(manager="uv", command="uv run python -c 'import PIL'", unpinned=STOCK_IN_COMMAND, pinned=KEPT),
    Row(manager="uv", command="uv add easel", unpinned=STOCK, pinned=KEPT),
    Row(manager="poetry", command="poetry install", unpinned=STOCK_BY_POETRY, pinned=KEPT),
    Row(manager="poetry", command="poetry add easel", unpinned=STOCK_BY_POETRY, pinned=KEPT),
    Row(manager="pdm", command="pdm install", unpinned=KEPT, pinned=KEPT),
    Row(manager="pdm", command="pdm update", unpinned=LATER_BY_PDM, pinned=KEPT),
)


@pytest.fixture(scope="module")
def scene(new_sandbox: NewSandbox, project_tools: ProjectTools) -> Iterator[Scene]:
    with new_sandbox() as sandbox, serving() as index:
        yield make_scene(sandbox, index, project_tools)


@pytest.mark.parametrize(("row", "column"), played(ROWS), ids=called)
def test_a_command_of_another_tool(scene: Scene, row: Row, column: Column) -> None:
    play(scene, row, column)
    record(scene, row, column)

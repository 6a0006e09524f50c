"""Every pip command that may replace the stack: without a guard, with a guard, and with a guard and pins.

Either the stack is kept, or the change is reported once, with the right tool and a command that repairs it (see
cells.py). The commands of uv, poetry and pdm are in test_swap_matrix_projects.py.
"""

from collections.abc import Iterator

import pytest
from e2e.swap_matrix.cells import KEPT, REFUSED, REMOVED, Outcome, Row, called, play, played
from e2e.swap_matrix.page import record
from e2e.swap_matrix.scene import Column, Scene, make_scene
from support.index.server import serving
from support.sandbox import NewSandbox

LATER = Outcome(change="was replaced with Pillow {newer}", tool="pip", told="end")
REQUIRED = Outcome(change="was replaced with Pillow {newer}", tool="pip", told="end", required=True)
EARLIER = Outcome(change="was replaced with Pillow {older}", tool="pip", told="end")
STOCK = Outcome(change="was replaced with another build", tool="pip", told="end")
GONE = Outcome(change=REMOVED, tool="pip", told="end")

ROWS = (
    Row(command="pip install easel", unpinned=KEPT, pinned=KEPT),
    Row(command="pip install -U frame", unpinned=KEPT, pinned=KEPT),
    Row(command="pip install -U --upgrade-strategy eager frame", unpinned=LATER, pinned=KEPT),
    Row(command="pip install --force-reinstall frame", unpinned=LATER, pinned=KEPT),
    Row(command="pip install -U pillow", unpinned=LATER, pinned=KEPT),
    Row(command="pip install pillow=={older}", unpinned=EARLIER, pinned=REFUSED),
    Row(command="pip install pillow=={same}", unpinned=KEPT, pinned=KEPT),
    Row(command="pip install --force-reinstall pillow=={same}", unpinned=STOCK, pinned=KEPT),
    Row(command="pip install demanding", unpinned=REQUIRED, pinned=REFUSED),
    Row(command="pip uninstall -y pillow", unpinned=GONE, pinned=GONE),
    Row(command="pip install -r older.txt", unpinned=EARLIER, pinned=REFUSED),
    Row(command="pip install -r same.txt", unpinned=KEPT, pinned=KEPT, alike=True),
    Row(command="pip install --require-hashes -r hashed-older.txt", unpinned=EARLIER, pinned=REFUSED),
    Row(command="pip install --require-hashes -r hashed-same.txt", unpinned=KEPT, pinned=KEPT, alike=True),
    Row(
        command="pip --python .venv/bin/python install -U pillow",
        unpinned=LATER,
        pinned=KEPT,
        activated=False,
    ),
    Row(command="pip install --target elsewhere pillow", unpinned=KEPT, pinned=KEPT),
    Row(command="pip install --target {site} --upgrade pillow", unpinned=LATER, pinned=KEPT, alike=True),
)


@pytest.fixture(scope="module")
def scene(new_sandbox: NewSandbox) -> Iterator[Scene]:
    with new_sandbox() as sandbox, serving() as index:
        yield make_scene(sandbox, index)


@pytest.mark.parametrize(("row", "column"), played(ROWS), ids=called)
def test_a_pip_command(scene: Scene, row: Row, column: Column) -> None:
    play(scene, row, column)
    record(scene, row, column)

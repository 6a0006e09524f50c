"""Every command in the documentation is run, page by page, as a reader would run it."""

import shutil
from collections.abc import Iterator

import pytest
from reader.readers import ALL_ROWS, Prepared, read
from reader.scenarios import Part, page_parts, scenario_of
from support.docs.pages import Command, blocks_of, commands_of
from support.machine.needs import require_system
from support.sandbox import NewSandbox, Sandbox


def _runs(part: Part) -> bool:
    """Return True if at least one command of the part is run; other parts need no sandbox."""
    scenario = scenario_of(part.name)
    done = commands_of(blocks_of(part.text))
    expected = [scenario.of(each) for each in done if isinstance(each, Command)]
    return any(not each.excuse and (ALL_ROWS or not each.long) for each in expected)


pytestmark = pytest.mark.timeout(7200 if ALL_ROWS else 1800)
PARTS = [part for part in page_parts() if _runs(part)]


@pytest.fixture(scope="module")
def prepared(new_sandbox: NewSandbox) -> Iterator[Prepared]:
    with new_sandbox() as sandbox:
        yield Prepared(sandbox=sandbox)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_page_is_true(part: Part, sandbox: Sandbox, prepared: Prepared) -> None:
    scenario = scenario_of(part.name)
    for program in scenario.before.needs:
        require_system(shutil.which(program), program)
    for name, kind in scenario.before.environments.items():
        prepared.bring(kind, sandbox.root / "desk" / name)
    read(part.text, scenario, sandbox)

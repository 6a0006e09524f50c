"""Every command of the documentation is run, page by page, as a reader would."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_pages import Command, blocks_of, commands_of, page_files, page_name
from docs_readers import ALL_ROWS, Prepared, read
from docs_scenarios import scenario_of
from needs import require_system
from sandbox import NewSandbox, Sandbox


def _runs(page: Path) -> bool:
    """Whether anything of it is run: a page whose commands are all excused needs no sandbox."""
    scenario = scenario_of(page_name(page))
    done = commands_of(blocks_of(page.read_text(encoding="utf-8")))
    expected = [scenario.of(each) for each in done if isinstance(each, Command)]
    return any(not each.excuse and (ALL_ROWS or not each.long) for each in expected)


pytestmark = pytest.mark.timeout(7200 if ALL_ROWS else 600)
PAGES = [page for page in page_files() if _runs(page)]


@pytest.fixture(scope="module")
def prepared(new_sandbox: NewSandbox) -> Iterator[Prepared]:
    with new_sandbox() as sandbox:
        yield Prepared(sandbox=sandbox)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_page_is_true(page: Path, sandbox: Sandbox, prepared: Prepared) -> None:
    scenario = scenario_of(page_name(page))
    for program in scenario.before.needs:
        require_system(shutil.which(program), program)
    for name, kind in scenario.before.environments.items():
        prepared.bring(kind, sandbox.root / "desk" / name)
    read(page, scenario, sandbox)

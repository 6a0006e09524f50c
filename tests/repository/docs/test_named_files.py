"""Files and modules of this repository that a page names exist."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.docs.pages import ROOT, page_files, page_name, without_code

PAGES = [*page_files(), *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md"))]
ROOMS = {path.name for path in (ROOT / "fastinstall").iterdir() if path.is_dir()}
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()}

ELSEWHERE = {
    "PIL/_version.py": "of Pillow",
    "PIL/__init__.py": "of Pillow",
    "models/channel.py": "of conda",
    "tests/golden": "which `pytest --renew-golden` makes",
    "_fastinstall_guard/__init__.py": "in site-packages; in hooks/ in the repository",
    "_fastinstall_guard/warning.py": "in site-packages; in hooks/ in the repository",
    "_fastinstall_guard/process_tree.py": "in site-packages; in hooks/ in the repository",
}
"""Names that look like files of ours, with their real owners."""

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SOURCE = re.compile(r"[\w.-]+(?:/[\w.-]+)+\.(?:py|c|h)")
_DATA = re.compile(r"(?P<room>[\w.-]+)(?:/[\w.-]+)+\.(?:toml|json|md|sh|yml)")
_IDENTIFIER = re.compile(r"_?[a-z]+(?:_[a-z]+)+|_?[A-Z]\w*[A-Za-z]")
_MODULE = re.compile(r"(?P<room>[a-z_]+)/[a-z_0-9/]+")


def find_missing(text: str, tracked: frozenset[str]) -> list[str]:
    """Return file names in code spans that no tracked path ends with, and names of modules that do not exist."""

    def missing() -> Iterator[str]:
        for name in _CODE.findall(without_code(text)):
            bare = name.partition("#")[0].rstrip("/")
            if bare in ELSEWHERE or re.search(r"[<>*$ ]", bare):
                continue
            within = _DATA.fullmatch(bare) or _MODULE.fullmatch(bare)
            ours = _SOURCE.fullmatch(bare) or (within and within["room"] in ROOMS | FOLDERS)
            if ours and not _is_there(bare, tracked):
                yield name

    return list(missing())


def _is_there(name: str, tracked: frozenset[str]) -> bool:
    ends = (f"/{name}", f"/{name}.py")
    return any(f"/{path}".endswith(ends) or f"/{path}/".find(f"/{name}/") >= 0 for path in tracked)


@cache
def _tracked() -> frozenset[str]:
    argv = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no checkout: git cannot tell which files are of the repository")
    return frozenset(line for line in listed.stdout.splitlines() if (ROOT / line).exists())


@cache
def _list_code_words() -> frozenset[str]:
    texts = ((ROOT / path).read_text("utf-8") for path in _tracked() if path.endswith((".py", ".toml", ".h")))
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_named_file_is_there(page: Path) -> None:
    assert find_missing(page.read_text("utf-8"), _tracked()) == []


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/how-to/extend.md"])
def test_every_identifier_of_an_instruction_is_in_the_code(page: str) -> None:
    spans = _CODE.findall(without_code((ROOT / page).read_text("utf-8")))
    named = {span for span in spans if _IDENTIFIER.fullmatch(span)}
    assert named
    assert named - _list_code_words() == set()


def test_a_file_that_is_gone_is_found() -> None:
    tracked = frozenset({"fastinstall/proof/cases.py", "docs/figures.toml"})
    text = "`proof/cases.py`, `proof/tolerances.py`, `proof/cases`, `proof/quick`, `rules/versions.py`, `a b/c.py`"
    assert find_missing(text, tracked) == ["proof/tolerances.py", "proof/quick", "rules/versions.py"]

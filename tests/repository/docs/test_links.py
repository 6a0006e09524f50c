"""Every relative link in the repository's Markdown has an existing target."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("docs", "tests", "recipes", "hooks", "benchmarks", "findings")
FILES = sorted([*ROOT.glob("*.md"), *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.md"))])
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def _prose(file: Path) -> str:
    """Return the file's text without code: brackets in code are no links."""
    text = re.sub(r"^```.*?^```", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?: {4}|\t).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]+`(?!\])", "", text)


def _links(file: Path) -> Iterator[tuple[Path, str]]:
    for link in _LINK.findall(_prose(file)):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield (file.parent / path if path else file), anchor


def _anchors(file: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_is_markdown_to_look_at() -> None:
    assert {"README.md", "CONTRIBUTING.md"} <= {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_relative_links_resolve(file: Path) -> None:
    broken = [str(target) for target, _ in _links(file) if not target.exists()]
    assert broken == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_anchors_of_relative_links_resolve(file: Path) -> None:
    anchored = [(target, anchor) for target, anchor in _links(file) if anchor and target.suffix == ".md"]
    assert [f"{target}#{anchor}" for target, anchor in anchored if anchor not in _anchors(target)] == []

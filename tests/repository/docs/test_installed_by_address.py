"""No command that readers may copy installs fastinstall by a name that anyone could register on the package index."""

import re
from pathlib import Path

import pytest
from support.docs.pages import ROOT

FILES = [
    *(path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md"),
    *(
        path
        for folder in ("docs", "examples", "integrations", "hooks", "recipes")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".md", ".yml", ".yaml", ".sh", ".toml", ".py"} and path.name != "release.md"
    ),
]
"""All files except the page on releases, which describes commands that a release makes possible."""

INSTALLING = re.compile(
    r"\b(?:(?:pip3?|pipx|uv pip|uv tool) (?:install|upgrade)|uv add|uvx|pipx run)\b(?P<words>[^|;&`#\n]*)"
)
NAME = re.compile(r"(?:^|\s)['\"]?fastinstall(?:\[[\w,-]+\])?(?:[=<>~!]=?[^'\"\s]*)?['\"]?(?=\s|$)")


def find_installed_by_name(text: str) -> list[str]:
    """Return commands that install `fastinstall` from a configured index, and variables that contain that name."""
    commands = [found[0] for found in INSTALLING.finditer(text) if NAME.search(found["words"])]
    of_index = [command for command in commands if "--no-index" not in command]
    return [*of_index, *re.findall(r"(?m)^\s*FASTINSTALL[:=] *['\"]?fastinstall\b[^/\n]*$", text)]


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_none_is(path: Path) -> None:
    assert find_installed_by_name(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "python -m pip install fastinstall",
        "pip install --upgrade 'fastinstall[conda]'",
        "uv tool install fastinstall==1.0.0",
        "uvx fastinstall setup",
        "      FASTINSTALL: fastinstall # as pip takes it",
    ],
)
def test_the_name_is_found(line: str) -> None:
    assert find_installed_by_name(line)


@pytest.mark.parametrize(
    "line",
    [
        "uv tool install ./fastinstall",
        "pip install --no-index --find-links ./wheelhouse/tool fastinstall",
        "pip install git+https://git.example.org/fastinstall",
        "pip install pillow; fastinstall doctor",
    ],
)
def test_an_address_or_a_directory_is_no_name(line: str) -> None:
    assert not find_installed_by_name(line)

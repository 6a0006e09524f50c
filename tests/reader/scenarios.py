"""What a page of the documentation presupposes, and what its commands may do: data in tests/cases/docs/.

A page's file is named after its path: docs/how-to/undo.md has docs-how-to-undo.toml, README.md has README.toml. A page
without one presupposes nothing, and each of its commands ends with 0. A section that is followed in a sandbox of its
own has a file with its anchor, which holds from there to the next such section: docs-how-to-guard-project.poetry.toml
for `## Poetry`. Keys:

    [before]
    environments = { env = "fast" }   directory to kind: fast, stock, empty
    active = "env"                    the environment that the shell has activated
    files = { "a.txt" = "..." }       written into the directory where the reader works
    commands = ["..."]                run before the page's first
    variables = { CI = "1" }          of the shell
    needs = ["docker"]                programs; without them the page is skipped, and fails in continuous integration

    [words]                           replaced wherever a command or a shown file has them, the longest first;
    "8000" = "{port}"                 {root} is the sandbox, {port} a free one, {checkout} and {version} ours;
                                      python3.11 is always the running Python

    [[command]]                       for every command whose text starts with `is`; one that matches none is an error
    is = "fastinstall doctor swapped"
    exit = 3                          how it ends, where that is not 0
    excuse = "root"                   not run; a name of excuses.toml, which says why and for which commands
    instead = "..."                   run in its place
    brings = ["poetry"]               what tests/reader/provided.py has there, from this command on
    before = "...", after = "..."     run before it and after it
    answer = "--new-env ./fork"       further words behind `fastinstall VERB`; what asks at the terminal gets `--yes`
    long = "a reason"                 run with --every-row only
    shows = true                      its output has the lines of the text block that follows
    says = ["..."]                    its output has these
    because = "..."                   why any of this
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from support.docs.pages import ROOT, Command, page_files, page_name, section_of

CASES = ROOT / "tests" / "cases" / "docs"
_EXCUSES = CASES / "excuses.toml"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What holds for commands that start with `is_`; the keys of `[[command]]`."""

    is_: str
    exit: int = 0
    excuse: str = ""
    instead: str = ""
    brings: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    answer: str = ""
    long: str = ""
    shows: bool = False
    says: tuple[str, ...] = ()
    because: str = ""

    def is_about(self, command: Command) -> bool:
        """Whether a command starts with its words."""
        return _spaced(command.text).startswith(_spaced(self.is_))


@dataclass(frozen=True, kw_only=True)
class Before:
    """What a page presupposes; the keys of `[before]`."""

    environments: Mapping[str, str] = field(default_factory=dict)
    active: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """All that is said of a page."""

    before: Before = Before()
    words: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[Expected, ...] = ()

    def of(self, command: Command) -> Expected:
        """What holds for a command: the entry with most words that is about it."""
        about = [expected for expected in self.commands if expected.is_about(command)]
        return max(about, key=lambda expected: len(expected.is_), default=Expected(is_=""))


@dataclass(frozen=True, kw_only=True)
class Excuse:
    """Why commands of a kind are not run here.

    Attributes:
        reason: a sentence.
        commands: what they look like, as a regular expression; nothing else is excused by it.
    """

    reason: str
    commands: str

    def holds_for(self, command: str) -> bool:
        """Whether it is for such commands."""
        return re.search(self.commands, command) is not None


@dataclass(frozen=True, kw_only=True)
class Part:
    """A page, or as much of it as is followed in one sandbox.

    Attributes:
        page: its file.
        section: the anchor of its first heading; empty for the beginning of the page.
        others: the anchors of all parts of the page but the first.
    """

    page: Path
    section: str = ""
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`docs/how-to/undo.md`, `docs/how-to/undo.md#section`."""
        return page_name(self.page) + (f"#{self.section}" if self.section else "")

    @property
    def text(self) -> str:
        """What stands in it; each line has the number that it has in the page."""
        text = self.page.read_text(encoding="utf-8")
        return section_of(text, self.section, self.others) if self.others else text


def page_parts() -> list[Part]:
    """The parts of README.md and of every page below docs/."""
    found: list[Part] = []
    for page in page_files():
        stem = scenario_file(page_name(page)).stem
        others = tuple(sorted(file.stem.removeprefix(f"{stem}.") for file in CASES.glob(f"{stem}.*.toml")))
        found += [Part(page=page, section=section, others=others) for section in ("", *others)]
    return found


def scenario_file(part: str) -> Path:
    """Where the scenario of `docs/how-to/undo.md` lies, or of `docs/how-to/undo.md#section`."""
    page, _, section = part.partition("#")
    return CASES / f"{page.removesuffix('.md').replace('/', '-')}{section and '.'}{section}.toml"


def scenario_of(part: str) -> Scenario:
    """The scenario of a page or of a section; one that presupposes nothing where it has no file."""
    file = scenario_file(part)
    if not file.is_file():
        return Scenario()
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    unknown = set(content) - {"before", "words", "command"}
    assert not unknown, f"{file}: unknown keys {unknown}"
    return Scenario(
        before=Before(**_frozen(content.get("before", {}))),
        words=content.get("words", {}),
        commands=tuple(map(_expected, content.get("command", ()))),
    )


@cache
def excuses() -> Mapping[str, Excuse]:
    """By name."""
    content = tomllib.loads(_EXCUSES.read_text(encoding="utf-8"))
    return {name: Excuse(**excuse) for name, excuse in content.items()}


def _expected(entry: Mapping[str, Any]) -> Expected:
    return Expected(**{"is_" if key == "is" else key: value for key, value in _frozen(entry).items()})


def _frozen(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _spaced(text: str) -> str:
    return " ".join(text.split())

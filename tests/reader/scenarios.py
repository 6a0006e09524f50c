"""Scenarios, read from tests/cases/docs/: what a page of the documentation needs, and what its commands must do.

A page's file is named after its path: docs/how-to/undo.md has docs-how-to-undo.toml, README.md has README.toml. A page
without a file needs nothing, and each of its commands exits with 0. A section may have its own file, named after page
and anchor: docs-how-to-guard-project.poetry.toml for `## Poetry`. Then it is followed in its own sandbox, up to the
next section with a file. Keys:

    [before]
    environments = { env = "fast" }   kinds by directory: fast, stock, empty
    active = "env"                    the environment that the shell has activated
    files = { "a.txt" = "..." }       files to write into the working directory
    commands = ["..."]                commands to run before the page's first
    variables = { CI = "1" }          environment variables of the shell
    needs = ["docker"]                programs; if one is missing, the page is skipped (in CI, it fails)

    [words]                           replacements in every command and shown file, longest first;
    "8000" = "{port}"                 {root} is the sandbox, {port} a free port, {checkout} and {version} are ours;
                                      python3.11 is always replaced by the running Python

    [[command]]                       for every command that starts with `is`; an entry without a command is an error
    is = "fastinstall doctor swapped"
    exit = 3                          the exit code, if not 0
    excuse = "root"                   do not run it; a name in excuses.toml, which has the reason for it
    instead = "..."                   the command to run in its place
    brings = ["poetry"]               things that tests/reader/provided.py provides, from this command on
    before = "...", after = "..."     commands to run before and after it
    answer = "--new-env ./fork"       words to add after `fastinstall VERB`; verbs that ask always get `--yes`
    long = "a reason"                 run it only with --every-row
    shows = true                      the output must contain the lines of the next text block
    says = ["..."]                    the output must contain these texts
    because = "..."                   the reason for this entry
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
    """The keys of `[[command]]`: what is expected of commands that start with `is_`."""

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
        """Return True if a command starts with the words of `is_`."""
        return _spaced(command.text).startswith(_spaced(self.is_))


@dataclass(frozen=True, kw_only=True)
class Before:
    """The keys of `[before]`: what a page needs."""

    environments: Mapping[str, str] = field(default_factory=dict)
    active: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The scenario of a page or section: all keys of its file."""

    before: Before = Before()
    words: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[Expected, ...] = ()

    def of(self, command: Command) -> Expected:
        """Return the longest entry that matches a command; an empty entry if none does."""
        about = [expected for expected in self.commands if expected.is_about(command)]
        return max(about, key=lambda expected: len(expected.is_), default=Expected(is_=""))


@dataclass(frozen=True, kw_only=True)
class Excuse:
    """A reason why some commands are never run.

    Attributes:
        reason: the reason, as a sentence.
        commands: a regular expression; only commands that it matches may have this excuse.
    """

    reason: str
    commands: str

    def holds_for(self, command: str) -> bool:
        """Return True if this excuse may be used for a command."""
        return re.search(self.commands, command) is not None


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of a page that is followed in one sandbox: a section, or the rest of the page.

    Attributes:
        page: the page's file.
        section: anchor of the part's heading; empty for the beginning of the page.
        others: anchors of all sections of the page that are parts of their own.
    """

    page: Path
    section: str = ""
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The part's name: `docs/how-to/undo.md` or `docs/how-to/undo.md#section`."""
        return page_name(self.page) + (f"#{self.section}" if self.section else "")

    @property
    def text(self) -> str:
        """The part's text, in which lines keep their numbers in the page."""
        text = self.page.read_text(encoding="utf-8")
        return section_of(text, self.section, self.others) if self.others else text


def page_parts() -> list[Part]:
    """List the parts of README.md and of every page in docs/."""
    found: list[Part] = []
    for page in page_files():
        stem = scenario_file(page_name(page)).stem
        others = tuple(sorted(file.stem.removeprefix(f"{stem}.") for file in CASES.glob(f"{stem}.*.toml")))
        found += [Part(page=page, section=section, others=others) for section in ("", *others)]
    return found


def scenario_file(part: str) -> Path:
    """Return the path of a part's scenario file; `part` is, for example, `docs/how-to/undo.md#section`."""
    page, _, section = part.partition("#")
    return CASES / f"{page.removesuffix('.md').replace('/', '-')}{section and '.'}{section}.toml"


def scenario_of(part: str) -> Scenario:
    """Return the scenario of a page or section; if it has no file, return an empty scenario."""
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
    """Return all excuses by name."""
    content = tomllib.loads(_EXCUSES.read_text(encoding="utf-8"))
    return {name: Excuse(**excuse) for name, excuse in content.items()}


def _expected(entry: Mapping[str, Any]) -> Expected:
    return Expected(**{"is_" if key == "is" else key: value for key, value in _frozen(entry).items()})


def _frozen(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _spaced(text: str) -> str:
    return " ".join(text.split())

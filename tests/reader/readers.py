"""Follows a page of the documentation: runs its commands in order, in a sandbox for this page only."""

import os
import random
import re
import shutil
import socket
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from support.docs.pages import ROOT, Block, Command, blocks_of, commands_of
from support.environments.interpreters import running
from support.sandbox import AS_INSTALLED, Result, Sandbox, run
from support.suite import extent

from fastinstall import __version__
from reader.output import lines_missing
from reader.provided import Desk
from reader.scenarios import Expected, Scenario
from reader.shell import Shell, opened

ALL_ROWS = extent.every_row
SECONDS = 1800.0 if ALL_ROWS else 1200.0
"""Time limit of a command, in seconds."""

TOOLS = (
    "uv",
    "uvx",
    "shellcheck",
    "hadolint",
    "mkdocs",
    "ansible",
    "ansible-galaxy",
    "ansible-playbook",
    "ansible-doc",
)
"""Programs of the tests' own environment that are on the PATH of pages."""

_PYTHONS = {
    **{f"python{sign}{version}": f"python{sign}{running()}" for version in ("3.11", "3.12") for sign in ("", "=")},
    **{tag: f"cp{str(running()).replace('.', '')}" for tag in ("cp311", "cp312")},
}
"""Replaces the Python versions on pages by the one that runs the tests."""

_ASKS = re.compile(r"\bfastinstall (?:setup|apply|rollback|guard (?:install|remove|accept)|doctor(?=.* --fix))(?= |$)")
_ASKS_NOT = re.compile(r" --yes\b| -y\b| --list\b| --dry-run\b")
_ABSOLUTE = r"(?<![\w./~$}-])/(?=(?:srv|opt|mnt|scratch|shared)/)"


@dataclass(frozen=True, kw_only=True)
class Reader:
    """The person who follows a page at a terminal.

    Attributes:
        desk: the place where the commands run.
        scenario: the scenario of the page.
        shell: the open shell.
        replaced: words of the page and their replacements in the sandbox.
    """

    desk: Desk
    scenario: Scenario
    shell: Shell
    replaced: Mapping[str, str] = field(default_factory=dict)

    def follow(self, text: str) -> None:
        """Run the commands of a page, and write the files that it shows."""
        for done in commands_of(blocks_of(text)):
            if isinstance(done, Command):
                self._do(done, self.scenario.of(done))
            else:
                self._write(done)

    def prepare(self) -> None:
        """Run the scenario's commands that precede the page."""
        for command in self.scenario.before.commands:
            self._aside(command)

    def _do(self, command: Command, expected: Expected) -> None:
        if expected.excuse or (expected.long and not ALL_ROWS):
            return
        for name in expected.brings:
            self._run(self.desk.bring(name))
        self._aside(expected.before)
        text = expected.instead or consented(command.text, expected.answer)
        result = self.shell.run(self._script(text) if command.is_script else self.here(text))
        assert result.exit_code == expected.exit, f"line {command.line}: {_told(command, result)}"
        missing = lines_missing(self.here(command.output), result.text) if expected.shows else []
        missing += [words for words in expected.says if lines_missing(self.here(words), result.text)]
        assert not missing, f"line {command.line} does not print {missing}: {_told(command, result)}"
        self._aside(expected.after)

    def _aside(self, command: str) -> None:
        self._run(self.here(command))

    def _run(self, command: str) -> None:
        if command:
            result = self.shell.run(command)
            assert result.exit_code == 0, f"of the scenario: {command}\n{result.text}"

    def _script(self, text: str) -> str:
        file = self.desk.work / "script-of-the-page"
        file.write_text(self.here(text) + "\n", encoding="utf-8")
        file.chmod(0o755)
        return str(file)

    def _write(self, block: Block) -> None:
        file = self.desk.work / Path(self.here(block.file).replace("~", str(self.desk.sandbox.root / "home"), 1))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.here(block.text) + "\n", encoding="utf-8")

    def here(self, text: str) -> str:
        """Return a text of the page with its paths and words replaced by those of this machine."""
        words = "|".join(re.escape(word) for word in sorted(self.replaced, key=len, reverse=True))
        pattern = f"{words}|{_ABSOLUTE}"
        return re.sub(pattern, lambda found: self.replaced.get(found[0], f"{self.desk.sandbox.root}/"), text)


def read(text: str, scenario: Scenario, sandbox: Sandbox) -> None:
    """Run the commands of a page, and compare each result with the scenario.

    The caller must have put the environments that the scenario lists into the sandbox's directory `desk`.

    Raises:
        AssertionError: the result of a command differs from the scenario.
    """
    work, notes = sandbox.root / "desk", sandbox.root / "notes"
    for directory in (work, notes, *(sandbox.root / name for name in ("srv", "opt", "mnt"))):
        directory.mkdir(exist_ok=True)
    for name, content in scenario.before.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(content, encoding="utf-8")
    variables = _variables(sandbox, scenario, work)
    places = {
        "{root}": str(sandbox.root),
        "{port}": str(_free_port()),
        "{checkout}": str(ROOT),
        "{version}": __version__,
    }
    replaced = {word: _filled(text, places) for word, text in scenario.words.items()} | _PYTHONS
    with ExitStack() as until_read, opened(work, notes, variables, seconds=SECONDS) as shell:
        desk = Desk(sandbox=sandbox, work=work, until_read=until_read)
        reader = Reader(desk=desk, scenario=scenario, shell=shell, replaced=replaced)
        reader.prepare()
        reader.follow(text)


def _variables(sandbox: Sandbox, scenario: Scenario, work: Path) -> dict[str, str]:
    path = f"{_programs(sandbox)}{os.pathsep}{os.environ['PATH']}"
    own: dict[str, str | None] = {
        "PATH": path,
        "PIP_FIND_LINKS": None,
        "PIP_REQUIRE_VIRTUALENV": "1",
        "USER": "reader",
        **scenario.before.variables,
    }
    if scenario.before.active:
        prefix = work / scenario.before.active
        own |= {"VIRTUAL_ENV": str(prefix), "PATH": f"{prefix}/bin{os.pathsep}{path}"}
    return sandbox.variables(own)


def _programs(sandbox: Sandbox) -> Path:
    """Return a directory with the programs that pages use: fastinstall, the tests' base interpreter, and TOOLS."""
    directory = sandbox.root / "bin"
    directory.mkdir()
    python = running()
    ours = {"fastinstall": f'"{sys.executable}" {" ".join(AS_INSTALLED)} -P -m fastinstall'}
    ours |= dict.fromkeys(("python", "python3", f"python{python}"), f'"{python.executable}"')
    ours |= {name: f'"{tool}"' for name in TOOLS if (tool := Path(sys.executable).with_name(name)).exists()}
    for name, command in ours.items():
        (directory / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        (directory / name).chmod(0o755)
    return directory


def consented(command: str, answer: str = "") -> str:
    """Add --yes and the words in `answer` to a command that asks at the terminal; return other commands unchanged."""
    if not _ASKS.search(command) or _ASKS_NOT.search(command):
        return command
    words = " ".join(filter(None, ("--yes", answer)))
    return _ASKS.sub(lambda found: f"{found[0]} {words}", command)


def _filled(text: str, places: Mapping[str, str]) -> str:
    for place, here in places.items():
        text = text.replace(place, here)
    return text


def _free_port() -> int:
    """Choose a free port below the range that the kernel assigns to other sockets (ip(7))."""
    while True:
        port = random.randrange(20_000, 32_768)  # noqa: S311 (no secret)
        with socket.socket() as opened_socket, suppress(OSError):
            opened_socket.bind(("127.0.0.1", port))
            return port


def _told(command: Command, result: Result) -> str:
    return f"{command.text}\nexit code {result.exit_code}\n{result.text[-6000:]}"


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Environments that pages need, each built once, and copied for each page.

    Attributes:
        sandbox: contains the environments that are copied.
    """

    sandbox: Sandbox

    def bring(self, kind: str, prefix: Path) -> None:
        """Copy an environment to `prefix`: "empty", "stock" (with today's Pillow), "fast" ("stock" after a setup)."""
        pristine = self.sandbox.root / kind
        if not pristine.exists():
            self._make(kind)
        prefix.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(pristine, prefix, symlinks=True)
        for script in prefix.glob("bin/pip*"):
            script.write_text(script.read_text(encoding="utf-8").replace(str(pristine), str(prefix)), encoding="utf-8")

    def _make(self, kind: str) -> None:
        if kind == "empty":
            self.sandbox.venv(running(), name=kind)
            return
        prefix = self.sandbox.root / kind
        self.bring({"stock": "empty", "fast": "stock"}[kind], prefix)
        commands = {
            "stock": (prefix / "bin/python", "-m", "pip", "install", "--quiet", "pillow"),
            "fast": (sys.executable, "-m", "fastinstall", "setup", "--yes", "--quiet", "--prefix", prefix),
        }
        result = run(commands[kind], self.sandbox.variables())
        assert result.exit_code == 0, result.text

"""A cell of the swap matrix: a command's effect on the stack, the report of that effect, and the printed repair."""

import re
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass

from e2e.swap_matrix.scene import Column, Scene
from support.sandbox import Result, tree_hash
from support.suite import extent
from support.terminal.pseudo_terminal import Terminal, python_in_terminal

REMOVED = "was removed"
"""A removal leaves no record of the tool; only a guard that runs at the end of pip can name it."""

WARNING = "fastinstall: "
_QUESTION = re.compile(r"\(\s*[Yy]\s*/\s*[Nn]\s*\)$")
_TREE = """
import importlib.util, subprocess, sys
if importlib.util.find_spec("PIL"):
    import PIL.Image
if len(sys.argv) == 1:
    sys.exit(subprocess.run([sys.executable, __file__, "a child"]).returncode)
"""
_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The effect of a command on the stack.

    Attributes:
        change: the guard's words for the change, with placeholders for versions; empty if the stack is kept.
        tool: the tool that the guard names; empty if no record of the tool is left.
        told: when the guard reports the change: at the "end" of the command, "during" it, or at the next "import".
        refused: whether the command fails.
        required: whether an installed distribution requires the replacement; the repair then is to accept the
            replacement.
    """

    change: str = ""
    tool: str = ""
    told: str = ""
    refused: bool = False
    required: bool = False

    def __str__(self) -> str:
        """Describe the outcome in a few words, for the table."""
        if not self.change:
            return "kept, refused" if self.refused else "kept"
        way = "accepted" if self.required else "repaired"
        return f"{self.change.removeprefix('was ')}; {way}"


KEPT = Outcome()
REFUSED = Outcome(refused=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A command line and its expected effects.

    Attributes:
        command: the command line, with placeholders for versions, such as "{older}".
        unpinned: the effect on a stack without pins.
        pinned: the effect on a pinned stack.
        manager: the set-up for the command: an environment for "pip" and "uv-pip", a project for the others.
        activated: whether the environment is activated.
        alike: whether another row covers the same code path, so that this row runs only with --every-row.
    """

    command: str
    unpinned: Outcome
    pinned: Outcome
    manager: str = "pip"
    activated: bool = True
    alike: bool = False

    def expected(self, column: Column) -> Outcome:
        """Return the expected effect in a column."""
        return self.pinned if column is Column.PINNED else self.unpinned


def played(rows: Iterable[Row]) -> list[tuple[Row, Column]]:
    """Return the cells to run: with --every-row, all cells of the published page.

    By default, only every sixth row runs in the unguarded column, because fastinstall does nothing there.
    """
    if extent.every_row:
        return [(row, column) for row in rows for column in Column]
    usual = [row for row in rows if not row.alike]
    return [(row, column) for row in usual for column in Column if column is not Column.UNGUARDED or row in usual[::6]]


def called(cell: Row | Column) -> str:
    """Return the part of a test's id for a row or a column."""
    return cell.command if isinstance(cell, Row) else str(cell)


def play(scene: Scene, row: Row, column: Column) -> None:
    """Run the command on an intact stack, and check the effect, the report and the repair."""
    scene.put_back(row.manager, column)
    expected = row.expected(column)
    done = scene.shell(_command(scene, row, column), activated=row.activated)
    assert (done.exit_code != 0) is expected.refused, done.text
    if not expected.change:
        assert _warnings(done) == []
        assert_in_order(scene)
        return
    assert not scene.is_ours
    hint = _discovered(scene, expected, done) if column is Column.UNGUARDED else _told(scene, expected, done)
    state = _state(scene, column, hint, expected.required)
    if state not in scene.repaired:
        _follow(scene, hint, expected)
        assert_in_order(scene, ours=not expected.required)
        scene.repaired.add(state)


def assert_in_order(scene: Scene, *, ours: bool = True) -> None:
    """Assert that the core is ours (or not), and that neither `doctor` nor the guard reports anything."""
    assert scene.is_ours is ours
    examined = scene.shell("fastinstall doctor --quick --prefix .venv")
    assert examined.exit_code == 0, examined.text
    imported = _import(scene)
    assert (imported.exit_code, imported.text) == (0, "")


def _command(scene: Scene, row: Row, column: Column) -> str:
    """Return the command line; with pins for uv, it first reads the pin's variables from their file."""
    site = scene.venv.site_packages.relative_to(scene.project)
    command = row.command.format(**scene.published.versions, site=site)
    pinned_by_variables = column is Column.PINNED and row.manager == "uv-pip"
    return f". .venv/share/fastinstall/pin/environment.sh && {command}" if pinned_by_variables else command


def _discovered(scene: Scene, expected: Outcome, done: Result) -> str:
    """Assert that only `doctor` reports the change, as there is no guard; return the command that it prints."""
    assert _warnings(done) == _warnings(_import(scene)) == []
    examined = scene.shell("fastinstall doctor --quick --prefix .venv")
    assert examined.exit_code == 3, examined.text
    (line,) = (line for line in examined.stdout.splitlines() if re.match(r"\s*error\s+swapped\s", line))
    assert expected.change == REMOVED or expected.tool in line, line
    return _hint(examined.stdout)


def _told(scene: Scene, expected: Outcome, done: Result) -> str:
    """Assert that the guard reports the change once and names the right tool; return the command that it prints."""
    at_once = _warnings(done)
    speaking = done if expected.told != "import" else _import(scene)
    if expected.told == "import":
        assert at_once == []
    assert len(_warnings(speaking)) == 1, f"told {len(_warnings(speaking))} times by:\n{speaking.text}"
    (warning,) = _warnings(speaking)
    by = f" by {expected.tool}" if expected.tool else ""
    change = expected.change.format(**scene.published.versions)
    story = f"{WARNING}the fast Pillow {scene.published.same} in {scene.venv.prefix} {change}{by}"
    when = "" if expected.told == "end" or not by else r", \d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.fullmatch(re.escape(story) + when, warning), warning
    return _hint(speaking.stderr)


def _state(scene: Scene, column: Column, *more: object) -> str:
    """Return a digest of the replaced stack: if two rows lead to the same stack, only one repair is tried.

    Bytecode, which contains times, and RECORD, which lists bytecode, are left out.
    """
    paths = tree_hash(scene.venv.site_packages).items()
    there = sorted(item for item in paths if item[0].lower().startswith(("pil/", "pillow")))
    return str((column, more, [item for item in there if not item[0].endswith((".pyc", "/RECORD"))]))


def _follow(scene: Scene, command: str, expected: Outcome) -> None:
    """Run the repair command in a terminal and answer yes; if refused, run the `guard accept` that it prints."""
    code, text = _pasted(scene, command)
    if expected.required:
        assert code == 5, text
        code, text = _pasted(scene, _accepting(text))
    assert code == 0, text


def _pasted(scene: Scene, command: str) -> tuple[int, str]:
    argv = ("-c", "import os, sys; os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])", command)
    with python_in_terminal(*argv, variables=scene.variables(), directory=scene.project) as shown:
        _say_yes(shown)
        return shown.end(), shown.raw.decode()


def _say_yes(shown: Terminal) -> None:
    """Answer each question with yes until the program ends."""
    answered, deadline = "", time.monotonic() + _SECONDS
    while shown._read(deadline):
        assert time.monotonic() < deadline, shown.text
        if shown.words != answered and _QUESTION.search(shown.words):
            answered = shown.words
            shown.press("y")


def _accepting(text: str) -> str:
    """Return the command `fastinstall guard accept` from the text of a refusal."""
    found = re.search(r"fastinstall guard accept [^\r\n`;]+", text)
    assert found, text
    return found.group().strip()


def _import(scene: Scene) -> Result:
    """Run a program that imports PIL and starts a child process that does the same."""
    program = scene.sandbox.root / "program.py"
    program.write_text(_TREE)
    return scene.shell(shlex.join([".venv/bin/python", str(program)]))


def _warnings(result: Result) -> list[str]:
    return [line for line in result.text.splitlines() if line.startswith(WARNING)]


def _hint(text: str) -> str:
    """Return the repair command that the guard prints on its hint line, or `doctor` in its last line."""
    found = re.search(r"^(?:\s*hint:|.*\)\. Fix [a-z0-9 ]+:) (fastinstall .*)$", text, re.MULTILINE)
    assert found, text
    return found.group(1)

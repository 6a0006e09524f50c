"""Progress lines, as a terminal shows them while a stage runs."""

import signal
import sys
from contextlib import AbstractContextManager

from support.sandbox import Sandbox, Variables, run
from support.terminal.pseudo_terminal import Terminal, python_in_terminal

PROGRAM = """
import os, sys, time
from fastinstall.cli.console import Console, is_dumb, page_for
from fastinstall.cli.progress import progress_listener
from fastinstall.core.events import Finished, Noted, Progressed, Started

make_page = lambda stream: page_for(stream, os.environ, colourless=False, verbose=False)
with progress_listener(Console(make_page=make_page, lines_only=is_dumb(os.environ))) as show:
    show(Started(stage="compile", message="compiling it"))
    show(Progressed(stage="compile", done=0, total=0))
    show(Progressed(stage="compile", done=2100, total=8400))
    if sys.argv[1:] == ["slowly"]:
        time.sleep(30)
    show(Noted(message="something is odd", warning=True))
    show(Progressed(stage="compile", done=8400, total=8400))
    show(Finished(stage="compile", message="compiled it", seconds=3.25))
"""
LINES = "compiling Pillow\nwarning: something is odd"
SHOW_CURSOR, HIDE_CURSOR = b"\x1b[?25h", b"\x1b[?25l"


def test_a_terminal_shows_a_live_line_and_is_left_as_it_was(sandbox: Sandbox) -> None:
    with _program(sandbox, "slowly") as shown:
        shown.expect("compiling Pillow, 2100 of 8400, ")
        shown.resize(40)
        shown.expect("..., 2100 of 8400, ")
        assert shown.raw.isascii()
        shown.process.send_signal(signal.SIGINT)
        shown.end()
        assert "2100 of 8400" not in shown.text
        assert shown.raw.rindex(SHOW_CURSOR) > shown.raw.rindex(HIDE_CURSOR)


def test_what_remains_of_a_line_is_what_should_be_read(sandbox: Sandbox) -> None:
    with _program(sandbox) as shown:
        assert shown.end() == 0
        assert shown.text == LINES.partition("\n")[2]


def test_a_terminal_that_knows_only_lines_gets_lines(sandbox: Sandbox) -> None:
    with _program(sandbox, changes={"TERM": "dumb"}) as shown:
        assert shown.end() == 0
        assert shown.text == LINES
        assert b"\x1b" not in shown.raw


def test_there_a_line_tells_every_so_often_how_it_stands(sandbox: Sandbox) -> None:
    program = PROGRAM.replace("with progress_listener(", "with ProgressLines(patience=0.2, console=")
    program = program.replace("import progress_listener", "import ProgressLines")
    variables = sandbox.variables({"TERM": "dumb"})
    with python_in_terminal("-c", program, "slowly", variables=variables, directory=sandbox.root) as shown:
        after = shown.expect(" s so far", after=shown.expect("still compiling Pillow, 2100 of 8400, "))
        shown.expect("still compiling Pillow, 2100 of 8400, ", after=after)
        shown.process.send_signal(signal.SIGINT)
        shown.end()
        assert b"\x1b" not in shown.raw


def test_without_a_terminal_lines_come_and_rich_is_not_loaded(sandbox: Sandbox) -> None:

    done = run((sys.executable, "-c", PROGRAM + "\nassert 'rich' not in sys.modules"), sandbox.variables())
    assert (done.exit_code, done.stderr.rstrip(), done.stdout) == (0, LINES, "")


def _program(sandbox: Sandbox, *words: str, changes: Variables | None = None) -> AbstractContextManager[Terminal]:
    variables = sandbox.variables(changes)
    return python_in_terminal("-c", PROGRAM, *words, variables=variables, directory=sandbox.root)

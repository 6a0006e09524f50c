"""Record setup.svg, the screen at the end of a real run.

    python docs/pictures/record_setup.py [COMMAND...]

The default COMMAND is `setup --yes --new-env ./fast-env` of this checkout, in an empty directory. Run it twice, so that
the second run finds its downloads and the built wheel in the cache. Remove `speed/` from the cache in between, or the
second run shows the figures of the first. Other work on the machine changes the figures. pyte emulates the terminal,
and rich draws its screen. Needs the development tools (`sh bootstrap.sh test` installs them).
"""  # noqa: INP001 (a script, no package)

import fcntl
import io
import os
import pty
import re
import secrets
import struct
import subprocess
import sys
import termios
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS, LINES = 96, 300
COMMAND = ("setup", "--yes", "--new-env", "./fast-env")
_HOME = "/home/you"
_COLOURS = {"brown": "yellow", "default": None}
"""pyte's names of colours that rich calls otherwise."""


def run(command: tuple[str, ...], directory: Path) -> pyte.Screen:
    """Run a command in a terminal, and return its last screen.

    The screen shows a home directory instead of `directory`, with a name of the same length so that lines break at the
    same places, and the system's Python instead of the base Python.

    Raises:
        subprocess.CalledProcessError: the command failed.
    """
    printed = b""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    variables = {**os.environ, "PYTHONPATH": str(HERE.parents[1]), "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    for name in ("CI", "NO_COLOR", "VIRTUAL_ENV", "LINES"):
        variables.pop(name, None)
    argv = (sys.executable, "-P", "-m", "fastinstall", *command)
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, cwd=directory, env=variables) as process:  # noqa: S603 (our own program)
        os.close(theirs)
        try:
            while piece := os.read(ours, 65536):
                printed += piece
        except OSError:  # so Linux reports that the other end is closed
            pass
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv, printed)
    screen = pyte.Screen(COLUMNS, LINES)
    shown = printed.replace(bytes(directory), _HOME.encode())
    pyte.ByteStream(screen).feed(shown.replace(f"{sys.base_prefix}/bin".encode(), b"/usr/bin"))
    return screen


def text_of(screen: pyte.Screen) -> Text:
    """Return the text of a screen, with its colours."""
    found = Text()
    for number in range(screen.cursor.y):
        line = Text()
        cells = [screen.buffer[number][column] for column in range(COLUMNS)]
        for (foreground, bold), group in groupby(cells, key=lambda cell: (cell.fg, cell.bold)):
            colour = _COLOURS.get(foreground, foreground.replace("bright", "bright_"))
            colour = f"#{colour}" if colour and re.fullmatch(r"[0-9a-f]{6}", colour) else colour
            line.append("".join(cell.data for cell in group), Style(color=colour, bold=bold))
        line.rstrip()
        found.append(line.append("\n"))
    return found


def picture(text: Text, command: tuple[str, ...]) -> str:
    """Return the picture as SVG that refers to no other file."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bold green"), ("fastinstall " + " ".join(command), "bold")), soft_wrap=True)
    console.print(text, end="", soft_wrap=True)
    drawn = console.export_svg(title="fastinstall", unique_id="setup")
    drawn = re.sub(r"\s*@font-face \{.*?\n\s*\}\n", "\n", drawn, flags=re.DOTALL)
    return drawn.replace("font-family: Fira Code,", "font-family:").replace("Generated with Rich", "Recorded by")


if __name__ == "__main__":
    words = tuple(sys.argv[1:]) or COMMAND
    directory = Path("/tmp") / secrets.token_hex(2)  # noqa: S108 (as long as the name that the picture shows)
    directory.mkdir(mode=0o700)
    (HERE / "setup.svg").write_text(picture(text_of(run(words, directory)), words), encoding="utf-8")

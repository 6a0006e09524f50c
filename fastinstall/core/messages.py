"""Format parts of messages: shell quoting, commands, counts, sizes, and lists in a sentence. Pure."""

import re
import shlex
from collections.abc import Iterable
from pathlib import PurePath

_MINUTES_FROM = 90

PROGRAM = "fastinstall"
"""The program's name in values and saved documents; `spell_commands` adapts it for output."""

_COMMAND = re.compile(
    rf"(?:(?<![\w/.@-])|(?<=\\n)|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm))(?<!-m )(?<!uvx )(?<!pipx run )(?<!conda ){PROGRAM} "
    r"(?=(?:setup|plan|apply|doctor|rollback|guard|cache|bench|inspect|recipes|completion)\b|build -|VERB\b|-{1,2}\w)"
)
"""Matches the program's name in a command line within a text, even directly after a colour code, which ends in "m".

The verb "build" counts only if a flag follows: "the fastinstall build" is not a command.
"""


def spell_commands(text: str, program: str) -> str:
    """Return a text in which fastinstall commands use the name by which the program was called.

    >>> spell_commands("undo: fastinstall rollback --prefix DIR", "sh /x/bootstrap.sh")
    'undo: sh /x/bootstrap.sh rollback --prefix DIR'
    """
    return text if program == PROGRAM else _COMMAND.sub(lambda _: f"{program} ", text)


def quote(word: PurePath | str) -> str:
    r"""Return a word quoted for a shell, on one line.

    Control characters are escaped in the $'...' syntax of bash, zsh and POSIX 2024.

    >>> quote("a b"), quote("tab\there")
    ("'a b'", "$'tab\\011here'")
    """
    text = str(word)
    if not any(character < " " or character == "\x7f" for character in text):
        return shlex.quote(text)
    escaped = text.replace("\\", r"\\").replace("'", r"\'")
    return "$'" + "".join(f"\\{ord(each):03o}" if each < " " or each == "\x7f" else each for each in escaped) + "'"


def listing(items: Iterable[str], most: int | None = None) -> str:
    """Join items for a sentence; with `most`, list only that many and count the rest.

    >>> listing(["a", "b", "c"]), listing("abcdefghi", most=2)
    ('a, b and c', 'a, b and 7 more')
    """
    words = list(items)
    if most is not None and len(words) > most:
        words[most:] = [f"{len(words) - most} more"]
    if len(words) < 2:  # noqa: PLR2004 (two words are joined by "and")
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun: "1 image", "3 images"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def recover_command(prefix: PurePath) -> str:
    """Return the command that finishes or undoes an interrupted run; if no run was interrupted, it changes nothing."""
    return f"fastinstall rollback --interrupted --yes --prefix {quote(prefix)}"


def fix_command(prefix: PurePath) -> str:
    """Return the command that repairs an environment."""
    return f"fastinstall doctor --fix --prefix {quote(prefix)}"


def pin_command(project: PurePath, prefix: PurePath) -> str:
    """Return the command that pins an environment's stack in the project from which the environment is created."""
    place = quote(project)
    return f"fastinstall guard pin --prefix {quote(prefix)} --project {place} | git -C {place} apply"


def format_rough_duration(seconds: float) -> str:
    """Format an estimated duration, coarsely: "about 70 s", "about 3 min"."""
    if seconds < _MINUTES_FROM:
        return f"about {max(round(seconds, -1), 10):.0f} s"
    return f"about {round(seconds / 60)} min"


def format_bytes(count: int) -> str:
    """Format a number of bytes in units of powers of 1000: "22.5 MB"."""
    units = ("B", "kB", "MB", "GB", "TB")
    power = min((len(str(count)) - 1) // 3, len(units) - 1)
    return f"{count / 1000**power:.1f} {units[power]}" if power else f"{count} B"

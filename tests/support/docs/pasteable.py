"""Whether a command can be pasted into a shell, and is one of tools that are at hand on every machine."""

import shlex

from fastinstall.model.facts import Environment

TOOLS = frozenset({"cat", "env", "findmnt", "grep", "ls", "nm", "objdump", "ps", "readelf", "sha256sum", "strings"})
"""Of coreutils, util-linux, grep, procps and binutils: they read, and change nothing."""


def assert_can_be_pasted(command: str, environment: Environment) -> None:
    """One line, of those tools and the target's Python, joined by pipes, with nothing left unquoted."""
    assert "\n" not in command
    words = list(shlex.shlex(command.replace("2>&1", ""), posix=True, punctuation_chars=True))
    assert not {"&", "&&", ";", ">", "<", "||", "(", ")"} & set(words), command
    for program in _programs(words):
        assert program in {*TOOLS, str(environment.python)}, command


def _programs(words: list[str]) -> list[str]:
    """The first word of the command, and the one behind each pipe."""
    return [word for before, word in zip(["|", *words], words, strict=False) if before == "|"]

"""Checks that a command can be pasted into a shell, and uses only tools that every machine has."""

import shlex

from fastinstall.model.facts import Environment

TOOLS = frozenset({"cat", "env", "findmnt", "grep", "ls", "nm", "objdump", "ps", "readelf", "sha256sum", "strings"})
"""Tools of coreutils, util-linux, grep, procps and binutils that only read."""


def assert_can_be_pasted(command: str, environment: Environment) -> None:
    """Assert that a command is one line of quoted words, and starts only programs in TOOLS and the target's Python."""
    assert "\n" not in command
    words = list(shlex.shlex(command.replace("2>&1", ""), posix=True, punctuation_chars=True))
    assert not {"&", "&&", ";", ">", "<", "||", "(", ")"} & set(words), command
    for program in _programs(words):
        assert program in {*TOOLS, str(environment.python)}, command


def _programs(words: list[str]) -> list[str]:
    """Return the first word of the command, and the first word after each pipe."""
    return [word for before, word in zip(["|", *words], words, strict=False) if before == "|"]

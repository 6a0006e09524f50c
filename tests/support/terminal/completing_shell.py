"""A shell at which somebody types and presses TAB: the real one, in a pseudo-terminal."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.machine.needs import require_system
from support.terminal.pseudo_terminal import ENTER, Terminal, python_in_terminal

TAB, BEGINNING = "\t", "\x01"
PROMPT = "READY>"
_QUIET = {
    "bash": ("bash", "--noprofile", "--norc", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
_FIRST = {
    "bash": "PS1='{prompt} '; . {script}",
    "zsh": "PS1='{prompt} '; setopt interactive_comments; autoload -Uz compinit; compinit -D -u; . {script}",
    "fish": "function fish_prompt; echo '{prompt} '; end; source {script}",
}
_EXEC = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"


@dataclass(frozen=True, kw_only=True)
class Shell:
    """One that has read its completion script."""

    terminal: Terminal

    def completes(self, typed: str, becomes: str) -> None:
        """Type something and press TAB, and see what the line becomes; then make a comment of it."""
        start = len(self.terminal.words)
        self.terminal.press(typed, TAB)
        end = self.terminal.expect(becomes, after=start)
        self.terminal.press(BEGINNING, "#", ENTER)
        self.terminal.expect(PROMPT, after=end)

    def offers(self, typed: str, *words: str) -> None:
        """Press TAB twice, and see these words in this order. What is shown then is not tidied up: nothing follows."""
        start = len(self.terminal.words)
        self.terminal.press(typed, TAB, TAB)
        for word in words:
            start = self.terminal.expect(word, after=start)


@contextmanager
def shell(name: str, script: Path, variables: Mapping[str, str], directory: Path) -> Iterator[Shell]:
    """Start one.

    Args:
        name: "bash", "zsh" or "fish".
        script: what it reads first.
        variables: its environment.
        directory: where it runs.
    """
    require_system(shutil.which(name), f"the shell {name}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**variables, "PATH": path, "LC_ALL": "C.UTF-8"}
    words = ("-c", _EXEC, *_QUIET[name])
    with python_in_terminal(*words, variables=environment, directory=directory) as terminal:
        terminal.press(_FIRST[name].format(prompt=PROMPT, script=script), ENTER)
        terminal.expect(f"{PROMPT}", after=len(terminal.words))
        yield Shell(terminal=terminal)

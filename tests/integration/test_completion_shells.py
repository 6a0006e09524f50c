"""The completion scripts, at the prompts of real shells."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.machine.needs import require_system
from support.sandbox import NewSandbox, Sandbox
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
    """A shell that has read its completion script."""

    terminal: Terminal

    def completes(self, typed: str, becomes: str) -> None:
        """Type a text, press TAB, and expect the line to become `becomes`.

        Afterwards, make the line a comment, so that it never runs.
        """
        start = len(self.terminal.words)
        self.terminal.press(typed, TAB)
        end = self.terminal.expect(becomes, after=start)
        self.terminal.press(BEGINNING, "#", ENTER)
        self.terminal.expect(PROMPT, after=end)

    def offers(self, typed: str, *words: str) -> None:
        """Press TAB twice, and expect these words in this order.

        The listing stays on the screen and confuses later calls: call this method last.
        """
        start = len(self.terminal.words)
        self.terminal.press(typed, TAB, TAB)
        for word in words:
            start = self.terminal.expect(word, after=start)


@contextmanager
def shell(name: str, script: Path, variables: Mapping[str, str], directory: Path) -> Iterator[Shell]:
    """Start a shell.

    Args:
        name: "bash", "zsh" or "fish".
        script: the completion script, which the shell reads first.
        variables: the shell's environment variables.
        directory: the shell's working directory.
    """
    require_system(shutil.which(name), f"the shell {name}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**variables, "PATH": path, "LC_ALL": "C.UTF-8"}
    words = ("-c", _EXEC, *_QUIET[name])
    with python_in_terminal(*words, variables=environment, directory=directory) as terminal:
        terminal.press(_FIRST[name].format(prompt=PROMPT, script=script), ENTER)
        terminal.expect(f"{PROMPT}", after=len(terminal.words))
        yield Shell(terminal=terminal)


SHELLS = ("bash", "zsh", "fish")

UNIQUE = [
    ("doct", "fastinstall doctor"),
    ("doctor sw", "fastinstall doctor swapped"),
    ("doctor swapped simd", "fastinstall doctor swapped simd-active"),
    ("doctor --quick sw", "fastinstall doctor --quick swapped"),
    ("doctor --fail-on er", "fastinstall doctor --fail-on error"),
    ("doctor --fail-on=er", "fastinstall doctor --fail-on=error"),
    ("setup --rec", "fastinstall setup --recipe"),
    ("setup --recipe pillow-f", "fastinstall setup --recipe pillow-fast"),
    ("setup --allow vuln", "fastinstall setup --allow vulnerable"),
    ("setup --allow downgrade,vuln", "fastinstall setup --allow downgrade,vulnerable"),
    ("setup --levels x86-64-v3,x86-64-v2 --off", "--levels x86-64-v3,x86-64-v2 --offline"),
    ("build -o wh", "fastinstall build -o wheels\\ here"),
    ("apply plan-o", "fastinstall apply plan-of\\ mine.json"),
    ("apply 'plan-o", "fastinstall apply 'plan-of mine.json'"),
    ("guard ch", "fastinstall guard check"),
    ("guard check uv", "fastinstall guard check uv.lock"),
    ("recipes show pillow-s", "fastinstall recipes show pillow-simd"),
    ("completion z", "fastinstall completion zsh"),
    ("setup --new-env=wh", "fastinstall setup --new-env=wheels\\ here"),
    ("setup --prefix wh", "fastinstall setup --prefix wheels\\ here"),
]
"""Typed texts, and the lines that they become at TAB."""


@pytest.fixture(scope="module")
def place(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    """Yield a home directory with known environments, of which one has been deleted, and some files."""
    with new_sandbox() as sandbox:
        home = Path(sandbox.variables()["HOME"])
        for directory in (sandbox.root / "wheels here", home / "known-env", home / "other-env"):
            directory.mkdir()
        for file in ("plan-of mine.json", "uv.lock"):
            (sandbox.root / file).touch()
        for name in ("known-env", "other-env"):
            (home / name / "pyvenv.cfg").touch()
        state = home / ".local/state/fastinstall"
        state.mkdir(parents=True)
        (state / "environments.txt").write_text(f"{home}/known-env\n{home}/gone-env\n{home}/other-env\n")
        for name in SHELLS:
            printed = sandbox.cli("completion", name, *(["--json"] if name == "fish" else []))
            script = printed.document["script"] if name == "fish" else printed.stdout
            (sandbox.root / f"script.{name}").write_text(script)
        yield sandbox


@pytest.mark.parametrize("name", SHELLS)
def test_at_a_real_prompt(name: str, place: Sandbox) -> None:
    with shell(name, place.root / f"script.{name}", place.variables(), place.root) as prompt:
        for typed, becomes in UNIQUE:
            prompt.completes(f"fastinstall {typed}", becomes)
        prompt.offers("fastinstall setup --prefix ", "known-env")

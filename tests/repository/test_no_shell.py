"""No argument is ever passed to a shell: code that could start one appears only in the files listed here."""

import ast
import re
from functools import cache
from pathlib import Path

import fastinstall

ROOT = Path(fastinstall.__file__).parent
STARTERS = frozenset(
    {
        *("os.system", "os.popen", "os.startfile", "pty.spawn", "commands.getoutput", "platform.popen"),
        *("subprocess.getoutput", "subprocess.getstatusoutput", "asyncio.create_subprocess_shell"),
        *("subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.Popen"),
        *("os.posix_spawn", "os.posix_spawnp", "asyncio.create_subprocess_exec"),
        *(
            f"os.{kind}{suffix}"
            for kind in ("exec", "spawn")
            for suffix in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
        ),
    }
)
WORDS = re.compile(
    r"subprocess|[pP]open|getoutput|spawn|\bpty\b|os\.system|os\.exec|os\.startfile|shell=|from os import"
    r"|[\"/](?:ba|da|z)?sh\"|/env\""
)
"""Every file that could start a process contains one of these words."""
SHELLS = ("sh", "bash", "dash", "zsh", "/bin/sh", "/bin/bash", "/usr/bin/env")
DOOR = {
    "core/process.py": {"subprocess.Popen"},
    "core/orphans.py": {"os.posix_spawn"},  # a constant script, to end commands that outlive fastinstall
    "observe/_operations.py": {"os.execv"},  # `_operations.py` runs itself again, in an isolated interpreter
}
"""Calls that start processes, by file; each takes a tuple of words."""
CONSTANT = ("core/orphans.py",)
"""Files that start a shell with a constant script: it reads only process ids, never a user's text."""
KNOWN = {
    "core/orphans.py": ("/bin/sh", "-c"),
    "wheelbuild/static_libraries.py": (
        "/bin/sh",
        "./configure",
    ),  # a shell script, run as a program: its arguments are never shell code
    "cli/parser.py": ("bash", "zsh", "fish"),  # shells whose completion is printed; none of them is started
    "observe/conda/executable.py": (
        "/bin/sh",
        "/bin/bash",
        "/usr/bin/env",
    ),  # texts to find in a script's first line; none of them is run
}
"""Tuples that begin with the name of a shell."""
DOCUMENTS = ("Completion", "shellcode")
"""Calls with an argument named `shell` that start nothing."""


@cache
def _nodes() -> tuple[tuple[str, ast.AST], ...]:
    """Return every node of the files that contain a word to check."""
    texts = ((path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in sorted(ROOT.rglob("*.py")))
    return tuple((file, node) for file, text in texts if WORDS.search(text) for node in ast.walk(ast.parse(text)))


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def test_processes_are_started_at_one_door() -> None:
    found: dict[str, set[str]] = {}
    for file, node in _nodes():
        if isinstance(node, ast.Attribute) and _name(node) in STARTERS:
            found.setdefault(file, set()).add(_name(node))
    assert found == DOOR


def test_nothing_is_handed_to_a_shell() -> None:
    for file, node in _nodes():
        if isinstance(node, ast.Call):
            assert _name(node.func) not in ("os.system", "os.popen", "pty.spawn"), file
            asked = [each.value for each in node.keywords if each.arg == "shell" and _name(node.func) not in DOCUMENTS]
            assert all(isinstance(value, ast.Constant) and not value.value for value in asked), file


def test_no_command_is_a_shell_with_a_text() -> None:
    seen: dict[str, tuple[object, ...]] = {}
    for file, node in _nodes():
        words = (
            [item.value for item in node.elts if isinstance(item, ast.Constant)]
            if isinstance(node, ast.Tuple | ast.List)
            else []
        )
        if words and words[0] in SHELLS:
            seen[file] = tuple(words)
            assert "-c" not in words or file in CONSTANT, file
    assert seen == KNOWN


def test_no_module_brings_a_shell_by_another_name() -> None:
    for file, node in _nodes():
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        module = node.module if isinstance(node, ast.ImportFrom) else ""
        assert "pty" not in names, file
        assert not (module in ("os", "subprocess") and {f"{module}.{name}" for name in names} & STARTERS), file

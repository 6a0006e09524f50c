"""Docstrings name only things that exist: exceptions under `Raises:`, and Python files in backticks."""

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "fastinstall"
MODULES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
FILES = {path.name for directory in ("hooks", "tests", "docs") for path in (PACKAGE.parent / directory).rglob("*.py")}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
RAISES = re.compile(r"^Raises:\n((?:    .*\n?|\n)*)", re.MULTILINE)
EXCEPTION = re.compile(r"^    ([\w.]+):", re.MULTILINE)
OF_OTHERS = frozenset({"__init__.py", "_version.py", "sitecustomize.py", "usercustomize.py"})
"""Files of Pillow and of Python's `site` that docstrings name."""


def test_each_exception_that_a_docstring_names_exists() -> None:
    names = {node.name for tree in MODULES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    unknown = {
        f"{where}: {exception}"
        for path, where, text in _list_docstrings()
        for section in RAISES.findall(text)
        for exception in EXCEPTION.findall(section)
        if exception not in names | _list_imports(path) and not hasattr(builtins, exception)
        if not _is_of_stdlib(exception)
    }
    assert not unknown


def test_each_python_file_that_a_docstring_names_exists() -> None:
    known = FILES | OF_OTHERS | {path.name for path in MODULES}
    unknown = {
        f"{where}: {name}"
        for _, where, text in _list_docstrings()
        for name in re.findall(r"(?<!`)`([\w.]+\.py)`(?!`)", text)
        if name not in known
    }
    assert not unknown


def _list_docstrings() -> Iterator[tuple[Path, str, str]]:
    """Yield the module, the name of the documented object, and the docstring."""
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            if text:
                yield path, f"{path.relative_to(PACKAGE)}: {getattr(node, 'name', 'module')}", text


def _is_of_stdlib(exception: str) -> bool:
    module, _, name = exception.rpartition(".")
    return module.partition(".")[0] in sys.stdlib_module_names and hasattr(import_module(module), name)


@cache
def _list_imports(path: Path) -> set[str]:
    """Return the names that a module imports, and the attribute expressions that it uses."""
    found = set()
    for node in ast.walk(MODULES[path]):
        if isinstance(node, ast.ImportFrom | ast.Import):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return found

"""A public function or class of the package has a unique name, so that a search for it has one result."""

import ast
from collections import defaultdict
from pathlib import Path

import fastinstall

PACKAGE = Path(str(fastinstall.__file__)).parent
ALIKE = {"checks", "adapters", "_stores", "tools", "commands", "operations"}
"""Folders whose modules share an interface: each module has the functions that the folder's package describes."""


def test_no_two_modules_define_one_public_name() -> None:
    defined = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        # A module with an underscore is a script for the target's Python, which imports nothing of ours.
        if not ALIKE & set(path.parts) and not path.name.startswith("_"):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                    defined[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: modules for name, modules in defined.items() if len(modules) > 1} == {}

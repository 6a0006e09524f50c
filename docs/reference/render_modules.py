"""Render the list of modules, grouped by subpackage, from the first lines of their docstrings.

Modules are parsed, not imported, because conda's plugin can only be imported where conda is installed.
"""

import ast
from collections.abc import Iterable
from pathlib import Path

from render_documents import table

import fastinstall

_PACKAGE = Path(fastinstall.__file__).parent
_HEAD = """\
# Modules

This page is generated from docstrings; do not edit it. It lists every module of `fastinstall/` by its room.
[How fastinstall works](../architecture.md) says how they work together. Modules whose names begin with an underscore
are left out: each runs in a process of its own, most of them in the target."""


def render_modules() -> str:
    """Return the text of docs/reference/modules.md."""
    rooms = sorted(path.parent for path in _PACKAGE.glob("*/__init__.py"))
    alone = _render_table(_PACKAGE.glob("conda_*.py"))
    return "\n\n".join((_HEAD, alone, *map(_render_room, rooms))) + "\n"


def _render_room(room: Path) -> str:
    public = (path for path in room.rglob("*.py") if not any(map(_is_private, path.relative_to(room).parts)))
    return "\n\n".join((f"## {room.name}", _read_first_line(room / "__init__.py"), _render_table(public)))


def _render_table(modules: Iterable[Path]) -> str:
    names = {path.relative_to(_PACKAGE).with_suffix("").as_posix(): path for path in modules}
    rows = ((f"`{name}`", _read_first_line(path)) for name, path in sorted(names.items()))
    return table(("module", "what it is"), rows)


def _is_private(name: str) -> bool:
    return name.startswith("_")


def _read_first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]

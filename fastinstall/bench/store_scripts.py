"""A store's file of `_stores/` as a script that stands by itself: `python prepare.py IMAGES OUT`, for good.

It is the code that the measured store was made by, with what it imports from its neighbours put in front of it.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from fastinstall.bench.store_kinds import StoreKind, kind_named
from fastinstall.model.images import Pipeline

_ABOUT = (
    *("NAME", "TITLE", "CAVEAT", "MODULES", "BRINGS", "IN_FILES", "DECODED", "SETTINGS", "PRIORITY"),
    "most_bytes",
)
"""What a file says of itself to us, and to nobody else."""


def render_script(name: str, pipeline: Pipeline) -> str:
    """The text of a script that makes a store of a whole directory of images.

    It goes on where it was interrupted and overwrites nothing; as a module it has `Reader`.

    Args:
        name: of the store.
        pipeline: what is done to every image; what of it matters stands in the script as `WANTED`.

    Raises:
        UsageError: there is no such store.
    """
    kind = kind_named(name)
    parts = [_Part(each) for each in _files(kind.file)]
    ending = 'if __name__ == "__main__":\n    main(make, WANTED)\n'
    wanted = f"WANTED = {json.dumps(_wanted(kind, pipeline))}"
    docstring = f'"""{parts[-1].docstring}"""'
    start = f"{docstring}\n\n{_imports(parts)}\n\n{wanted}"
    return "\n\n\n".join((start, *(part.body for part in parts), ending))


class _Part:
    """A file, taken apart."""

    def __init__(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        self.docstring = ast.get_docstring(tree, clean=False) or ""
        imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
        self.imports = [each for each in imports if not getattr(each, "level", 0)]
        self.body = _without(text, [*tree.body[:1], *imports, *_about(tree)])


def _imports(parts: list[_Part]) -> str:
    """List the names of all parts, each once."""
    whole: set[str] = set()
    named: dict[str, set[str]] = {}
    for each in (line for part in parts for line in part.imports):
        if isinstance(each, ast.ImportFrom):
            named.setdefault(each.module or "", set()).update(name.name for name in each.names)
        else:
            whole.update(name.name for name in each.names)
    froms = (f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(named.items()))
    return "\n".join((*(f"import {each}" for each in sorted(whole)), *froms))


def _files(file: Path) -> list[Path]:
    """A file after all that it imports from beside it."""
    found: list[Path] = []
    for each in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(each, ast.ImportFrom) and each.level:
            found.extend(path for path in _files(file.with_name(f"{each.module}.py")) if path not in found)
    return [*found, file]


def _about(tree: ast.Module) -> Iterator[ast.stmt]:
    for each in tree.body:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id in _ABOUT:
            yield each
        if isinstance(each, ast.FunctionDef) and each.name in _ABOUT:
            yield each


def _without(text: str, statements: list[ast.stmt]) -> str:
    lines = text.splitlines()
    gone = {number for each in statements for number in range(each.lineno - 1, each.end_lineno or each.lineno)}
    kept = (line.partition("  # noqa")[0] for number, line in enumerate(lines) if number not in gone)
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(kept)).strip()


def _wanted(kind: StoreKind, pipeline: Pipeline) -> dict[str, object]:
    return {"kind": kind.name, **{name: getattr(pipeline, name) for name in kind.settings}}

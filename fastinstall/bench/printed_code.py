"""Write a decoder or a store as code for the user's own project (`bench --print-code`).

It is a module with `load(path)`, or a script that makes a store, `python prepare.py IMAGES OUT`. The script is the code
of `_stores/` that made the measured store, with its neighbours' code included.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from fastinstall.bench.catalogue import Adapter, StoreKind, all_adapters, all_kinds
from fastinstall.bench.report import ImagePipeline
from fastinstall.core.errors import UsageError
from fastinstall.core.messages import quote


def render_code(name: str, pipeline: ImagePipeline) -> str:
    """Return the text of a Python module.

    For an adapter it has a function `load(path)`, as `bench --loader FILE` accepts it; for a store it is a script run
    as `python FILE IMAGES OUT`.

    Args:
        name: of an adapter or a store.
        pipeline: what is done to every image; assigned to names in the module.

    Raises:
        UsageError: no candidate of that name has code.
    """
    adapters = {each.name: each for each in all_adapters()}
    stores = {each.name: each for each in all_kinds()}
    if name in adapters:
        return _write_loader(adapters[name], pipeline)
    if name in stores:
        return _write_script(stores[name], pipeline)
    raise UsageError(f"no candidate named {name!r} has code", hint=f"choose from: {', '.join((*adapters, *stores))}")


def _write_loader(adapter: Adapter, pipeline: ImagePipeline) -> str:
    pillow = ("pillow",) if "PIL" in adapter.modules else ()
    requirements = " ".join(map(quote, dict.fromkeys((*adapter.brings, *pillow, "numpy"))))
    return f'''"""{adapter.title}: load(path) returns the picture in RGB, resized and cropped.

It needs: python -m pip install {requirements}
To measure it: fastinstall bench DIR --loader FILE
"""

SHORTER = {pipeline.shorter!r}  # length of the shorter side after the resize
CROP = {pipeline.crop!r}  # side of the centre crop, 0 for none
FILTER = "{pipeline.filter}"  # "bilinear", "bicubic" or "lanczos"

{adapter.loader.strip()}
'''


_ABOUT = (
    *("NAME", "TITLE", "CAVEAT", "MODULES", "BRINGS", "IN_FILES", "SETTINGS", "PRIORITY"),
    "most_bytes",
)
"""Text that a file says only to us."""


def _write_script(kind: StoreKind, pipeline: ImagePipeline) -> str:
    """Return a script that makes a store of a directory of images.

    It continues after an interruption and overwrites nothing; as a module it has `Reader`. Its part of the pipeline is
    assigned to `WANTED`.
    """
    parts = [_Part(each) for each in _list_files(kind.file)]
    wanted = json.dumps({"kind": kind.name, **{setting: getattr(pipeline, setting) for setting in kind.settings}})
    start = f'"""{parts[-1].docstring}"""\n\n{_merge_imports(parts)}\n\nWANTED = {wanted}'
    ending = 'if __name__ == "__main__":\n    main(make, WANTED)\n'
    return "\n\n\n".join((start, *(part.body for part in parts), ending))


class _Part:
    """A parsed file."""

    def __init__(self, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        self.docstring = ast.get_docstring(tree, clean=False) or ""
        imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
        self.imports = [each for each in imports if not getattr(each, "level", 0)]
        self.body = _remove_statements(text, [*tree.body[:1], *imports, *_find_metadata(tree)])


def _merge_imports(parts: list[_Part]) -> str:
    """Merge the imports of all parts, each name once."""
    whole: set[str] = set()
    named: dict[str, set[str]] = {}
    for each in (line for part in parts for line in part.imports):
        if isinstance(each, ast.ImportFrom):
            named.setdefault(each.module or "", set()).update(name.name for name in each.names)
        else:
            whole.update(name.name for name in each.names)
    froms = (f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(named.items()))
    return "\n".join((*(f"import {each}" for each in sorted(whole)), *froms))


def _list_files(file: Path) -> list[Path]:
    """Return a file after everything that it imports from its directory."""
    found: list[Path] = []
    for each in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(each, ast.ImportFrom) and each.level:
            found.extend(path for path in _list_files(file.with_name(f"{each.module}.py")) if path not in found)
    return [*found, file]


def _find_metadata(tree: ast.Module) -> Iterator[ast.stmt]:
    for each in tree.body:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id in _ABOUT:
            yield each
        if isinstance(each, ast.FunctionDef) and each.name in _ABOUT:
            yield each


def _remove_statements(text: str, statements: list[ast.stmt]) -> str:
    lines = text.splitlines()
    gone = {number for each in statements for number in range(each.lineno - 1, each.end_lineno or each.lineno)}
    kept = (line.partition("  # noqa")[0] for number, line in enumerate(lines) if number not in gone)
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(kept)).strip()

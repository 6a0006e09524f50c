"""Write a decoder or a store as code for the user's own project (`bench --print-code`).

A decoder becomes a module with `load(path)`; a store becomes a script that writes it, `python prepare.py IMAGES OUT`.
The script is the file of `_stores/` that was measured, together with the other files of `_stores/` that it imports.
"""

import json
import re
from pathlib import Path

from fastinstall.bench.catalogue import Way, all_ways
from fastinstall.bench.report import CandidateKind, ImagePipeline
from fastinstall.core.errors import UsageError
from fastinstall.core.messages import quote


def render_code(name: str, pipeline: ImagePipeline) -> str:
    """Return the source of a Python module for an adapter or a store.

    For an adapter, the module has a function `load(path)`, so `bench --loader FILE` can measure it. For a store, the
    module is a script that is run as `python FILE IMAGES OUT`.

    Args:
        name: name of an adapter or a store.
        pipeline: size, crop and filter, which the module assigns to constants.

    Raises:
        UsageError: no candidate of that name has code.
    """
    ways = {each.name: each for each in all_ways().values() if each.file != Path()}
    if name not in ways:
        known = ", ".join(ways)
        raise UsageError(f"no candidate named {name!r} has code", hint=f"choose from: {known}")
    way = ways[name]
    if way.kind is CandidateKind.STORAGE:
        return _write_script(way, pipeline)
    pillow = ("pillow",) if "PIL" in way.modules else ()
    requirements = " ".join(map(quote, dict.fromkeys((*way.brings, *pillow, "numpy"))))
    return f'''"""{way.title}: load(path) returns the picture in RGB, resized and cropped.

It needs: python -m pip install {requirements}
To measure it: fastinstall bench DIR --loader FILE
"""

SHORTER = {pipeline.shorter!r}  # length of the shorter side after the resize
CROP = {pipeline.crop!r}  # side of the centre crop, 0 for none
FILTER = "{pipeline.filter}"  # "bilinear", "bicubic" or "lanczos"

{way.loader.strip()}
'''


_LEFT_OUT = re.compile(
    r"^(TITLE|CAVEAT|MODULES|BRINGS|IN_FILES|SETTINGS|PRIORITY) = .*\n|^from \.\w+ import .*\n|  # noqa.*$",
    re.MULTILINE,
)
"""Parts of a file to leave out: constants for fastinstall, lint comments, and imports of files that are included."""


def _write_script(store: Way, pipeline: ImagePipeline) -> str:
    """Return a script that writes the images of a directory into a store; to read them, a program imports `Reader`."""
    wanted = json.dumps({"kind": store.name, **{setting: getattr(pipeline, setting) for setting in store.settings}})
    parts = [each.read_text(encoding="utf-8").split('"""', 2) for each in _list_files(store.file)]
    start = f'"""{parts[-1][1]}"""\n\nWANTED = {wanted}'
    ending = 'if __name__ == "__main__":\n    main(make, WANTED)\n'
    return "\n\n\n".join((start, *(_LEFT_OUT.sub("", code).strip() for _, _, code in parts), ending))


def _list_files(file: Path) -> list[Path]:
    """Return the files of the same directory that a file imports, directly or indirectly, and the file itself last."""
    files: list[Path] = []
    for name in re.findall(r"^from \.(\w+) import", file.read_text(encoding="utf-8"), re.MULTILINE):
        files.extend(path for path in _list_files(file.with_name(f"{name}.py")) if path not in files)
    return [*files, file]

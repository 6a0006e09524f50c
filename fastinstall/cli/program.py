"""How the user called this program, so that printed commands begin the same way.

Three callers leave no script behind that a shell could find by its name: bootstrap.sh, which says how it was called in
an option of the interpreter (not in a variable, which every child would inherit), uvx, and `pipx run`.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.messages import PROGRAM, quote

OPTION = "fastinstall-program"
"""The option (-X) by which bootstrap.sh says what calls it."""

_OF_UV = re.compile(r"archive-v\d+")
"""The directory in uv's cache with the environments of `uvx`; an installed tool's is called `tools`."""


def name_program(script: str, options: Mapping[str, str | bool], python: Path, search_path: str) -> str:
    """Return how this program was called.

    Args:
        script: `sys.argv[0]`.
        options: `sys._xoptions`.
        python: the interpreter that runs this program, in the environment that it is installed in.
        search_path: PATH.
    """
    prefix = python.parent.parent
    if isinstance(said := options.get(OPTION), str):
        return said
    if Path(script).name == "__main__.py":
        return f"{quote(python)} -m {PROGRAM}"
    if Path(script).name != PROGRAM:
        return PROGRAM  # a program of somebody's own, which calls main()
    runner = _find_runner(prefix)
    if runner is not None and not _has_own_source(prefix):
        return f"{runner} {PROGRAM}"
    # uvx puts its environment on PATH, and takes it away again
    if runner is None and _is_on_path(script, search_path):
        return PROGRAM
    return quote(Path(script).absolute())


def _find_runner(prefix: Path) -> str | None:
    """Return the command that made a temporary environment for this run, or None."""
    if _OF_UV.fullmatch(prefix.parent.name):
        return "uvx"
    kept = prefix.parent.name in ("pipx", ".cache") and "pipx" in prefix.parts
    return "pipx run" if kept else None


def _has_own_source(prefix: Path) -> bool:
    """Whether this program was installed from a file or repository: `uvx fastinstall` would then run the index's."""
    return any(prefix.glob(f"lib/python*/site-packages/{PROGRAM}-*.dist-info/direct_url.json"))


def _is_on_path(script: str, search_path: str) -> bool:
    """Whether a shell finds this script by its name."""
    for directory in search_path.split(os.pathsep):
        candidate = Path(directory, PROGRAM)
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return candidate.samefile(script)
    return False

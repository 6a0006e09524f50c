"""Find out how the user started this program, so that printed commands start it the same way.

Three launchers leave no script on PATH: bootstrap.sh, uvx and `pipx run`. bootstrap.sh passes its own command line in
an option of the interpreter, because child processes would inherit a variable.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.messages import PROGRAM, quote

OPTION = "fastinstall-program"
"""The interpreter option (-X) in which bootstrap.sh passes the command that started it."""

_OF_UV = re.compile(r"archive-v\d+")
"""Pattern for the directory in uv's cache that contains environments of `uvx`; installed tools are in `tools`."""


def name_program(script: str, options: Mapping[str, str | bool], python: Path, search_path: str) -> str:
    """Return the command that starts this program, quoted for a shell.

    Args:
        script: `sys.argv[0]`.
        options: `sys._xoptions`.
        python: the interpreter that runs this program, in the program's own environment.
        search_path: the value of PATH.
    """
    prefix = python.parent.parent
    if isinstance(said := options.get(OPTION), str):
        return said
    if Path(script).name == "__main__.py":
        return f"{quote(python)} -m {PROGRAM}"
    if Path(script).name != PROGRAM:
        return PROGRAM  # another program called our main()
    runner = _find_runner(prefix)
    # If this fastinstall did not come from an index, `uvx fastinstall` would run another version.
    has_own_source = any(prefix.glob(f"lib/python*/site-packages/{PROGRAM}-*.dist-info/direct_url.json"))
    if runner is not None and not has_own_source:
        return f"{runner} {PROGRAM}"
    # uvx puts its environment on PATH, but only for this run.
    if runner is None and _is_on_path(script, search_path):
        return PROGRAM
    return quote(Path(script).absolute())


def _find_runner(prefix: Path) -> str | None:
    """Return the launcher ("uvx", "pipx run") that made the environment for this run; None if it is permanent."""
    if _OF_UV.fullmatch(prefix.parent.name):
        return "uvx"
    kept = prefix.parent.name in ("pipx", ".cache") and "pipx" in prefix.parts
    return "pipx run" if kept else None


def _is_on_path(script: str, search_path: str) -> bool:
    """Return True if a shell finds this script by its name."""
    for directory in search_path.split(os.pathsep):
        candidate = Path(directory, PROGRAM)
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return candidate.samefile(script)
    return False

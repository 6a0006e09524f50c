"""Trees that earlier versions have left, as tests/cases/written_by_*/ hold them: put on a disk, and compared with one.

`BASE` stands for the directory that holds the environment `env` and the project; each directory has a README.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

Tree = dict[str, dict[str, Any]]

CASES = Path(__file__).parents[2] / "cases"


def read_case(case: Path, base: Path) -> str:
    """Return the text of a case, as if it had been written below a directory and by this interpreter."""
    text = case.read_text(encoding="utf-8")
    return text.replace("PYTHON_EXECUTABLE", sys.executable).replace("BASE", str(base))


def put_tree(case: Path, base: Path) -> Tree:
    """Put what was left on the disk, and return what was there before the run."""
    read = json.loads(read_case(case, base))
    for path, entry in read["now"].items():
        place = base / path
        if "link" in entry:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(entry["link"])
        elif "text" in entry:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(entry["text"], encoding="utf-8")
        else:
            place.mkdir(parents=True, exist_ok=True)
    for path, entry in sorted(read["now"].items(), reverse=True):
        if "mode" in entry:
            (base / path).chmod(int(entry["mode"], 8))
        if "mtime_ns" in entry:
            os.utime(base / path, ns=(entry["mtime_ns"], entry["mtime_ns"]), follow_symlinks=False)
    before: Tree = read["before"]
    return before


def read_tree(base: Path) -> Tree:
    """Return what lies below a directory now."""
    return {path.relative_to(base).as_posix(): _read_entry(path, base) for path in sorted(base.rglob("*"))}


def _read_entry(path: Path, base: Path) -> dict[str, Any]:
    """Times only of what lies in the environment: those of a project are nobody's promise."""
    status = path.lstat()
    times = {"mtime_ns": status.st_mtime_ns} if path.is_relative_to(base / "env") else {}
    if path.is_symlink():
        return {"link": str(path.readlink()), **times}
    entry = {"mode": oct(status.st_mode & 0o7777), **times}
    return {**entry, "text": path.read_text(encoding="utf-8")} if path.is_file() else entry


def find_differences(one: Tree, other: Tree, below: str = "") -> dict[str, Any]:
    """Return the entries that differ, of those whose path begins so."""
    paths = sorted(path for path in {*one, *other} if path.startswith(below))
    return {path: (one.get(path), other.get(path)) for path in paths if one.get(path) != other.get(path)}

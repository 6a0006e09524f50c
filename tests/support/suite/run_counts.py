"""Sums up several runs of pytest in one closing line, in pytest's own form."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

VARIABLE = "FASTINSTALL_TEST_COUNTS"
"""The variable with the directory into which each run of pytest writes its counts."""

_KINDS = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "error")


def write_counts(counts: Mapping[str, int], directory: Path) -> None:
    """Write the counts of this run."""
    directory.joinpath(f"{os.getpid()}.json").write_text(json.dumps(counts), encoding="utf-8")


def read_counts(directories: Iterable[Path]) -> Counter[str]:
    """Return the sum of the runs' counts."""
    total: Counter[str] = Counter()
    for directory in directories:
        for path in directory.glob("*.json"):
            total.update(json.loads(path.read_text(encoding="utf-8")))
    return total


def closing_line(counts: Mapping[str, int], seconds: float) -> str:
    """Return the line: "=== 2 failed, 6585 passed, 3 skipped in 162.74s (0:02:42) ==="."""
    plural = {"error": "errors"} if counts.get("error", 0) != 1 else {}
    said = ", ".join(f"{counts[kind]} {plural.get(kind, kind)}" for kind in _KINDS if counts.get(kind))
    hours, minutes = divmod(int(seconds) // 60, 60)
    lasted = f"{seconds:.2f}s ({hours}:{minutes:02}:{int(seconds) % 60:02})"
    return f" {said or 'no tests ran'} in {lasted} ".center(80, "=")

"""fastinstall's command line with a hook: `python -m faults.program SPECIFICATION WORD...`.

The specification is JSON: {"hook": "dies_at" | "dies_where" | "fails_at" | "signalled_at" | "notes",
"arguments": [...], "within": [DIRECTORY...], "notes": FILE}. With the key "notes", every boundary is written to FILE,
one JSON document per line.
"""

import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from faults.doors import Hook, Side, watched
from faults.hooks import Notes, dies_at, dies_where, fails_at, signalled_at


def main(words: Sequence[str]) -> int:
    """Run the command line, and return its exit code."""
    specification, *arguments = words
    asked: dict[str, Any] = json.loads(specification)
    from fastinstall.cli.main import main as program

    notes = Notes()
    hook = _hook(asked)
    try:
        with watched(hook or notes, within=[Path(path) for path in asked.get("within", ())]):
            return program(arguments)
    finally:
        if hook is None:
            lines = (json.dumps(asdict(boundary)) for boundary in notes.passed)
            Path(asked["notes"]).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _hook(asked: dict[str, Any]) -> Hook | None:
    match asked["hook"], asked.get("arguments", []):
        case "dies_at", [number, *side]:
            return dies_at(number, *map(Side, side))
        case "dies_where", [call, part]:
            return dies_where(call, part)
        case "dies_where", [call, part, side, *function]:
            return dies_where(call, part, Side(side), *function)
        case "fails_at", [number, error, *lasting]:
            return fails_at(number, error, lasting=bool(lasting and lasting[0]))
        case "signalled_at", [number, by]:
            return signalled_at(number, signal.Signals(by))
        case "notes", _:
            return None
        case other, _:
            raise ValueError(f"{other}: no such hook")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

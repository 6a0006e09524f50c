"""A few hostile documents before real verbs; `python tests/support/hostile/documents.py 2000` runs many."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "support/hostile/documents.py"


def test_hostile_documents_are_refused_by_name_and_hold_nothing_up() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "8", "7"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "'documents': 8" in done.stdout

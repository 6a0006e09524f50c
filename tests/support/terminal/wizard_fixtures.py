"""Fixtures of the wizard's tests."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_root() -> Iterator[Path]:
    """Yield a directory whose path always has the same length, so that lines that show it always break alike."""
    made = Path(tempfile.mkdtemp(prefix="fi", dir="/tmp"))
    yield made
    shutil.rmtree(made)

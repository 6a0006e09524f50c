"""Fixtures of the wizard's tests."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_root() -> Iterator[Path]:
    """Yield a directory whose path has the same length in every run, so that lines with the path wrap alike."""
    made = Path(tempfile.mkdtemp(prefix="fi", dir="/tmp"))
    yield made
    shutil.rmtree(made)

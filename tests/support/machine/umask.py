"""Run a block under another umask."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Set the umask of this process for the block."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)

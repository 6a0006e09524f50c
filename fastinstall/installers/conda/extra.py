"""What to say where a package of the extra "conda" is not installed beside fastinstall."""

import sys

from fastinstall.errors import RefusedError
from fastinstall.rules.messages import quote


def extra_missing(distribution: str) -> RefusedError:
    """The refusal, with the command that brings it."""
    return RefusedError(
        f"conda packages need {distribution}, which is not installed beside fastinstall",
        hint=f"{quote(sys.executable)} -m pip install 'fastinstall[conda]'",
    )

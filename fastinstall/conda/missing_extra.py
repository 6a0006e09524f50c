"""The refusal of what needs a package of the extra "conda" that is not installed beside fastinstall."""

import sys

from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import quote


def make_missing_extra_error(distribution: str) -> RefusedError:
    """Return the refusal, with the command that installs the extra."""
    return RefusedError(
        f"conda packages need {distribution}, which is not installed with fastinstall",
        hint=f"{quote(sys.executable)} -m pip install 'fastinstall[conda]'",
    )

"""The command that installs fastinstall as a plugin of the user's conda, for the wizard's last screen."""

import os
import re
import sys
from pathlib import Path

from fastinstall.core.messages import PROGRAM, quote

_PYTHON = re.compile(r"python-3\.(\d+)\.[^-]*-[^-]*\.json")
_OLDEST = 11


def offer_conda_plugin(root: Path, checkout: Path | None) -> str:
    """Return the command that installs it beside conda.

    Args:
        root: conda's own prefix ("base").
        checkout: what is installed; None for fastinstall of the package index.

    Returns:
        The command; empty if conda has the plugin, its Python is too old for it, or the user cannot write there.
    """
    minors = [
        int(found[1])
        for file in (root / "conda-meta").glob("python-3.*.json")
        if (found := _PYTHON.fullmatch(file.name))
    ]
    has_it = any(root.glob(f"lib/python3.*/site-packages/{PROGRAM}-*.dist-info")) or root == Path(sys.prefix)
    if has_it or not minors or max(minors) < _OLDEST or not os.access(root / "conda-meta", os.W_OK):
        return ""
    return f"{quote(root / 'bin' / 'python')} -m pip install {quote(checkout or PROGRAM)}"

"""Handwritten environments that are only read: the files that describe their contents, and no interpreter."""

import json
from pathlib import Path


def venv_by_hand(prefix: Path, python: str, *distributions: str, ours: str = "") -> Path:
    """Write a virtual environment.

    Args:
        prefix: the environment's path.
        python: version of its Python.
        distributions: its distributions, such as "pillow-13.0.0".
        ours: version of pillow in the receipt; empty for no receipt.
    """
    _distributions(prefix, python, distributions)
    (prefix / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {python}\n")
    if ours:
        receipt = prefix / "share" / "fastinstall" / "receipt.json"
        receipt.parent.mkdir(parents=True)
        receipt.write_text(json.dumps({"distribution": "pillow", "version": ours}))
    return prefix


def conda_by_hand(prefix: Path, python: str, *distributions: str) -> Path:
    """Write a conda environment; arguments are those of `venv_by_hand`."""
    _distributions(prefix, python, distributions)
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / f"python-{python}-h1_0_cpython.json").write_text("{}")
    return prefix


def _distributions(prefix: Path, python: str, distributions: tuple[str, ...]) -> None:
    site = prefix / "lib" / f"python{python.rpartition('.')[0]}" / "site-packages"
    site.mkdir(parents=True)
    for name in distributions:
        (site / f"{name}.dist-info").mkdir()

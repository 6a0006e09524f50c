"""Where recipes and hooks lie: in the installed package, or at the top of a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def recipes_directory() -> Path:
    """The directory of the recipes that come with fastinstall."""
    return _find("recipes")


def hooks_directory() -> Path:
    """The directory of the files that a guard puts into an environment."""
    return _find("hooks")


def _find(name: str) -> Path:
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name

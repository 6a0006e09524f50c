"""Which files can be judged, told by their names. Pure.

`FILES` is also the expression in .pre-commit-hooks.yaml, so that pre-commit passes exactly what can be judged.
"""

import re
from pathlib import PurePath

from fastinstall.model.locks import LockKind

_NAMES: dict[LockKind, str] = {
    LockKind.UV: r"uv\.lock",
    LockKind.POETRY: r"poetry\.lock",
    LockKind.PDM: r"pdm(\.[\w-]+)?\.lock",
    LockKind.PYLOCK: r"pylock(\.[^./]+)?\.toml",
    LockKind.PIPFILE: r"Pipfile\.lock",
    LockKind.PIXI: r"pixi\.lock",
    LockKind.CONDA_LOCK: r"([\w.-]+\.)?conda-lock\.ya?ml",
    LockKind.ENVIRONMENT: r"([\w.-]*[-_.])?(environment|env|condaenv)([-_.][\w.-]*)?\.ya?ml|conda\.ya?ml",
    LockKind.EXPLICIT: r"([\w.-]*[-_.])?(explicit|spec-file|spec-list)([-_.][\w.-]*)?\.txt|conda-[\w-]+\.lock",
    LockKind.REQUIREMENTS: r"([\w.-]*[-_.])?(requirements?|reqs?|constraints?|overrides?)([-_.][\w.-]*)?"
    r"\.(txt|in|pip|lock)|(requirements?|reqs?|constraints)/([\w.-]+/)?[\w.-]+\.(txt|in|pip)",
}
"""How the path ends, of each kind; those before go first. Sources: PEP 751 (pylock.toml) and each tool's manual."""

_KEPT = ".fastinstall"
"""Where a pin keeps a project's files as they were; nothing is installed from those."""

FILES = rf"^(?!(.*/)?\.fastinstall/)(.*/)?({'|'.join(_NAMES.values())})$"
"""Matches the path of a file that can be judged, with slashes."""

KNOWN = (
    "requirements*.txt, req*.txt, constraints*.txt, these as .in, .pip and .lock, too, uv.lock, poetry.lock, pdm.lock, "
    "pylock.toml, Pipfile.lock, pixi.lock, conda-lock.yml, environment.yml, env.yml, and conda's explicit lists"
)
"""The names, for a person."""

_EXPLICIT_MARK = "@EXPLICIT"


def kind_of(path: PurePath, text: str) -> LockKind | None:
    """The format of a file.

    Args:
        path: its name counts, and for requirements the directory that it lies in.
        text: a list of conda's is told by its mark, whatever it is called.

    Returns:
        None where it is none of those that can be judged.
    """
    if _KEPT in path.parts:
        return None
    if path.suffix == ".txt" and is_explicit(text):
        return LockKind.EXPLICIT
    shown = path.as_posix()
    for kind, pattern in _NAMES.items():
        if re.search(f"(^|/)({pattern})$", shown):
            return kind
    return None


def is_explicit(text: str) -> bool:
    """Whether a text is a list of URLs, as `conda list --explicit` prints it."""
    return any(line.strip() == _EXPLICIT_MARK for line in text.splitlines())

"""The formats of files from which a tool installs, and the names by which such files are known.

`FILES` is also the expression in .pre-commit-hooks.yaml, so that pre-commit passes exactly these.
"""

import re
from enum import StrEnum
from pathlib import PurePath


class LockKind(StrEnum):
    """The format of a file from which a tool installs."""

    REQUIREMENTS = "requirements"
    UV = "uv"
    POETRY = "poetry"
    PDM = "pdm"
    PYLOCK = "pylock"
    PIXI = "pixi"
    ENVIRONMENT = "environment"


_NAMES: dict[LockKind, str] = {
    LockKind.UV: r"uv\.lock",
    LockKind.POETRY: r"poetry\.lock",
    LockKind.PDM: r"pdm(\.[\w-]+)?\.lock",
    LockKind.PYLOCK: r"pylock(\.[^./]+)?\.toml",
    LockKind.PIXI: r"pixi\.lock",
    LockKind.ENVIRONMENT: r"([\w.-]*[-_.])?(environment|env|condaenv)([-_.][\w.-]*)?\.ya?ml|conda\.ya?ml",
    LockKind.REQUIREMENTS: r"([\w.-]*[-_.])?(requirements?|reqs?|constraints?|overrides?)([-_.][\w.-]*)?"
    r"\.(txt|in|pip|lock)|(requirements?|reqs?|constraints)/([\w.-]+/)?[\w.-]+\.(txt|in|pip)",
}
"""How the path ends, of each kind; those before go first. Sources: PEP 751 (pylock.toml) and each tool's manual."""


FILES = rf"^(.*/)?({'|'.join(_NAMES.values())})$"
"""Matches the path of a file that can be judged, with slashes."""


KNOWN = (
    "requirements*.txt, req*.txt, constraints*.txt, these as .in, .pip and .lock, too, uv.lock, poetry.lock, pdm.lock, "
    "pylock.toml, pixi.lock, environment.yml and env.yml"
)
"""The names, for a person."""


EXPORT = "export another format to one of them, such as: pipenv requirements > requirements.txt"
"""What to do with a lock that is none of those."""


def lock_kind_of(path: PurePath) -> LockKind | None:
    """Return the format of a file by its name, and for requirements by its directory; None if it cannot be judged.

    >>> lock_kind_of(PurePath("app/requirements-dev.txt")), lock_kind_of(PurePath("app/notes.txt"))
    (<LockKind.REQUIREMENTS: 'requirements'>, None)
    """
    kinds = (kind for kind, pattern in _NAMES.items() if re.search(f"(^|/)({pattern})$", path.as_posix()))
    return next(kinds, None)

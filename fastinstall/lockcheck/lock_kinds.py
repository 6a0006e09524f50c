"""The supported formats of requirement, lock and environment files, and the file names of each.

.pre-commit-hooks.yaml has the same pattern as `FILES`, so that pre-commit passes exactly these files.
"""

import re
from enum import StrEnum
from pathlib import PurePath


class LockKind(StrEnum):
    """The format of a requirement, lock or environment file."""

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
"""Pattern of the end of the path for each format; the first match counts. Sources: PEP 751, each tool's manual."""


FILES = rf"^(.*/)?({'|'.join(_NAMES.values())})$"
"""Pattern of the paths of supported files, with "/" between parts."""


KNOWN = (
    "requirements*.txt, req*.txt, constraints*.txt, these as .in, .pip and .lock, too, uv.lock, poetry.lock, pdm.lock, "
    "pylock.toml, pixi.lock, environment.yml and env.yml"
)
"""The supported names, for messages."""


EXPORT = "export another format to one of them, such as: pipenv requirements > requirements.txt"
"""Advice in messages about other lock files."""


def lock_kind_of(path: PurePath) -> LockKind | None:
    """Return the format of a file by its name or, for requirements, its directory; None if it is not supported.

    >>> lock_kind_of(PurePath("app/requirements-dev.txt")), lock_kind_of(PurePath("app/notes.txt"))
    (<LockKind.REQUIREMENTS: 'requirements'>, None)
    """
    kinds = (kind for kind, pattern in _NAMES.items() if re.search(f"(^|/)({pattern})$", path.as_posix()))
    return next(kinds, None)

"""Recognise lock files by name, and fastinstall's builds by names, versions and build strings in the files. Pure.

The name of a file says its format; .pre-commit-hooks.yaml has the same pattern as `FILES`, so that pre-commit passes
exactly these files. The names in a file say whether fastinstall made a build. Sources: file names of wheels (PEP 427),
local version labels (PEP 440), and conda's `NAME-VERSION-BUILD.conda`.
"""

import re
from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.architecture import LABEL_PATTERN
from fastinstall.core.version_numbers import normalise_distribution_name, parse_version_number

_LABEL = re.compile(rf"[a-z]+(?:\.(?:{LABEL_PATTERN}))+")
_BUILD = re.compile(rf"(?!py_)[a-z]+_(?:(?:{LABEL_PATTERN})+_py\d+t?_\d+|\*)")
_ENDS = (".whl", ".tar.gz", ".zip", ".tar.bz2", ".conda")
_ESCAPED_PLUS = re.compile("%2b", re.IGNORECASE)


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


def bears_our_label(version: str) -> bool:
    """Return whether a version has the local label of a fastinstall build, as in "13.0.0+simd.v2.v3".

    >>> bears_our_label("13.0.0+simd.v2.v3"), bears_our_label("13.0.0+cu126")
    (True, False)
    """
    return _LABEL.fullmatch(version.partition("+")[2]) is not None


def is_our_build(build: str) -> bool:
    """Return whether a conda build string or pattern names fastinstall builds: "simd_v2v3_py311_0", "simd_*".

    >>> is_our_build("simd_v2v3_py311_0"), is_our_build("py311h1b0a_0")
    (True, False)
    """
    return _BUILD.fullmatch(build) is not None


def is_same_release(one: str, other: str) -> bool:
    """Return whether two versions are equal apart from local labels and spelling (PEP 440).

    >>> is_same_release("13.0", "13.0.0+simd.v3"), is_same_release("13.0.0-rc.1", "13.0.0")
    (True, False)
    """
    bare, other_bare = (each.partition("+")[0].strip() for each in (one, other))
    try:
        return bare == other_bare or parse_version_number(bare) == parse_version_number(other_bare)
    except ValueError:
        return False


def file_name(source: str) -> str:
    """Return the last part of a path or URL, without query and fragment, and with "%2B" decoded.

    >>> file_name("https://host/a/pillow-13.0.0%2Bsimd.v3-py3-none-any.whl#sha256=0a")
    'pillow-13.0.0+simd.v3-py3-none-any.whl'
    """
    bare = source.partition("#")[0].partition("?")[0]
    return _ESCAPED_PLUS.sub("+", bare.rstrip("/").rpartition("/")[2])


def archive(source: str) -> tuple[str, str]:
    """Return name and version of the wheel or sdist at a path or URL; both empty if it is neither.

    >>> archive("wheels/pillow-13.0.0-cp311-cp311-linux_x86_64.whl")
    ('pillow', '13.0.0')
    """
    name = file_name(source)
    end = next((end for end in _ENDS if name.endswith(end)), "")
    if not end:
        return "", ""
    stem = name.removesuffix(end)
    if end == ".whl":
        named, version = f"{stem}-".split("-")[:2]
    else:
        named, _, version = stem.rpartition("-")
    return normalise_distribution_name(named), version


def conda_archive(source: str) -> tuple[str, str, str]:
    """Return name, version and build string of the conda package at a path or URL; all empty if it is not one.

    >>> conda_archive("linux-64/pillow-13.0.0-simd_v3_py311_0.conda")
    ('pillow', '13.0.0', 'simd_v3_py311_0')
    """
    name = file_name(source)
    end = next((end for end in (".conda", ".tar.bz2") if name.endswith(end)), "")
    match name.removesuffix(end).rsplit("-", 2):
        case [named, version, build] if end:
            return named.lower(), version, build
    return "", "", ""

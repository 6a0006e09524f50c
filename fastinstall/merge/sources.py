"""The C files of three source trees that a fork changed or brought, as texts.

Only what lies below src/ is looked at: setup.py, pyproject.toml and the package's Python files are upstream's own.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from fastinstall.model.immutable import immutable
from fastinstall.system import files

_DIRECTORY = "src"
_SUFFIXES = (".c", ".h")
_HEADER = re.compile(r"^(Name|Version):\s*(\S+)\s*$", re.MULTILINE)


@immutable
class Source:
    """One file that the fork changed or brought.

    Attributes:
        name: relative to the top directories, with slashes.
        base: its text before both changes, or None if it did not exist.
        upstream: its text in the tree merged into, or None if it does not exist.
        kernels: in the fork.
    """

    name: str
    base: str | None
    upstream: str | None
    kernels: str

    @property
    def basename(self) -> str:
        """Its name without directories."""
        return self.name.rpartition("/")[2]


def read_sources(base: Path, upstream: Path, kernels: Path) -> tuple[Source, ...]:
    """What the fork changed or brought, by name.

    Args:
        base: top directory of what both started from.
        upstream: top directory of what is merged into.
        kernels: top directory of the fork.

    Raises:
        OSError: a file cannot be read.
    """
    return tuple(
        Source(name=name, base=_text(base / name), upstream=_text(upstream / name), kernels=_text(kernels / name) or "")
        for name in _names(kernels)
        if _content(base / name) != _content(kernels / name)
    )


def write_source(tree: Path, name: str, text: str) -> None:
    """Put a file's text into a tree, durably and at once; bytes that were no UTF-8 come out as they were."""
    files.write_bytes(tree / name, text.encode("utf-8", "surrogateescape"))


def label(tree: Path) -> str:
    """Name and version of an unpacked sdist ("pillow 13.0.0"), or the directory's name where it does not say."""
    information = _text(tree / "PKG-INFO")
    found = dict(_HEADER.findall((information or "").partition("\n\n")[0]))
    if "Name" in found and "Version" in found:
        return f"{found['Name'].lower()} {found['Version']}"
    return tree.name


def _names(tree: Path) -> Iterator[str]:
    for path in sorted((tree / _DIRECTORY).rglob("*")):
        if path.suffix in _SUFFIXES and path.is_file() and ".egg-info" not in str(path.relative_to(tree)):
            yield path.relative_to(tree).as_posix()


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _text(path: Path) -> str | None:
    content = _content(path)
    return None if content is None else content.decode("utf-8", "surrogateescape")

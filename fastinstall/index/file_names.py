"""What the name of an sdist or a wheel says, and which wheel tags a target can install (PEP 425)."""

from collections.abc import Iterator

from packaging.tags import Tag, cpython_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from fastinstall.core.values import immutable
from fastinstall.model.facts import Interpreter

_LEGACY = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}  # PEP 600
_LEAST = {"manylinux": (2, 5), "musllinux": (1, 0)}  # PEP 600, PEP 656
_FAMILIES = {"glibc": "manylinux", "musl": "musllinux"}


@immutable
class FileName:
    """What the name of an sdist or a wheel says.

    Attributes:
        name: of the distribution, normalised.
        version: the version of the distribution.
        tags: of a wheel; empty for an sdist.
    """

    name: str
    version: Version
    tags: frozenset[Tag]

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel, and not an sdist."""
        return bool(self.tags)


def parse_filename(filename: str) -> FileName | None:
    """Parse the name of an sdist or a wheel; None for anything else.

    >>> name = parse_filename("pillow-13.0.0+simd.v3-cp311-cp311-manylinux_2_28_x86_64.whl")
    >>> name.name, str(name.version), name.is_wheel
    ('pillow', '13.0.0+simd.v3', True)
    >>> parse_filename("SHA256SUMS") is None
    True
    """
    try:
        if filename.endswith(".whl"):
            name, version, _build, tags = parse_wheel_filename(filename)
            return FileName(name=name, version=version, tags=tags)
        name, version = parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    return FileName(name=name, version=version, tags=frozenset())


def list_supported_tags(interpreter: Interpreter) -> dict[Tag, int]:
    """Return the wheel tags that a target can install, with their rank (0 is the best).

    The last ones are for wheels that were built on this very kind of machine ("linux_x86_64").
    """
    python = _parse_release(interpreter.version)
    architecture = interpreter.machine.replace("-", "_").replace(".", "_")
    newest = _parse_release(interpreter.libc_version)
    platforms = (*list_libc_platforms(interpreter.libc, newest, architecture), f"linux_{architecture}")
    tags = cpython_tags(python, abis=[interpreter.abi], platforms=platforms)
    return {tag: rank for rank, tag in enumerate(tags)} if interpreter.implementation == "cpython" else {}


def list_libc_platforms(libc: str, newest: tuple[int, int], architecture: str) -> Iterator[str]:
    """Yield the platform tags that a C library accepts, the best first (PEP 600, PEP 656).

    Args:
        libc: "glibc" or "musl"; another accepts none.
        newest: its version, of which the first tag is.
    """
    family = _FAMILIES.get(libc)
    if family is None or newest[0] != _LEAST[family][0]:
        return
    major, least = _LEAST[family]
    for minor in range(newest[1], least - 1, -1):
        yield f"{family}_{major}_{minor}_{architecture}"
        if family == "manylinux" and (major, minor) in _LEGACY:
            yield f"{_LEGACY[major, minor]}_{architecture}"


def _parse_release(version: str) -> tuple[int, int]:
    parts = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return (parts[0], parts[1]) if len(parts) == 2 else (0, 0)  # noqa: PLR2004 (major and minor)

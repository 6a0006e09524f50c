"""What the name of an sdist or a wheel says."""

from packaging.tags import Tag
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from fastinstall.core.values import immutable


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

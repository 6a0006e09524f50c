"""Version numbers, compared as PEP 440 has it. Pure."""

from typing import TYPE_CHECKING

from fastinstall.rules.ranges import is_plain

if TYPE_CHECKING:
    from packaging.version import Version


def base_version(version: str) -> str:
    """The version of Pillow that a version follows: "12.1.1.post0" and "12.1.1+simd.v3" follow "12.1.1".

    Raises:
        ValueError: not a version (PEP 440).
    """
    if is_plain(version):
        return version
    found = parsed(version)
    return found.base_version + "".join(map(str, found.pre or ()))


def parsed(version: str) -> "Version":
    """A version that can be compared.

    Raises:
        ValueError: not a version (PEP 440).
    """
    from packaging.version import Version  # noqa: PLC0415 (slow to import; only where versions are compared)

    return Version(version)

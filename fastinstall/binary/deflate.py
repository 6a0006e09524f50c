"""Which zlib a file is or contains: zlib itself, zlib-ng under names of its own, or zlib-ng in zlib's place.

A file that was compiled against zlib-ng's headers has zlib-ng's version among its strings, and may be bound to the
host's zlib all the same: that string alone counts for nothing. What counts is that the file offers the functions,
or holds the code's own messages.

Sources: inftrees.c, deflate.c, inflate.c, zutil.c of zlib from 1.2.0 to 1.3.2 and of zlib-ng from 2.0.0 to 2.3.3.
"""

import re

from fastinstall.binary.contents import Contents, Identity

KIND = "zlib"
_ENTRY, _ENTRY_OF_NG = "inflate", "zng_inflate"
FUNCTIONS = (_ENTRY, _ENTRY_OF_NG)
"""Which functions of a file to ask about."""

_MESSAGES = (b"invalid distance too far back\0", b"incorrect header check\0")
_NG_VERSION = re.compile(rb" zlib-ng (\d+\.\d+\.\d+[\w.]*)")
_NG_AS_ZLIB = b".zlib-ng\0"
_VERSIONS = (
    re.compile(rb" inflate (\d+(?:\.\d+)+) Copyright"),
    re.compile(rb" deflate (\d+(?:\.\d+)+) Copyright"),
)


def find_zlib(contents: Contents) -> Identity | None:
    """Identify the zlib that a file is or contains; None for one that has none."""
    shared = bool(contents.offered.intersection(FUNCTIONS))
    if not shared and not all(message in contents.constants for message in _MESSAGES):
        return None
    implementation, version = _implementation(contents)
    return Identity(kind=KIND, implementation=implementation, version=version, inside=not shared)


def _implementation(contents: Contents) -> tuple[str, str]:
    compatible = _ENTRY in contents.offered or _NG_AS_ZLIB in contents.constants
    version = contents.text(_NG_VERSION)
    if _ENTRY_OF_NG in contents.offered or (version and not compatible):
        return "zlib-ng", version
    if version or _NG_AS_ZLIB in contents.constants:
        return "zlib-ng compat", version
    version = next(filter(None, map(contents.text, _VERSIONS)), "")
    return ("zlib", version) if version else ("", "")

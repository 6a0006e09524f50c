"""Tell zlib itself, zlib-ng under names of its own, and zlib-ng in zlib's place.

A file compiled against zlib-ng's headers has zlib-ng's version among its strings, and may be bound to the host's zlib
all the same, so that string alone counts for nothing. What counts is that the file exports the functions, or holds the
code's own messages. Sources: inftrees.c, deflate.c, inflate.c, zutil.c of zlib from 1.2.0 to 1.3.2 and of zlib-ng from
2.0.0 to 2.3.3.
"""

import re

from fastinstall.elf.searched_file import Identity, SearchedFile

ZLIB = "zlib"

_INFLATE, _INFLATE_OF_NG = ZLIB_FUNCTIONS = "inflate", "zng_inflate"

_MESSAGES = (b"invalid distance too far back\0", b"incorrect header check\0")

_NG_VERSION = re.compile(rb" zlib-ng (\d+\.\d+\.\d+[\w.]*)")

_NG_AS_ZLIB = b".zlib-ng\0"

_VERSIONS = (
    re.compile(rb" inflate (\d+(?:\.\d+)+) Copyright"),
    re.compile(rb" deflate (\d+(?:\.\d+)+) Copyright"),
)


def find_zlib(contents: SearchedFile) -> Identity | None:
    """Return the zlib that a file is or contains, or None if it only uses one."""
    shared = bool(contents.offered.intersection((_INFLATE, _INFLATE_OF_NG)))
    if not shared and not all(message in contents.constants for message in _MESSAGES):
        return None
    compatible = _INFLATE in contents.offered or _NG_AS_ZLIB in contents.constants
    version = contents.text(_NG_VERSION)
    if _INFLATE_OF_NG in contents.offered or (version and not compatible):
        implementation = "zlib-ng"
    elif version or _NG_AS_ZLIB in contents.constants:
        implementation = "zlib-ng compat"
    else:
        version = next(filter(None, map(contents.text, _VERSIONS)), "")
        implementation = "zlib" if version else ""
    return Identity(kind=ZLIB, implementation=implementation, version=version, inside=not shared)

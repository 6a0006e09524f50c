"""Which files of a conda environment matter to PIL, whosever they are: its own, and libjpeg's and libtiff's."""

import re

from fastinstall.probes.conda_glance import Glance

CLOBBERED = "__clobbers__"
"""The directory that py-rattler moves files into which another package has in the same place."""

_MATTERING = re.compile(
    rf"(?:{CLOBBERED}/[^/]+/)?"
    r"(?:(?:.*/)?site-packages/PIL/.*"
    r"|lib/lib(?:jpeg|turbojpeg|tiff)[^/]*"
    r"|include/(?:jpeglib|jconfig|jmorecfg|jerror|tiff[^/]*)\.h)",
    re.DOTALL,
)
_INSIDE = b"packages/PIL/"
_ASIDE = f'"{CLOBBERED}/'.encode()
_BEGINNINGS = {
    b'"lib/lib': (b"jpeg", b"turbojpeg", b"tiff"),
    b'"include/': (b"jpeglib.h", b"jconfig.h", b"jmorecfg.h", b"jerror.h", b"tiff"),
}


def matters(path: str) -> bool:
    """Whether a file, by its path in the prefix, is below `PIL/`, or a library or a header of libjpeg or libtiff."""
    return _MATTERING.fullmatch(path) is not None


def may_matter(glance: Glance, *, clobbered: bool) -> bool:
    """Whether a record names such a file; now and then it does not, after all.

    One search for every kind of place, in bytes: few packages have files there, and only these are looked at closely.

    Args:
        glance: of the record.
        clobbered: whether files were moved into `__clobbers__`.
    """
    text, (start, end) = glance.text, glance.listed
    if text.find(_INSIDE, start, end) >= 0 or (clobbered and text.find(_ASIDE, start, end) >= 0):
        return True
    for beginning, rests in _BEGINNINGS.items():
        place = text.find(glance.margin + beginning, start, end)
        if place >= 0 and any(text.find(beginning + rest, place, end) >= 0 for rest in rests):
            return True
    return False

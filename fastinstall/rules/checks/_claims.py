"""What `PIL.features` claims, against the libraries that are bound, for the check of features."""

import re
from collections.abc import Iterator

from fastinstall.model.immutable import immutable
from fastinstall.model.linkage import Codec
from fastinstall.rules.checks._codecs import called, claimed_features, codec_in_use
from fastinstall.rules.checks._context import CheckContext

_COMPILED_FOR = {
    "libjpeg_turbo": ("jpeg", ("libjpeg-turbo", "mozjpeg"), "jpeg_CreateDecompress"),
    "zlib_ng": ("zlib", ("zlib-ng", "zlib-ng compat"), "deflateInit2_"),
}
"""What headers claim: the kind of library, the implementations that bear the claim out, one of its functions."""
_ASKED = {
    "libtiff": "tiff",
    "jpg_2000": "openjpeg",
    "webp": "webp",
    "freetype2": "freetype",
    "littlecms2": "lcms2",
    "zlib": "zlib",
}
"""Versions that PIL asks of the loaded library itself, and the kind of library that answers."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


@immutable
class Claim:
    """Something that `PIL.features` says and that what loads does not bear out.

    Attributes:
        claimed: what it says: "zlib_ng 2.2.4".
        loaded: what is bound: "zlib 1.2.13".
        where: the file that is bound.
        symbol: a function whose binding shows it; empty where the version alone differs.
        harmless: nothing is broken by it; it is slower.
    """

    claimed: str
    loaded: str
    where: str
    symbol: str = ""
    harmless: bool = False


def claims(context: CheckContext) -> Iterator[Claim]:
    """Give the claims that are not borne out; nothing where no library was identified."""
    features = claimed_features(context)
    for name, (kind, implementations, symbol) in _COMPILED_FOR.items():
        codec = codec_in_use(context, kind)
        if name in features and codec is not None and _is_another(codec, implementations):
            yield _claim(name, features[name], codec, symbol=symbol)
    for name, kind in _ASKED.items():
        codec = codec_in_use(context, kind)
        if codec is not None and _differ(features.get(name, ""), _own_version(codec)):
            yield _claim(name, features[name], codec)


def _claim(name: str, version: str, codec: Codec, symbol: str = "") -> Claim:
    return Claim(
        claimed=f"{name} {version}".rstrip(),
        loaded=called(codec.library),
        where=str(codec.library.path),
        symbol=symbol,
        harmless=name == "zlib_ng",
    )


def _is_another(codec: Codec, implementations: tuple[str, ...]) -> bool:
    return bool(codec.library.implementation) and codec.library.implementation not in implementations


def _own_version(codec: Codec) -> str:
    """The version that a library gives when asked; zlib-ng gives that of the zlib whose place it takes."""
    return "" if codec.library.implementation.startswith("zlib-ng") else codec.library.version


def _differ(claimed: str, loaded: str) -> bool:
    """Whether two versions differ in what both of them tell: "2.17" and "2.17.0" don't; unknown ones don't."""
    told, found = _numbers(claimed), _numbers(loaded)
    shorter = min(len(told), len(found))
    return shorter > 1 and told[:shorter] != found[:shorter]


def _numbers(version: str) -> tuple[int, ...]:
    found = _NUMBERS.search(version)
    return tuple(map(int, found[0].split("."))) if found else ()

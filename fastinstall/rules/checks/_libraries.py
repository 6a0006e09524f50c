"""Which versions of the C libraries behind PIL's codecs are in place, by the names that advisories have for them."""

from fastinstall.model.core import Core
from fastinstall.model.linkage import Codec
from fastinstall.rules.checks._codecs import claimed_features, codec_in_use, core_codec
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._stack import readable_core

JPEG = "libjpeg-turbo"
FEATURES = {"libtiff": "libtiff", "libwebp": "webp", "freetype": "freetype2", "openjpeg": "jpg_2000", "zlib": "zlib"}
"""Names of libraries whose version `PIL.features` asks of the library itself, and its names for them."""

_COMPILED_FOR = "libjpeg_turbo"
_KINDS = {"libtiff": "tiff", "libwebp": "webp", "freetype": "freetype", "openjpeg": "openjpeg", "zlib": "zlib"}
"""The same libraries as the simulated process has them."""
_OTHERWISE_NUMBERED = ("zlib-ng", "zlib-ng compat")
"""Libraries that take the place of one, with versions and advisories of their own."""


def library_versions(context: CheckContext) -> dict[str, str]:
    """The libraries' versions, as far as they are known, by name.

    What a library says of itself when asked counts before what its file shows. Of libjpeg the file that would be
    loaded counts: what `PIL.features` says of it is the version of the headers that the core was compiled with. It
    counts only where the core asks for no libjpeg, having one inside that was not identified.
    """
    features = claimed_features(context)
    found = {name: features.get(feature, "") or _linked(context, name) for name, feature in FEATURES.items()}
    found[JPEG] = _jpeg(context)
    return {name: version for name, version in sorted(found.items()) if version}


def _linked(context: CheckContext, name: str) -> str:
    codec = codec_in_use(context, _KINDS[name])
    return codec.library.version if codec is not None and not _is_replacement(codec) else ""


def _is_replacement(codec: Codec) -> bool:
    return codec.library.implementation in _OTHERWISE_NUMBERED


def _jpeg(context: CheckContext) -> str:
    core, codec = readable_core(context.facts.stack), core_codec(context, "jpeg")
    if codec is not None:
        return codec.library.version if codec.library.implementation == JPEG else ""
    if _asks_for_jpeg(core):
        return _listed_jpeg(core)
    return claimed_features(context).get(_COMPILED_FOR, "")


def _asks_for_jpeg(core: Core | None) -> bool:
    return core is not None and any(library.is_called_libjpeg for library in core.libraries)


def _listed_jpeg(core: Core | None) -> str:
    libraries = core.libraries if core is not None else ()
    return next((library.version for library in libraries if library.implementation == JPEG), "")

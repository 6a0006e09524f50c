"""Which versions of the C libraries behind PIL's codecs are in place, by the names that advisories have for them."""

from collections.abc import Mapping

from fastinstall.model.core import Core
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._stack import readable_core

JPEG = "libjpeg-turbo"
FEATURES = {"libtiff": "libtiff", "libwebp": "webp", "freetype": "freetype2", "openjpeg": "jpg_2000", "zlib": "zlib"}
"""Names of libraries whose version `PIL.features` asks of the library itself, and its names for them."""

_COMPILED_FOR = "libjpeg_turbo"


def library_versions(context: CheckContext) -> dict[str, str]:
    """The libraries' versions, as far as they are known, by name.

    Of libjpeg the file that would be loaded counts: what `PIL.features` says of it is the version of the headers
    that the core was compiled with. It counts only where the core asks for no libjpeg, having one inside.
    """
    core, features = readable_core(context.facts.stack), _features(context)
    found = {name: features.get(feature, "") for name, feature in FEATURES.items()}
    found[JPEG] = _linked_jpeg(core) if _asks_for_jpeg(core) else features.get(_COMPILED_FOR, "")
    return {name: version for name, version in sorted(found.items()) if version}


def _features(context: CheckContext) -> Mapping[str, str]:
    if context.facts.runtime is not None:
        return context.facts.runtime.features
    return context.receipt.features if context.receipt is not None and context.core_is_ours else {}


def _asks_for_jpeg(core: Core | None) -> bool:
    return core is not None and any(library.soname.startswith("libjpeg") for library in core.libraries)


def _linked_jpeg(core: Core | None) -> str:
    libraries = core.libraries if core is not None else ()
    return next((library.version for library in libraries if library.implementation == JPEG), "")

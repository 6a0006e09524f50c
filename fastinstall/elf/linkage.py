"""Find the files that a process loads when it imports PIL's extension modules, and the libraries behind PIL's codecs.

The process is simulated from files; nothing is loaded or run. The simulated process imports nothing before PIL.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from fastinstall.elf.description import Binding, Codec, Linkage
from fastinstall.elf.image import ElfError, open_image
from fastinstall.elf.libraries import describe_library, identify
from fastinstall.elf.loader.process_settings import ProcessSettings
from fastinstall.elf.loader.search import MappedFile
from fastinstall.elf.loader.simulation import SimulatedProcess, start_process
from fastinstall.elf.lookup import Reference, references

ENTRY_POINTS = {
    "jpeg": (
        *("jpeg_CreateCompress", "jpeg_CreateDecompress", "jpeg_read_header", "jpeg_resync_to_restart"),
        *("jpeg_start_compress", "jpeg_start_decompress", "jpeg_std_error"),
    ),
    "zlib": (
        *("compress2", "crc32", "deflate", "deflateInit_", "deflateInit2_"),
        *("inflate", "inflateInit_", "inflateInit2_", "uncompress"),
        *("zng_deflate", "zng_deflateInit2", "zng_inflate", "zng_inflateInit2"),
    ),
    "tiff": ("TIFFClientOpen", "TIFFFdOpen", "TIFFOpen"),
    "openjpeg": ("opj_create_compress", "opj_create_decompress", "opj_version"),
    "webp": ("WebPDecode", "WebPEncode", "WebPGetDecoderVersion", "WebPGetFeaturesInternal"),
    "freetype": ("FT_Init_FreeType", "FT_Load_Glyph", "FT_New_Face", "FT_New_Memory_Face"),
    "lcms2": ("cmsCreateTransform", "cmsOpenProfileFromFile", "cmsOpenProfileFromMem"),
}
"""By kind of library: functions through which PIL, or a codec library, calls the library."""

_KINDS = {symbol: kind for kind, symbols in ENTRY_POINTS.items() for symbol in symbols}
_NAMES = tuple(symbol.encode() + b"\0" for symbol in _KINDS)


def read_linkage(modules: tuple[Path, ...], settings: ProcessSettings) -> Linkage:
    """Simulate a process that opens PIL's extension modules, and identify the libraries behind PIL's codecs.

    Args:
        modules: the modules to open, in order; a refused module is reported in `Linkage.missing`.
        settings: the program and the inputs of its loader.

    Returns:
        The linkage. If the program cannot be started, only `problem` is set.
    """
    process = start_process(settings)
    if process.problem:
        return Linkage(problem=process.problem)
    begun = tuple(process.files)
    bindings = list(_bind_references(process, begun, ()))
    for module in modules:
        before = len(process.files)
        scope = process.open(module).scope
        bindings += _bind_references(process, process.files[before:], scope)
    return Linkage(
        modules=modules,
        files=process.loaded_files(),
        missing=tuple(process.missing),
        bindings=tuple(bindings),
        codecs=tuple(_list_codecs(process, bindings, frozenset(begun))),
    )


def _bind_references(
    process: SimulatedProcess, files: Sequence[MappedFile], scope: tuple[MappedFile, ...]
) -> Iterator[Binding]:
    """Yield the bindings of references in files that were loaded together.

    Args:
        process: the simulated process.
        files: the files that were loaded together.
        scope: the scope of the module that these files were loaded for; empty for files loaded at the start.
    """
    wanted = {user: found for user in files if (found := _read_entry_references(user))}
    everything = {reference for found in wanted.values() for reference in found}
    process.bind(everything, (*process.scope, *scope))  # fill the cache, so that each file is read only once
    for user, found in wanted.items():
        providers = process.providers(user, found, scope)
        for each, own in process.bind(found, user.needs).items():
            provider = providers[each]
            yield Binding(
                symbol=each.name,
                version=each.version,
                user=process.tidy(user),
                provider=process.tidy(provider) if provider is not None else None,
                wanted=process.tidy(own) if own is not None else None,
            )


def _read_entry_references(user: MappedFile) -> tuple[Reference, ...]:
    """Return a file's references to the functions in `ENTRY_POINTS`; empty if the file cannot be read.

    To save time, the symbol table is read only if one of these functions' names is in the file's strings.
    """
    try:
        with open_image(user.place) as image:
            names = image.strings.content
        wanted = references(user.place) if any(name in names for name in _NAMES) else {}
    except (OSError, ElfError):
        return ()
    return tuple(wanted[symbol] for symbol in _KINDS if symbol in wanted)


def _list_codecs(process: SimulatedProcess, bindings: list[Binding], begun: frozenset[MappedFile]) -> Iterator[Codec]:
    """Yield the codec libraries in the process's files.

    Libraries in files that were loaded at the start (`begun`) are left out, unless some reference is bound to them.
    """
    users: defaultdict[tuple[PurePath | None, str], list[PurePath]] = defaultdict(list)
    for each in bindings:
        users[each.provider, _KINDS[each.symbol]].append(each.user)
    providers = {provider for provider, _ in users}
    for file in process.files:
        path = process.tidy(file)
        if file in begun and path not in providers:
            continue
        asked = file.name if "/" not in file.name else file.file.soname or PurePath(file.name).name
        with suppress(OSError, ElfError):
            for identity in identify(file.place):
                own, inside = users.get((path, identity.kind), []), identity.inside
                if own or file not in begun:
                    library = describe_library(identity, path, place=file.place, soname="" if inside else asked)
                    yield Codec(kind=identity.kind, library=library, inside=inside, users=tuple(dict.fromkeys(own)))

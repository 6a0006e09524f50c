"""What a process that imports PIL's extension modules would load, and whose code its codecs would run.

Simulated from files: nothing is loaded or run. It speaks of a fresh process, in which nothing else was
imported before.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from fastinstall.core.values import immutable
from fastinstall.elf.description import Binding, Codec, Linkage
from fastinstall.elf.dynamic import STRSZ, STRTAB, dynamic_entries
from fastinstall.elf.embedded import Identity
from fastinstall.elf.image import ElfError, open_image
from fastinstall.elf.libraries import describe, identify
from fastinstall.elf.loader.opened_files import MappedFile
from fastinstall.elf.loader.simulated_process import SimulatedProcess
from fastinstall.elf.loader.simulation import ProcessSettings, start_process
from fastinstall.elf.lookup import Reference, references

ENTRY_POINTS = {
    "jpeg": (
        "jpeg_CreateCompress",
        "jpeg_CreateDecompress",
        "jpeg_read_header",
        "jpeg_resync_to_restart",
        "jpeg_start_compress",
        "jpeg_start_decompress",
        "jpeg_std_error",
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
"""Functions by which the libraries behind the codecs are entered, by kind of library."""

_KINDS = {symbol: kind for kind, symbols in ENTRY_POINTS.items() for symbol in symbols}
_NAMES = tuple(symbol.encode() + b"\0" for symbol in _KINDS)


def read_linkage(modules: tuple[Path, ...], settings: ProcessSettings) -> Linkage:
    """Simulate a process that opens extension modules, and identify the libraries behind its codecs.

    Args:
        modules: what to open, in order; one that the loader refuses is among what is missing, with its reasons.
        settings: the program, and what else its loader goes by.

    Returns:
        A linkage with nothing but a `problem` where the program is none that could be begun.
    """
    process = start_process(settings)
    if process.problem:
        return Linkage(problem=process.problem)
    users = _Users(process=process)
    begun = tuple(process.files)
    users.enter(begun, ())
    for module in modules:
        before = len(process.files)
        scope = process.open(module).scope
        users.enter(tuple(process.files[before:]), scope)
    files = process.loaded_files()
    paths = {mapped: file.path for mapped, file in zip(process.files, files, strict=True)}
    return Linkage(
        modules=modules,
        files=files,
        missing=tuple(process.missing),
        bindings=tuple(_make_binding(bound, paths) for bound in users.bound),
        codecs=tuple(_list_codecs(users, frozenset(begun), paths)),
    )


@immutable
class _Bound:
    """A reference to an entry point, and what it gets."""

    user: MappedFile
    reference: Reference
    provider: MappedFile | None
    wanted: MappedFile | None


@dataclass(slots=True, eq=False, kw_only=True)
class _Users:
    """The files that use the libraries behind the codecs."""

    process: SimulatedProcess
    bound: list[_Bound] = field(default_factory=list)

    def enter(self, files: tuple[MappedFile, ...], scope: tuple[MappedFile, ...]) -> None:
        """Bind the references of files that came in together, in the scope that came with them."""
        wanted = {user: found for user in files if (found := _read_entry_references(user))}
        self._learn(tuple(wanted.values()), scope)
        for user, found in wanted.items():
            providers = self.process.providers(user, found, scope)
            own = self.process.definitions.bind(found, user.needs)
            self.bound += (
                _Bound(user=user, reference=each, provider=providers[each], wanted=own[each]) for each in found
            )

    def of(self, provider: MappedFile, kind: str) -> tuple[MappedFile, ...]:
        """Whose references to a kind of library are bound to a file."""
        found = (bound.user for bound in self.bound if bound.provider is provider and _get_kind(bound) == kind)
        return tuple(dict.fromkeys(found))

    def _learn(self, wanted: tuple[tuple[Reference, ...], ...], scope: tuple[MappedFile, ...]) -> None:
        """Ask each file of the scope once for all names, instead of once for each user's."""
        names = tuple({reference for found in wanted for reference in found})
        self.process.definitions.bind(names, (*self.process.scope, *scope))


def _get_kind(bound: _Bound) -> str:
    return _KINDS[bound.reference.name]


def _read_entry_references(user: MappedFile) -> tuple[Reference, ...]:
    try:
        wanted = references(user.place) if _has_entry_name(user.place) else {}
    except (OSError, ElfError):
        return ()
    return tuple(wanted[symbol] for symbol in _KINDS if symbol in wanted)


def _has_entry_name(path: Path) -> bool:
    """Whether the names of a file's symbols have one of ours among them: most files don't, and need no closer look.

    A linker may store a name as the end of another one.
    """
    with open_image(path) as image:
        values = dict(dynamic_entries(image))
        names = image.read_at(values[STRTAB], values.get(STRSZ, 0)) if STRTAB in values else b""
    return any(name in names for name in _NAMES)


def _make_binding(bound: _Bound, paths: dict[MappedFile, PurePath]) -> Binding:
    return Binding(
        symbol=bound.reference.name,
        version=bound.reference.version,
        user=paths[bound.user],
        provider=paths[bound.provider] if bound.provider is not None else None,
        wanted=paths[bound.wanted] if bound.wanted is not None else None,
    )


def _list_codecs(users: _Users, begun: frozenset[MappedFile], paths: dict[MappedFile, PurePath]) -> Iterator[Codec]:
    """The libraries in what was opened; in what the program brought along, those that something is bound to."""
    kinds: defaultdict[MappedFile, set[str]] = defaultdict(set)
    for bound in users.bound:
        if bound.provider is not None:
            kinds[bound.provider].add(_get_kind(bound))
    for file, path in paths.items():
        if file in begun and file not in kinds:
            continue
        for identity in _identify_file(file):
            if file not in begun or identity.kind in kinds[file]:
                yield _make_codec(identity, file, path, tuple(paths[user] for user in users.of(file, identity.kind)))


def _identify_file(file: MappedFile) -> tuple[Identity, ...]:
    try:
        return identify(file.place)
    except (OSError, ElfError):
        return ()


def _make_codec(identity: Identity, file: MappedFile, path: PurePath, users: tuple[PurePath, ...]) -> Codec:
    asked = file.name if "/" not in file.name else file.file.soname or PurePath(file.name).name
    return Codec(
        kind=identity.kind,
        library=describe(identity, path, place=file.place, soname="" if identity.inside else asked),
        inside=identity.inside,
        users=users,
    )

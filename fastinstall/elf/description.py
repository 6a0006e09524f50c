"""Values that describe compiled files: the imaging core, and what a process would load.

They hold what was read from files or simulated by the loader's rules; nothing is loaded, and nothing is read here.
"""

from pathlib import PurePath

from fastinstall.core.values import immutable


@immutable
class LoadedLibrary:
    """A library as the loader would find it, and its fingerprint, by which a change is noticed.

    Attributes:
        soname: the name asked for (DT_NEEDED); empty for one that is linked into `path`.
        path: where it resolves to; None if it would not be found.
        implementation: of a libjpeg "libjpeg-turbo", "mozjpeg", "IJG libjpeg"; of a zlib "zlib", "zlib-ng",
            "zlib-ng compat"; of another codec its name; empty if not identified.
        version: of the implementation; empty if unknown.
        simd: whether the library contains SIMD code of its own; None if it cannot be told.
        sha256: of the file, hexadecimal; empty where it was not identified.
        abi: of a libjpeg the interface that it offers: "62", "70", "80", "90"; empty if unknown.
        size: of the file in bytes; 0 where it was not identified.
        inode: of the file; 0 where it was not identified.
        build_id: of the file, hexadecimal; empty if it has none.
    """

    soname: str
    path: PurePath | None
    implementation: str = ""
    version: str = ""
    simd: bool | None = None
    sha256: str = ""
    abi: str = ""
    size: int = 0
    inode: int = 0
    build_id: str = ""

    @property
    def is_called_libjpeg(self) -> bool:
        """Whether it is asked for as libjpeg; one without a name of its own is asked for by a path."""
        return self.soname.rpartition("/")[2].startswith("libjpeg")


@immutable
class CoreLevel:
    """One copy of the core in a wheel that carries several, compiled for a CPU level.

    Attributes:
        level: "x86-64-v3"; of the baseline what its note says, or "baseline".
        path: where the copy lies, or would lie.
        sha256: of the copy, 64 hexadecimal digits; empty if it cannot be read.
        loaded: whether the loader would take this copy on this machine.
        simd_symbols: which symbols of the recipe's `expect.symbols` it defines.
        unoptimised_share: the share of functions that begin as at -O0; see `ImagingCore`.
        isa_note: the x86 level that the file declares to need, if any.
        problem: why it cannot take the core's place (missing, damaged, another library); empty if it can.
    """

    level: str
    path: PurePath
    sha256: str
    loaded: bool
    simd_symbols: tuple[str, ...] = ()
    unoptimised_share: float | None = None
    isa_note: str | None = None
    problem: str = ""


@immutable
class BuildTraces:
    """What a binary tells about its build, beside its switches.

    Attributes:
        compilers: that worked on it: "GCC: (Debian 12.2.0-14) 12.2.0".
        glibc: the least glibc that it can be loaded with ("2.14"); empty if it asks for none.
        stripped: it has no names of functions but those that it exports.
        package: package metadata that its builder left: "type", "name", "version", ...
    """

    compilers: tuple[str, ...]
    glibc: str
    stripped: bool
    package: dict[str, str]


@immutable
class ImagingCore:
    """The compiled imaging core, `PIL/_imaging*.so`, read and never loaded.

    Where that file is only a stub and the loader picks the code among several copies, size, time and
    hash are the stub's, and everything else speaks of the copy that would be loaded here.

    Attributes:
        path: of `PIL/_imaging*.so`, as it was looked for.
        size: of that file, in bytes; 0 if it cannot be read.
        mtime_ns: modification time in nanoseconds since the epoch.
        sha256: of that file, 64 hexadecimal digits; empty if it cannot be read.
        readable: False if the file is empty, truncated or not an ELF file for this machine.
        problem: why it is not readable; empty if it is.
        version: the Pillow version compiled into it.
        simd_symbols: which symbols of the recipe's `expect.symbols` it defines.
        unoptimised_share: share of its functions that begin with the frame set-up of an -O0 build,
            0.0 to 1.0 (measured: 1.0 at -O0, at most 0.03 at -O3); None if it cannot be told.
        isa_note: the x86 level that the file declares to need ("x86-64-v3"), if any.
        switches: recorded compiler switches (-frecord-gcc-switches), if any.
        libraries: what its DT_NEEDED entries resolve to.
        levels: the copies of a core that has several, the baseline first; empty otherwise.
        build_traces: how it was built; None if it was not asked for, or cannot be read.
    """

    path: PurePath
    size: int
    mtime_ns: int
    sha256: str
    readable: bool
    problem: str = ""
    version: str = ""
    simd_symbols: tuple[str, ...] = ()
    unoptimised_share: float | None = None
    isa_note: str | None = None
    switches: tuple[str, ...] = ()
    libraries: tuple[LoadedLibrary, ...] = ()
    levels: tuple[CoreLevel, ...] = ()
    build_traces: BuildTraces | None = None


@immutable
class LoadedFile:
    """A file that the loader would map.

    Attributes:
        path: as the loader names it, without needless `..`.
        name: what it was asked for by first; the path for what is opened by path.
        soname: its own name (DT_SONAME); empty if it has none.
        reason: why this file and no other: "the program", "the program's loader", "LD_PRELOAD",
            "/etc/ld.so.preload", "opened", "path in DT_NEEDED of /a/b.so", "DT_RUNPATH of /a/b.so",
            "LD_LIBRARY_PATH", "ld.so.cache", "default directory".
        needed_by: the file that asked first; None for the program and for what is opened.
    """

    path: PurePath
    name: str
    soname: str
    reason: str
    needed_by: PurePath | None = None


@immutable
class MissingLibrary:
    """A DT_NEEDED entry that the loader would not find.

    Attributes:
        name: what is asked for.
        needed_by: the file that asks.
        problem: "not found", or what is wrong with the file at which the search ends.
    """

    name: str
    needed_by: PurePath
    problem: str


@immutable
class Binding:
    """To which file a reference to a symbol would be bound.

    Attributes:
        symbol: name of the referenced symbol ("jpeg_CreateDecompress").
        version: the symbol version that is asked for ("LIBJPEG_8.0"); empty if none.
        user: the file with the reference.
        provider: the file whose definition it gets; None if it would stay undefined.
        wanted: the file among the user's own needs that defines it; None if none of them does.
    """

    symbol: str
    version: str
    user: PurePath
    provider: PurePath | None
    wanted: PurePath | None

    @property
    def is_crossed(self) -> bool:
        """Whether the user gets another library's code than the one that it asks for."""
        return self.wanted is not None and self.provider != self.wanted


@immutable
class Codec:
    """A library behind PIL's codecs, identified.

    Attributes:
        kind: "jpeg", "zlib", "tiff", "openjpeg", "webp", "freetype", "lcms2".
        library: what it is and where.
        inside: linked statically into `library.path`, instead of a library of its own.
        users: the files whose references are bound to it, PIL's modules and libraries alike.
    """

    kind: str
    library: LoadedLibrary
    inside: bool = False
    users: tuple[PurePath, ...] = ()


@immutable
class Linkage:
    """A simulated process of the target that opens PIL's extension modules one after the other, the core first.

    It speaks of a fresh process: another package (torch, cv2) may load a library of the same name before.

    Attributes:
        modules: the extension modules that were opened, in order.
        files: everything that is mapped, in load order, the program first.
        missing: what is not found; a module that lacks something is not among the `files`, as for the loader.
        bindings: how references to the codecs' entry points are bound.
        codecs: the libraries behind the codecs.
        problem: why there is no simulation (a program that is no ELF file); empty if there is one.
    """

    modules: tuple[PurePath, ...] = ()
    files: tuple[LoadedFile, ...] = ()
    missing: tuple[MissingLibrary, ...] = ()
    bindings: tuple[Binding, ...] = ()
    codecs: tuple[Codec, ...] = ()
    problem: str = ""

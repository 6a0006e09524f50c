"""The compiled imaging core as it lies on disk, and the libraries that it would load; read, and never loaded."""

from pathlib import PurePath

from fastinstall.model.immutable import immutable


@immutable
class Library:
    """A library as the loader would find it, and its fingerprint, by which a change is noticed.

    Attributes:
        soname: the name asked for (DT_NEEDED); empty for one that is linked into `path`.
        path: where it resolves to; None where it would not be found.
        implementation: of a libjpeg "libjpeg-turbo", "mozjpeg", "IJG libjpeg"; of a zlib "zlib", "zlib-ng",
            "zlib-ng compat"; of another codec its name; empty if not identified.
        version: of the implementation; empty if unknown.
        simd: whether the library contains SIMD code of its own; None if it cannot be told.
        sha256: of the file.
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
        path: the file.
        sha256: hexadecimal.
        loaded: whether the loader would take this copy on this machine.
        simd_symbols: which symbols of the recipe's `expect.symbols` it defines.
        unoptimised_share: see `Core`.
        isa_note: see `Core`.
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
class Making:
    """What a binary tells about its making, beside its switches.

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
class Core:
    """The compiled imaging core, `PIL/_imaging*.so`, read and never loaded.

    Where that file is only a stub and the loader picks the code among several copies, size, time and
    hash are the stub's, and everything else speaks of the copy that would be loaded here.

    Attributes:
        path: the file.
        size: in bytes.
        mtime_ns: modification time in nanoseconds since the epoch.
        sha256: hexadecimal.
        readable: False where the file is empty, truncated or not an ELF file for this machine.
        problem: why it is not readable; empty if it is.
        version: the Pillow version compiled into it.
        simd_symbols: which symbols of the recipe's `expect.symbols` it defines.
        unoptimised_share: share of its functions that begin with the frame set-up of an -O0 build,
            0.0 to 1.0 (measured: 1.0 at -O0, at most 0.03 at -O3); None if it cannot be told.
        isa_note: the x86 level that the file declares to need ("x86-64-v3"), if any.
        switches: recorded compiler switches (-frecord-gcc-switches), if any.
        libraries: what its DT_NEEDED entries resolve to.
        levels: the copies of a core that has several, the baseline first; empty otherwise.
        making: how it was made; None where it was not asked for, or cannot be read.
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
    libraries: tuple[Library, ...] = ()
    levels: tuple[CoreLevel, ...] = ()
    making: Making | None = None

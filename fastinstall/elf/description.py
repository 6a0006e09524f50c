"""Values that describe compiled files: the core, the files that a process would load, and the CPU features used.

Other modules create these values, from files or by a simulation of the loader. This module reads no files.
"""

from enum import StrEnum
from pathlib import PurePath

from fastinstall.core.values import immutable


@immutable
class LoadedLibrary:
    """A library as the loader would find it, with data that reveal later changes of its file (hash, size, inode).

    Attributes:
        soname: the name in DT_NEEDED; empty for a library that is statically linked into the file `path`.
        path: the library's file, or the file that contains it; None if the loader would not find the library.
        implementation: for a libjpeg "libjpeg-turbo", "mozjpeg" or "IJG libjpeg"; for a zlib "zlib", "zlib-ng" or
            "zlib-ng compat"; for other libraries their name ("libtiff"); empty if not identified.
        version: the implementation's version; empty if unknown.
        simd: whether the library contains SIMD code of its own; None if unknown.
        sha256: the file's hash, hexadecimal; only for a shared libjpeg, else empty.
        abi: for a libjpeg, the version of the interface that it offers: "62", "70", "80", "90"; empty if unknown.
        size: size of the file in bytes; 0 if the library was not identified.
        inode: inode of the file; 0 if the library was not identified.
        build_id: the file's GNU build-id, hexadecimal; empty if it has none.
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
        """Whether the name in DT_NEEDED is that of a libjpeg.

        If the libjpeg was built without a soname, that name is a path.
        """
        return self.soname.rpartition("/")[2].startswith("libjpeg")


@immutable
class CoreLevel:
    """One copy of the core, compiled for a CPU level, in a wheel with several copies.

    Attributes:
        level: the CPU level ("x86-64-v3"); for the baseline copy the level in its ISA note, or "baseline".
        path: the copy's path, whether or not the file exists.
        sha256: the copy's hash, 64 hexadecimal digits; empty if the copy cannot be read.
        loaded: whether the loader would take this copy on this machine.
        simd_symbols: which of the symbols in the recipe's `expect.symbols` the copy defines.
        unoptimised_share: the share of functions that begin as at -O0; see `ImagingCore`.
        isa_note: the x86-64 level that the copy's ISA note requires; None without such a note.
        problem: why the copy is unusable (missing, damaged, another library); empty if it is usable.
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
    """The traces that a build left in a binary, except compiler switches.

    Attributes:
        compilers: the compilers that produced the code: "GCC: (Debian 12.2.0-14) 12.2.0".
        glibc: the oldest glibc version that can load the binary ("2.14"); empty if any version can.
        stripped: whether the static symbol table (.symtab) was removed.
        package: the metadata in the package note, with keys such as "type", "name", "version"; empty without a note.
    """

    compilers: tuple[str, ...]
    glibc: str
    stripped: bool
    package: dict[str, str]


@immutable
class ImagingCore:
    """The compiled imaging core, `PIL/_imaging*.so`, as read from its file without loading it.

    The file may be a stub, for which the loader chooses one of several copies of the code. Then `path`, `size`,
    `mtime_ns` and `sha256` describe the stub; the other attributes describe the copy chosen on this machine.

    Attributes:
        path: the path of `PIL/_imaging*.so`, whether or not the file exists.
        size: size of that file, in bytes; 0 if it cannot be read.
        mtime_ns: modification time of that file, in nanoseconds since the epoch.
        sha256: hash of that file, 64 hexadecimal digits; empty if it cannot be read.
        readable: False if the file is missing, empty, truncated or not an ELF file for this machine.
        problem: why the file is not readable; empty if it is.
        version: the Pillow version compiled into the core; empty if none was recognised.
        simd_symbols: which of the symbols in the recipe's `expect.symbols` the core defines.
        unoptimised_share: share of the core's functions that begin with the frame set-up of an -O0 build,
            0.0 to 1.0 (measured: 1.0 at -O0, at most 0.03 at -O3); None if unknown.
        isa_note: the x86-64 level that the core's ISA note requires ("x86-64-v3"); None without such a note.
        switches: the compiler switches that `-frecord-gcc-switches` recorded; empty if none are recorded.
        libraries: the libraries that the DT_NEEDED entries of core and stub resolve to.
        levels: all copies, the baseline first, if the file is a stub; else empty.
        build_traces: how the core was built; None if this was not requested or cannot be read.
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

    @property
    def loaded_copy(self) -> CoreLevel | None:
        """The copy that the loader chooses on this CPU; None if the core has no copies or the loader finds none."""
        return next((copy for copy in self.levels if copy.loaded), None)

    @property
    def loaded_file(self) -> PurePath:
        """The file whose code runs on this CPU: the copy that the loader chooses, or the core itself."""
        return self.loaded_copy.path if self.loaded_copy is not None else self.path


@immutable
class LoadedFile:
    """A file that the loader would map.

    Attributes:
        path: the path that the loader would report, without unnecessary `..`.
        name: the first name that the file was requested by; the path if it was opened by path.
        soname: the file's own name (DT_SONAME); empty if it has none.
        reason: why the loader chose this file: "the program", "the program's loader", "LD_PRELOAD",
            "/etc/ld.so.preload", "opened", "path in DT_NEEDED of /a/b.so", "DT_RUNPATH of /a/b.so",
            "LD_LIBRARY_PATH", "ld.so.cache", "default directory".
        needed_by: the first file that requested it; None for the program, preloaded and opened libraries.
    """

    path: PurePath
    name: str
    soname: str
    reason: str
    needed_by: PurePath | None = None


@immutable
class MissingLibrary:
    """A library that the loader would not find or would refuse to load.

    Attributes:
        name: the requested name, usually from DT_NEEDED.
        needed_by: the file that requests it.
        problem: "not found", or what is wrong with the file that was found.
    """

    name: str
    needed_by: PurePath
    problem: str


@immutable
class Binding:
    """A reference to a symbol, and the file whose definition it would be bound to.

    Attributes:
        symbol: name of the referenced symbol ("jpeg_CreateDecompress").
        version: the required symbol version ("LIBJPEG_8.0"); empty if none is required.
        user: the file that contains the reference.
        provider: the file whose definition the reference is bound to; None if the symbol would stay undefined.
        wanted: the first library in the user's own DT_NEEDED that defines the symbol; None if no such library does.
    """

    symbol: str
    version: str
    user: PurePath
    provider: PurePath | None
    wanted: PurePath | None

    @property
    def is_crossed(self) -> bool:
        """Whether the reference is bound to a different library than the one its file was linked with (`wanted`).

        False if `wanted` is None.
        """
        return self.wanted is not None and self.provider != self.wanted


@immutable
class Codec:
    """An identified library behind PIL's codecs.

    Attributes:
        kind: "jpeg", "zlib", "tiff", "openjpeg", "webp", "freetype", "lcms2".
        library: the library's description.
        inside: whether the library is linked statically into the file `library.path`.
        users: the files whose references are bound to the library: PIL's modules and other libraries.
    """

    kind: str
    library: LoadedLibrary
    inside: bool = False
    users: tuple[PurePath, ...] = ()

    @property
    def path(self) -> PurePath:
        """The library's own file, or the file that the library is linked into."""
        return self.library.path or PurePath()


@immutable
class Linkage:
    """The result of simulating a process that opens PIL's extension modules one by one, the core first.

    The simulated process loads no other libraries first. In a real process, another package (torch, cv2) may already
    have loaded a library of the same name.

    Attributes:
        modules: the extension modules that were opened, in order.
        files: the mapped files, in load order, the program first.
        missing: libraries that were not found or were refused; modules that need one of these are not in `files`.
        bindings: the references to the entry points of codec libraries, with the files they are bound to.
        codecs: the libraries behind the codecs.
        problem: why the process cannot be simulated (for example, the program is not an ELF file); empty if it can.
    """

    modules: tuple[PurePath, ...] = ()
    files: tuple[LoadedFile, ...] = ()
    missing: tuple[MissingLibrary, ...] = ()
    bindings: tuple[Binding, ...] = ()
    codecs: tuple[Codec, ...] = ()
    problem: str = ""


class Confidence(StrEnum):
    """How certain the result of a scan is."""

    CERTAIN = "certain"
    """The code was decoded, and nothing in the file chooses code at run time: all of the code may run."""
    LIKELY = "likely"
    """The code was decoded, but the file chooses some of its code at run time, so `requires` is an estimate."""
    UNVERIFIED = "unverified"
    """The code was not decoded: the result is from the file's ISA note or its recorded switches."""


@immutable
class IsaScan:
    """The CPU features that one file's code uses, named as in /proc/cpuinfo ("avx2", "pni", "abm").

    Attributes:
        path: the scanned ELF file, as the caller named it.
        sha256: the file's hash, hexadecimal; the key of the scan in the cache.
        confidence: how certain the result is.
        requires: features without which the code crashes or computes wrong results; features of the lowest level are
            left out.
        contains: features that the code uses only after its own dispatcher found them on the CPU.
        silent: features in `requires` whose absence causes wrong results rather than a signal ("abm": LZCNT).
        level: the lowest level with all of `requires`; None if no level has them all, or if `requires` is unknown.
        shares: for each feature, the share of the decoded instructions that need it, 0.0 to 1.0.
        declared: the level in the file's ISA note; on a CPU below it, the loader refuses the file.
        instructions: number of decoded instructions.
        evidence: reasons for the result, as text: "no dispatcher: neither CPUID, IRELATIVE nor __cpu_model".
        problem: why the file could not be scanned; empty if it was scanned.
    """

    path: PurePath
    sha256: str
    confidence: Confidence
    requires: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    level: str | None = None
    shares: dict[str, float]
    declared: str | None = None
    instructions: int = 0
    evidence: tuple[str, ...] = ()
    problem: str = ""

"""What a process that imports PIL would load, by the loader's rules; simulated from files, nothing is loaded."""

from pathlib import PurePath

from fastinstall.model.core import Library
from fastinstall.model.immutable import immutable


@immutable
class LoadedFile:
    """A file that the loader would map.

    Attributes:
        path: as the loader names it, without needless `..`.
        name: what it was asked for by first; the path for what is opened by path.
        soname: its own name (DT_SONAME); empty if it has none.
        reason: why this file and no other: "the program", "the program's loader", "LD_PRELOAD",
            "/etc/ld.so.preload", "opened", "path in DT_NEEDED of /a/b.so", "DT_RUNPATH of /a/b.so",
            "LD_LIBRARY_PATH", "ld.so.cache", "/etc/ld-musl-x86_64.path", "default directory".
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
        symbol: "jpeg_CreateDecompress".
        version: the symbol version that is asked for ("LIBJPEG_8.0"); empty if none.
        user: the file with the reference.
        provider: the file whose definition it gets; None where it would stay undefined.
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
    library: Library
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

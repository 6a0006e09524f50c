"""What one C library's loader does its own way: how it recognises a name, and where it looks for it."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from fastinstall.binary.loader_files import Files, Found, MappedFile


class Search(Protocol):
    """The rules of a loader for one process: `GlibcSearch`, `MuslSearch`.

    Attributes:
        files: reads what is looked at.
        main: the program; None as long as there is none.
    """

    files: Files
    main: MappedFile | None

    @property
    def has_versions(self) -> bool:
        """Whether it goes by symbol versions."""

    @property
    def refuses_levels(self) -> bool:
        """Whether it refuses files above the CPU's level."""

    @property
    def maps_interpreter(self) -> bool:
        """Whether it is in the list itself from the start."""

    def known(self, name: str, files: Iterable[MappedFile], /) -> MappedFile | None:
        """The file that answers to a name without a search."""

    def same(self, found: Found, name: str, files: Iterable[MappedFile], /) -> MappedFile | None:
        """The file that a search for the name has come by, if it is mapped already.

        Raises:
            DamagedError: it cannot be mapped, nor used as it is.
        """

    def names(self, name: str, found: Found, /) -> set[str]:
        """What a file answers to when it is mapped for a name."""

    def origin(self, path: str, /) -> str:
        """What $ORIGIN stands for in a file of that path."""

    def expand(self, text: str, user: MappedFile | None, /) -> str:
        """Replace the tokens in a name that a file asks for."""

    def search(self, name: str, requester: MappedFile | None, /) -> Found | None:
        """Look up a name or a path, or return None if nothing fits.

        Raises:
            DamagedError: the search ends at a file that cannot be loaded.
        """

    def opener(self, caller: MappedFile | None, /) -> MappedFile | None:
        """Whose search path serves a name that is opened at run time."""

    def heir(self, opener: MappedFile | None, /) -> MappedFile | None:
        """Whose search path an opened file inherits."""

    def preloader(self) -> MappedFile | None:
        """Whose search path serves what is preloaded."""

    def preloads(self, variable: str, /) -> Iterator[tuple[list[str], str]]:
        """What is preloaded, in groups of one reason, by the value of LD_PRELOAD."""

    def settle(self, roots: tuple[MappedFile, ...], files: list[MappedFile], /) -> list[MappedFile]:
        """The global scope once the process has started; sets the list of files in its final order."""

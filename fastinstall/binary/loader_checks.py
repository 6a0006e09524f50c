"""What glibc's loader verifies when all files are mapped: that the symbol versions are there, and the CPU's level.

Sources: glibc's elf/dl-version.c, sysdeps/x86/dl-prop.h.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastinstall.binary.dynamic import ElfError
from fastinstall.binary.loader_files import Identity, MappedFile
from fastinstall.binary.loader_map import LinkMap
from fastinstall.model.linkage import MissingLibrary

if TYPE_CHECKING:
    from fastinstall.binary.versions import SymbolVersions

_LEVELS = ("x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4")


@dataclass(slots=True, eq=False, kw_only=True)
class Checks:
    """The checks of one loader.

    Attributes:
        versioned: whether it knows symbol versions, as glibc does and musl does not.
        level: the CPU's, above which it refuses files; None: it refuses none, or the level is not known.
    """

    versioned: bool = True
    level: str | None = None
    _versions: dict[Identity, "SymbolVersions"] = field(default_factory=dict)

    def failures(self, added: Iterable[MappedFile], link_map: LinkMap) -> list[MissingLibrary]:
        """Why the files that were mapped last are refused; empty if they are not."""
        files = tuple(added)
        failures = [failure for file in files if self.versioned for failure in self._undefined(file, link_map)]
        return failures + [self._too_high(file, link_map) for file in files if self._is_too_high(file)]

    def _undefined(self, file: MappedFile, link_map: LinkMap) -> Iterator[MissingLibrary]:
        """Versions that the file needs of a library which defines versions, but not these."""
        for need in self._of(file).needed:
            library = next((each for each in link_map.files if each.answers_to(need.library)), file)
            defined = self._of(library).defined if library is not file else ()
            for name in need.names if defined else ():
                if name not in defined:
                    problem = f"version `{name}' not found in {link_map.tidy(library.path)}"
                    yield MissingLibrary(name=need.library, needed_by=link_map.tidy(file.path), problem=problem)

    def _of(self, file: MappedFile) -> "SymbolVersions":
        from fastinstall.binary.versions import (  # noqa: PLC0415 (a quick doctor checks no versions)
            SymbolVersions,
            read_versions,
        )

        if file.identity not in self._versions:
            try:
                self._versions[file.identity] = read_versions(file.place)
            except (OSError, ElfError):
                self._versions[file.identity] = SymbolVersions()
        return self._versions[file.identity]

    def _is_too_high(self, file: MappedFile) -> bool:
        needed = file.file.isa_needed
        return needed is not None and self.level in _LEVELS and _LEVELS.index(needed) > _LEVELS.index(self.level)

    def _too_high(self, file: MappedFile, link_map: LinkMap) -> MissingLibrary:
        path = link_map.tidy(file.path)
        needed_by = link_map.tidy(file.needed_by.path) if file.needed_by is not None else path
        problem = f"{path} is for CPUs of level {file.file.isa_needed}, and this one has {self.level}"
        return MissingLibrary(name=file.name, needed_by=needed_by, problem=problem)

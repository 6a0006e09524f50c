"""To which of a process's files a reference to a symbol is bound.

The loader takes the first definition that fits, going through the scope file by file. Not simulated:
STB_GNU_UNIQUE, of which a process takes the first definition ever, and RTLD_DEEPBIND.
Sources: glibc's elf/dl-lookup.c, musl's ldso/dynlink.c.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fastinstall.binary.dynamic import ElfError
from fastinstall.binary.loader_files import Identity, MappedFile
from fastinstall.binary.lookup import Definition, Reference, definition_for, find_all_definitions


@dataclass(slots=True, eq=False, kw_only=True)
class Definitions:
    """What the files of a process define; each is asked for a name once.

    Attributes:
        versioned: whether the loader goes by symbol versions, as glibc's does and musl's does not.
    """

    versioned: bool = True
    _known: dict[tuple[Identity, str], tuple[Definition, ...]] = field(default_factory=dict)

    def bind(
        self, references: tuple[Reference, ...], scope: Iterable[MappedFile]
    ) -> dict[Reference, MappedFile | None]:
        """Return the defining file for each reference in a scope, or None if it stays undefined."""
        bound: dict[Reference, MappedFile | None] = dict.fromkeys(references)
        open_ones = list(bound)
        for file in scope:
            if not open_ones:
                break
            self._learn(file, tuple(reference.name for reference in open_ones))
            bound |= {reference: file for reference in open_ones if self._fits(file, reference)}
            open_ones = [reference for reference in open_ones if bound[reference] is None]
        return bound

    def _fits(self, file: MappedFile, reference: Reference) -> bool:
        definitions = self._known[file.identity, reference.name]
        if self.versioned:
            return definition_for(definitions, reference) is not None
        return any(not definition.hidden for definition in definitions)

    def _learn(self, file: MappedFile, names: tuple[str, ...]) -> None:
        unknown = tuple(name for name in names if (file.identity, name) not in self._known)
        if not unknown:
            return
        try:
            found = find_all_definitions(file.place, unknown)
        except (OSError, ElfError):
            found = dict.fromkeys(unknown, ())
        self._known |= {(file.identity, name): definitions for name, definitions in found.items()}

"""What an ELF file defines under a name and what it needs from others, as the loader sees it.

Which of several files a reference is bound to depends on their order in the process, and is decided by `loader`.
Source: glibc's elf/dl-lookup.c (`check_match`).
"""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path

from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import SYMTAB
from fastinstall.elf.dynamic_symbols import SYMBOL, count_symbols, count_unhashed, find_symbols
from fastinstall.elf.image import INTERP, ElfImage, open_image
from fastinstall.elf.symbol_versions import VERSYM, Version, read_defined_versions, read_needed_versions

_ABSOLUTE = 0xFFF1
_WEAK, _THREAD_LOCAL = 2, 6
_BINDINGS = frozenset({1, _WEAK, 10})  # global, weak, GNU_UNIQUE
_TYPES = frozenset({0, 1, 2, 5, _THREAD_LOCAL, 10})  # none, object, function, common, thread-local, GNU_IFUNC
_SEEN_BY_OTHERS = frozenset({0, 3})  # default, protected; internal and hidden ones are local
_INDEX, _HIDDEN, _BASE, _OLDEST = 0x7FFF, 0x8000, 1, 2


@immutable
class Definition:
    """A definition that references of other files can be bound to.

    Attributes:
        name: of the symbol, without its version.
        version: that it has ("LIBJPEG_8.0"); empty if none.
        hidden: it is not the default of its name: only references to its very version are bound to it.
        oldest: it has no version, or the first that its file defines: what a reference without a version gets.
    """

    name: str
    version: str = ""
    hidden: bool = False
    oldest: bool = True


@immutable
class Reference:
    """A symbol that a file wants of another.

    Attributes:
        name: of the symbol, without its version.
        version: that is asked for; empty if none.
        library: which of the needed libraries should have that version, as DT_NEEDED names it; empty if none.
        weak: it may stay undefined.
    """

    name: str
    version: str = ""
    library: str = ""
    weak: bool = False


def find_definitions(path: Path, name: str) -> tuple[Definition, ...]:
    """Return what a file defines for others under a name, one definition per version, in the loader's order.

    Undefined symbols are no definitions, nor are those to which a program lends an address of its own:
    what is called through it is another file's. What the loader passes over is left out: hidden and
    internal symbols, local ones, and types other than code, data and thread-local data.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    return find_all_definitions(path, (name,))[name]


def find_all_definitions(path: Path, names: tuple[str, ...]) -> dict[str, tuple[Definition, ...]]:
    """Find the definitions of several names as `find_definitions` does, with the file opened once.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        found = [
            (name, _read_version_word(image, index))
            for name in dict.fromkeys(names)
            for index, fields in find_symbols(image, name)
            if _is_definition(*fields[1:5])
        ]
        versions: dict[int, Version] = {}
        if any(word & _INDEX > _BASE for _, word in found):
            versions = _read_versions(image)
    definitions: dict[str, list[Definition]] = {name: [] for name in names}
    for name, word in found:
        index, hidden = word & _INDEX, bool(word & _HIDDEN)
        version = versions[index].name if index in versions else ""
        definitions[name].append(Definition(name=name, version=version, hidden=hidden, oldest=index <= _OLDEST))
    return {name: tuple(each) for name, each in definitions.items()}


def definition_for(definitions: tuple[Definition, ...], reference: Reference) -> Definition | None:
    """Return which of a file's definitions of a name the loader binds a reference to, or None if it searches on.

    A reference with a version takes that version, else a definition without any. One without a
    version takes the oldest, else the default if there is just one (`check_match`).
    """
    if reference.version:
        fitting = (one for one in definitions if one.version == reference.version or not (one.version or one.hidden))
        return next(fitting, None)
    oldest = next((one for one in definitions if one.oldest), None)
    defaults = [one for one in definitions if not one.hidden]
    return oldest or (defaults[0] if len(defaults) == 1 else None)


def references(path: Path) -> dict[str, Reference]:
    """Return what a file wants of others (the undefined symbols of .dynsym), by name.

    Of a name that is asked for in several versions, the last in the table is kept.

    Raises:
        ElfError: the file cannot be read as one.
        OSError: it cannot be opened.
    """
    with open_image(path) as image:
        return {reference.name: reference for reference in _read_references(image)}


def _is_definition(information: int, other: int, section: int, value: int) -> bool:
    kind = information & 15
    return (
        bool(section)
        and (value != 0 or section == _ABSOLUTE or kind == _THREAD_LOCAL)
        and kind in _TYPES
        and information >> 4 in _BINDINGS
        and other & 3 in _SEEN_BY_OTHERS
    )


def _read_version_word(image: ElfImage, index: int) -> int:
    return int.from_bytes(image.read_at(image.tags[VERSYM] + 2 * index, 2), "little") if VERSYM in image.tags else 0


def _read_versions(image: ElfImage) -> dict[int, Version]:
    """Return the versions by index.

    A program's copy of another file's data has the version that it needs of that file.
    """
    return {each.index: each for each in (*read_defined_versions(image), *read_needed_versions(image))}


def _read_references(image: ElfImage) -> Iterator[Reference]:
    if SYMTAB not in image.tags:
        return
    count = count_symbols(image) if image.of_kind(INTERP) else count_unhashed(image)
    versions = _read_versions(image)
    indices: Iterable[int] = repeat(0, count)
    if VERSYM in image.tags:
        indices = memoryview(image.read_at(image.tags[VERSYM], 2 * count)).cast("H")
    symbols = SYMBOL.iter_unpack(image.read_at(image.tags[SYMTAB], count * SYMBOL.size))
    for (name, information, other, section, _, _), index in zip(symbols, indices, strict=True):
        if not section and name and information >> 4 in _BINDINGS and other & 3 in _SEEN_BY_OTHERS:
            version = versions.get(index & _INDEX)
            yield Reference(
                name=image.strings.text(name),
                version=version.name if version else "",
                library=version.library if version else "",
                weak=information >> 4 == _WEAK,
            )

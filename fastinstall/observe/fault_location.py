"""Name the instruction where a signal struck, from the output of its handler (`_fault`) and the memory map."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.elf.image import ElfError, open_image
from fastinstall.model.facts import Fault, packages_of
from fastinstall.observe.process_memory import Mapping, read_mappings

_LONGEST = 15


def read_fault(address: int, maps: Iterable[str], *, decode: bool, truncated: bool = False) -> Fault | None:
    """Return the file that holds an address, and its contents there.

    Args:
        address: of the instruction, in the process that died.
        maps: lines of its `/proc/PID/maps`; other lines are skipped.
        decode: also name the instruction, which requires the extra `isa` and code for x86, and the CPU features that
            it needs.
        truncated: also look for truncated files; the crash may be in code that reads them, such as the loader's.

    Returns:
        None without a map.
    """
    mappings = tuple(read_mappings(maps))
    if not mappings:
        return None
    mapping = next((known for known in mappings if known.start <= address < known.end), None)
    short = _list_truncated_files(mappings) if truncated else ()
    if mapping is None or not mapping.is_file:
        return Fault(file=None, offset=0, code="", truncated=short)
    path, offset, code = Path(mapping.path), address - mapping.start + mapping.offset, b""
    with suppress(OSError), foreign.open_foreign_file(path) as stream:  # it may be gone, or truncated
        stream.seek(offset)
        code = stream.read(_LONGEST)
    fault = Fault(file=path, offset=offset, code=code.hex(), truncated=short)
    if not decode or not code:
        return fault
    from fastinstall.elf.isa.first_instruction import describe_first  # noqa: PLC0415 (rarely needed)

    instruction, features = describe_first(_find_machine(path), code, offset)
    return replace(fault, instruction=instruction, features=features)


def _find_machine(path: Path) -> str:
    """Return what a file's code is for; this machine where the file does not say."""
    with suppress(OSError, ElfError), open_image(path) as image:
        return image.machine
    return os.uname().machine


def _list_truncated_files(mappings: tuple[Mapping, ...]) -> tuple[Path, ...]:
    """List files that are empty or end before the segments in their headers; PIL's first."""
    found = []
    for path in dict.fromkeys(Path(each.path) for each in mappings if each.is_file and not each.is_deleted):
        try:
            with open_image(path):
                pass
        except ElfError as error:
            found += [path] if error.is_short else []
        except OSError:
            pass
    return tuple(sorted(found, key=lambda path: packages_of(path) is None))

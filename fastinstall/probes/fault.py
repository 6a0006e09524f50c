"""Name the instruction at which a signal killed a process, from what its handler printed (`_fault`)."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from fastinstall.binary.image import ElfError, open_image
from fastinstall.model.process import Fault
from fastinstall.probes.mappings import Mapping, read_mappings
from fastinstall.rules.running import packages_of
from fastinstall.system import foreign

_LONGEST = 15


def read_fault(address: int, maps: Iterable[str], *, decode: bool, truncated: bool = False) -> Fault | None:
    """Say which file holds an address, and what stands there.

    Args:
        address: of the instruction, in the process that died.
        maps: lines of its `/proc/PID/maps`; others among them are passed over.
        decode: also tell the instruction and what it asks of a CPU, which takes the extra `isa`.
        truncated: also look for files that are too short, whose reader need not lie in them: the loader's is its own.

    Returns:
        None where there is no map.
    """
    mappings = tuple(read_mappings(maps))
    if not mappings:
        return None
    mapping = next((known for known in mappings if known.start <= address < known.end), None)
    short = _truncated(mappings) if truncated else ()
    if mapping is None or not mapping.is_file:
        return Fault(file=None, offset=0, code="", truncated=short)
    fault = replace(_in_file(Path(mapping.path), address - mapping.start + mapping.offset), truncated=short)
    return _decoded(fault) if decode and fault.code else fault


def _truncated(mappings: tuple[Mapping, ...]) -> tuple[Path, ...]:
    """The files of PIL's first, then those of others."""
    files = dict.fromkeys(Path(each.path) for each in mappings if each.is_file and not each.is_deleted)
    return tuple(sorted(filter(_is_truncated, files), key=lambda path: packages_of(path) is None))


def _is_truncated(path: Path) -> bool:
    """Whether a file is empty, or ends before the segments that its headers speak of."""
    try:
        with open_image(path):
            return False
    except ElfError as error:
        return error.is_short
    except OSError:
        return False


def _in_file(path: Path, offset: int) -> Fault:
    """The code as the file has it; nothing where the file is gone or ends before, as a truncated one does."""
    try:
        with foreign.opened(path) as stream:
            stream.seek(offset)
            code = stream.read(_LONGEST)
    except OSError:
        code = b""
    return Fault(file=path, offset=offset, code=code.hex())


def _decoded(fault: Fault) -> Fault:
    from fastinstall.binary.isa_decode import describe, is_available  # noqa: PLC0415 (rarely needed)

    if not is_available():
        return fault
    instruction, features = describe(bytes.fromhex(fault.code), fault.offset)
    return replace(fault, instruction=instruction, features=features)

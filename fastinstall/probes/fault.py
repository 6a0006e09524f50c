"""Name the instruction at which a signal killed a process, from what its handler printed (`_fault`)."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from fastinstall.model.process import Fault
from fastinstall.probes.mappings import read_mappings
from fastinstall.system import foreign

_LONGEST = 15


def read_fault(address: int, maps: Iterable[str], *, decode: bool) -> Fault | None:
    """Say which file holds an address, and what stands there.

    Args:
        address: of the instruction, in the process that died.
        maps: lines of its `/proc/PID/maps`; others among them are passed over.
        decode: also tell the instruction and what it asks of a CPU, which takes the extra `isa`.

    Returns:
        None where there is no map.
    """
    mappings = tuple(read_mappings(maps))
    if not mappings:
        return None
    mapping = next((known for known in mappings if known.start <= address < known.end), None)
    if mapping is None or not mapping.is_file:
        return Fault(file=None, offset=0, code="")
    fault = _in_file(Path(mapping.path), address - mapping.start + mapping.offset)
    return _decoded(fault) if decode and fault.code else fault


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

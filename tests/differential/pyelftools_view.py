"""Reads ELF files with pyelftools, into values of `fastinstall.elf`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from fastinstall.elf.dynamic import DynamicFile
from fastinstall.elf.lookup import Definition, Reference, SymbolVersions

_BINDINGS = {"STB_GLOBAL", "STB_WEAK", "STB_LOOS"}
_TYPES = {"STT_NOTYPE", "STT_OBJECT", "STT_FUNC", "STT_COMMON", "STT_TLS", "STT_LOOS"}
_VISIBLE = {"STV_DEFAULT", "STV_PROTECTED"}
_LEVELS = {8: "x86-64-v4", 4: "x86-64-v3", 2: "x86-64-v2", 1: "x86-64-v1"}
_MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """Dynamic symbols: definitions that other files can find, undefined references, and all exported names."""

    definitions: dict[str, list[Definition]]
    references: set[Reference]
    exported: set[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The values of a file that are compared; `symbols` is None if no section header leads to the symbols."""

    dynamic: DynamicFile
    versions: SymbolVersions
    symbols: Symbols | None
    making: tuple[tuple[str, ...], tuple[str, ...], bool]


def read_truth(path: Path) -> Truth:
    """Read a file with pyelftools."""
    with path.open("rb") as stream:
        elf: Any = ELFFile(stream)
        table = elf.get_section_by_name(".dynsym")
        return Truth(
            dynamic=_dynamic(elf),
            versions=_versions(elf),
            symbols=_symbols(elf, table) if isinstance(table, SymbolTableSection) else None,
            making=(
                _lines(elf, ".comment"),
                _lines(elf, ".GCC.command.line"),
                elf.get_section_by_name(".symtab") is None,
            ),
        )


def _symbols(elf: Any, table: Any) -> Symbols:
    needed, defined = _version_names(elf)
    indices = next((section for section in elf.iter_sections() if isinstance(section, GNUVerSymSection)), None)
    found = Symbols(definitions={}, references=set(), exported=set())
    for number, symbol in enumerate(table.iter_symbols()):
        wanted = symbol["st_shndx"] == "SHN_UNDEF"
        if symbol.name and not wanted:
            found.exported.add(symbol.name)
        if not symbol.name or not _is_global(symbol):
            continue
        index, hidden = _index(indices, number)
        version, _ = needed.get(index, (defined.get(index, ""), ""))
        if wanted:
            found.references.add(Reference(name=symbol.name, version=version))
        elif _has_place(symbol):
            one = Definition(name=symbol.name, version=version, hidden=hidden, oldest=index <= 2)
            found.definitions.setdefault(symbol.name, []).append(one)
    return found


def _is_global(symbol: Any) -> bool:
    return symbol["st_info"]["bind"] in _BINDINGS and symbol["st_other"]["visibility"] in _VISIBLE


def _has_place(symbol: Any) -> bool:
    kind = symbol["st_info"]["type"]
    return kind in _TYPES and bool(symbol["st_value"] or symbol["st_shndx"] == "SHN_ABS" or kind == "STT_TLS")


def _index(indices: Any, number: int) -> tuple[int, bool]:
    if indices is None:
        return 0, False
    index = indices.get_symbol(number)["ndx"]
    if isinstance(index, str):
        return {"VER_NDX_LOCAL": 0, "VER_NDX_GLOBAL": 1}[index], False
    return index & 0x7FFF, bool(index & 0x8000)


def _version_names(elf: Any) -> tuple[dict[int, tuple[str, str]], dict[int, str]]:
    needed: dict[int, tuple[str, str]] = {}
    defined: dict[int, str] = {}
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for need, names in section.iter_versions():
                needed |= {one["vna_other"] & 0x7FFF: (one.name, need.name) for one in names}
        elif isinstance(section, GNUVerDefSection):
            for entry, names in section.iter_versions():
                if not entry["vd_flags"] & 1:
                    defined[entry["vd_ndx"] & 0x7FFF] = next(names).name
    return needed, defined


def _versions(elf: Any) -> SymbolVersions:
    needed: dict[str, tuple[str, ...]] = {}
    for section in elf.iter_sections():
        for need, names in section.iter_versions() if isinstance(section, GNUVerNeedSection) else ():
            needed[str(need.name)] = (*needed.get(str(need.name), ()), *(one.name for one in names))
    return SymbolVersions(needed=needed, defined=tuple(_version_names(elf)[1].values()))


def _dynamic(elf: Any) -> DynamicFile:
    segment = next((segment for segment in elf.iter_segments() if isinstance(segment, DynamicSegment)), None)
    tags: list[Any] = list(segment.iter_tags()) if segment else []
    last: dict[str, Any] = {tag.entry.d_tag: tag for tag in tags}
    flags = last["DT_FLAGS"].entry.d_val if "DT_FLAGS" in last else 0
    flags_1 = last["DT_FLAGS_1"].entry.d_val if "DT_FLAGS_1" in last else 0
    notes = [note for one in elf.iter_segments() if one["p_type"] == "PT_NOTE" for note in one.iter_notes()]
    return DynamicFile(
        machine=_MACHINES[elf["e_machine"]],
        interpreter=next((one.get_interp_name() for one in elf.iter_segments() if one["p_type"] == "PT_INTERP"), None),
        soname=last["DT_SONAME"].soname if "DT_SONAME" in last else None,
        needed=tuple(tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"),
        rpath=last["DT_RPATH"].rpath if "DT_RPATH" in last else None,
        runpath=last["DT_RUNPATH"].runpath if "DT_RUNPATH" in last else None,
        default_directories=not flags_1 & 0x800,
        symbolic="DT_SYMBOLIC" in last or bool(flags & 2),
        isa_needed=_isa_needed(notes),
        build_id=next((note["n_desc"] for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"), None),
        page_size=_page_size(elf),
    )


def _page_size(elf: Any) -> int:
    """Return the largest power of two that divides (address - offset) of every loaded segment; 0 if all powers do."""
    loaded = [one for one in elf.iter_segments() if one["p_type"] == "PT_LOAD"]
    powers = [
        1 << bit for bit in range(64) if all((one["p_vaddr"] - one["p_offset"]) % (1 << bit) == 0 for one in loaded)
    ]
    return 0 if len(powers) == 64 else powers[-1]


def _isa_needed(notes: list[Any]) -> str | None:
    for note in notes:
        for one in note["n_desc"] if note["n_type"] == "NT_GNU_PROPERTY_TYPE_0" else ():
            if one["pr_type"] in (0xC0008002, "GNU_PROPERTY_X86_ISA_1_NEEDED"):
                data = one["pr_data"]
                bits = data if isinstance(data, int) else int.from_bytes(bytes(data), "little")
                return next((level for bit, level in _LEVELS.items() if bits & bit), None)
    return None


def _lines(elf: Any, name: str) -> tuple[str, ...]:
    section = elf.get_section_by_name(name)
    if section is None or section["sh_type"] == "SHT_NOBITS":
        return ()
    lines = section.data().split(b"\0")
    return tuple(dict.fromkeys(line.decode() for line in lines if line))

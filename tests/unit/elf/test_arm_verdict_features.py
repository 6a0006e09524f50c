"""Which aarch64 extension an instruction needs, by encodings from LLVM's assembler, and what a file requires."""

import struct
from pathlib import Path

import pytest
from support.elf.writer import Elf

from fastinstall.core.architecture import AARCH64
from fastinstall.elf.description import Confidence
from fastinstall.elf.isa.arm_verdict import asks_cpu, count_features
from fastinstall.elf.isa.verdict import scan_isa

INSTRUCTIONS = {
    "ldadd x0, x1, [x2]": (0xF8200041, "atomics"),
    "cas w0, w1, [x2]": (0x88A07C41, "atomics"),
    "swpal x1, x2, [x3]": (0xF8E18062, "atomics"),
    "sdot v0.4s, v1.16b, v2.16b": (0x4E829420, "asimddp"),
    "usdot v0.4s, v1.16b, v2.16b": (0x4E829C20, "i8mm"),
    "smmla v0.4s, v1.16b, v2.16b": (0x4E82A420, "i8mm"),
    "fadd v0.8h, v1.8h, v2.8h": (0x4E421420, "asimdhp"),
    "fadd h0, h1, h2": (0x1EE22820, "asimdhp"),
    "fmlal v0.4s, v1.4h, v2.4h": (0x4E22EC20, "asimdfhm"),
    "bfdot v0.4s, v1.8h, v2.8h": (0x6E42FC20, "bf16"),
    "bfmmla v0.4s, v1.8h, v2.8h": (0x6E42EC20, "bf16"),
    "sqrdmlah v0.4s, v1.4s, v2.4s": (0x6E828420, "asimdrdm"),
    "crc32x w0, w1, x2": (0x9AC24C20, "crc32"),
    "ptrue p0.s": (0x2598E3E0, "sve"),
    "whilelo p0.s, x0, x1": (0x25A11C00, "sve"),
    "rdvl x0, #1": (0x04BF5020, "sve"),
    "cntd x0": (0x04E0E3E0, "sve"),
    # every CPU for aarch64 can run these
    "add v0.4s, v1.4s, v2.4s": (0x4EA28420, None),
    "fcvt h0, s1": (0x1E23C020, None),
    "fcvtl v0.4s, v1.4h": (0x0E217820, None),
    "ldr q0, [x1]": (0x3DC00020, None),
    "smaxv s5, v22.4s": (0x4EB0AAC5, None),
    "paciasp": (0xD503233F, None),
    "prfm pldl1keep, [x0]": (0xF9800000, None),
}
LOAD_OF_A_VECTOR = 0xA540A000  # ld1w {z0.s}, p0/z, [x0]
READ_FEATURES = 0xD5380600  # mrs x0, ID_AA64ISAR0_EL1
RETURN = 0xD65F03C0


def code(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_an_instruction_belongs_to_its_extension(text: str) -> None:
    word, feature = INSTRUCTIONS[text]
    assert count_features(code(word, word, RETURN)) == ({feature: 2} if feature else {})


def test_a_lone_word_that_looks_like_sve_is_taken_for_a_constant() -> None:
    assert count_features(code(LOAD_OF_A_VECTOR)) == {}
    assert count_features(code(LOAD_OF_A_VECTOR, INSTRUCTIONS["ptrue p0.s"][0])) == {"sve": 2}


def test_a_question_to_the_cpu_is_seen() -> None:
    assert asks_cpu(code(RETURN, READ_FEATURES))
    assert not asks_cpu(code(RETURN))


@pytest.mark.parametrize(
    ("imported", "asks"), [((), False), (("memcpy",), False), (("getauxval",), True), (("memcpy", "getauxval"), True)]
)
def test_what_a_file_holds_it_requires_unless_it_asks_the_cpu(
    tmp_path: Path, imported: tuple[str, ...], *, asks: bool
) -> None:
    content = code(INSTRUCTIONS["ldadd x0, x1, [x2]"][0], RETURN)
    elf = Elf(machine=AARCH64.elf_machine, exported={"f": content}, static={"f": content}, imported=imported)
    scan = scan_isa(elf.write(tmp_path / "module.so"))
    assert scan.confidence is Confidence.LIKELY
    assert (scan.requires, scan.contains) == (((), ("atomics",)) if asks else (("atomics",), ()))
    assert scan.level == (AARCH64.levels[0].name if asks else None)

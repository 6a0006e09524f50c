"""What the first bytes of some code are, and what they need, by the machine that the code is for."""

import pytest

from fastinstall.elf.isa.first_instruction import describe_first

AVX2 = bytes.fromhex("c4e27d3006")  # vpmovzxbw ymm0, [rsi]
DOT = bytes.fromhex("2094824e")  # sdot v0.4s, v1.16b, v2.16b
SVE = bytes.fromhex("e3e39825")  # ptrue p0.s
PLAIN = bytes.fromhex("2084a24e")  # add v0.4s, v1.4s, v2.4s


@pytest.mark.parametrize(
    ("machine", "code", "told"),
    [
        ("x86_64", AVX2, ("vpmovzxbw ymm0,[rsi]", ("avx2",))),
        ("aarch64", DOT + PLAIN, ("", ("asimddp",))),
        ("aarch64", SVE, ("", ("sve",))),
        ("aarch64", PLAIN + DOT, ("", ())),
        ("aarch64", DOT[:3], ("", ())),
        ("riscv64", DOT, ("", ())),
    ],
)
def test_code_is_named_by_its_machine(machine: str, code: bytes, told: tuple[str, tuple[str, ...]]) -> None:
    assert describe_first(machine, code, 0) == told

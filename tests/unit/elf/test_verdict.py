"""What single instructions require of a CPU, in files of a few functions written byte by byte."""

from pathlib import Path

import pytest
from support.elf.writer import Elf, each_damaged

from fastinstall.elf.description import Confidence, IsaScan
from fastinstall.elf.isa.verdict import scan_isa

RET = bytes.fromhex("c3")
CODE = {
    "haddps xmm0, xmm1": "f20f7cc1",
    "pshufb xmm0, xmm1": "660f3800c1",
    "pmovzxbw xmm0, xmm1": "660f3830c1",
    "crc32 eax, cl": "f20f38f0c1",
    "popcnt eax, ecx": "f30fb8c1",
    "vaddps xmm0, xmm1, xmm2": "c5f058c2",
    "vpaddb ymm0, ymm1, ymm2": "c5f5fcc2",
    "vfmadd213ps ymm0, ymm1, ymm2": "c4e275a8c2",
    "vaddps zmm0, zmm1, zmm2": "62f17448" + "58c2",
    "andn eax, ecx, edx": "c4e270f2c2",
    "mulx eax, ecx, edx": "c4e273f6c2",
    "movbe eax, [rdi]": "0f38f007",
    "lzcnt eax, ecx": "f30fbdc1",
    "aesenc xmm0, xmm1": "660f38dcc1",
    "lock cmpxchg16b [rdi]": "f0480fc70f",
    "tzcnt eax, ecx": "f30fbcc1",
    "pause": "f390",
    "endbr64": "f30f1efa",
    "prefetchw [rdi]": "0f0d0f",
    "nop [rax+rax]": "660f1f440000",
    "addps xmm0, xmm1": "0f58c1",
    "xgetbv": "0f01d0",
    "cpuid": "0fa2",
}


def scanned(directory: Path, *instructions: str, times: int = 1, **changes: object) -> IsaScan:
    body = b"".join(bytes.fromhex(CODE[name]) for name in instructions) * times + RET
    elf = Elf(exported={"function": body, **{f"other_{n}": b"\x90" * 16 + RET for n in range(3)}}, **changes)  # type: ignore[arg-type]
    return scan_isa(elf.write(directory / "module.so"))


@pytest.mark.parametrize(
    ("instruction", "features", "level"),
    [
        ("haddps xmm0, xmm1", ("pni",), "x86-64-v2"),
        ("pshufb xmm0, xmm1", ("ssse3",), "x86-64-v2"),
        ("pmovzxbw xmm0, xmm1", ("sse4_1",), "x86-64-v2"),
        ("crc32 eax, cl", ("sse4_2",), "x86-64-v2"),
        ("popcnt eax, ecx", ("popcnt",), "x86-64-v2"),
        ("lock cmpxchg16b [rdi]", ("cx16",), "x86-64-v2"),
        ("vaddps xmm0, xmm1, xmm2", ("avx",), "x86-64-v3"),
        ("vpaddb ymm0, ymm1, ymm2", ("avx2",), "x86-64-v3"),
        ("vfmadd213ps ymm0, ymm1, ymm2", ("fma",), "x86-64-v3"),
        ("andn eax, ecx, edx", ("bmi1",), "x86-64-v3"),
        ("mulx eax, ecx, edx", ("bmi2",), "x86-64-v3"),
        ("movbe eax, [rdi]", ("movbe",), "x86-64-v3"),
        ("lzcnt eax, ecx", ("abm",), "x86-64-v3"),
        ("vaddps zmm0, zmm1, zmm2", ("avx512f",), "x86-64-v4"),
        ("aesenc xmm0, xmm1", ("aes",), None),
    ],
)
def test_an_instruction_requires_its_feature(
    tmp_path: Path, instruction: str, features: tuple[str, ...], level: str | None
) -> None:
    found = scanned(tmp_path, instruction)
    assert (found.requires, found.level, found.confidence) == (features, level, Confidence.CERTAIN)
    assert found.contains == ()
    assert 0 < found.shares[features[0]] < 1
    assert found.evidence[0].startswith("no dispatcher")


@pytest.mark.parametrize(
    "instruction",
    ["tzcnt eax, ecx", "pause", "endbr64", "prefetchw [rdi]", "nop [rax+rax]", "addps xmm0, xmm1"],
)
def test_what_every_cpu_passes_over_proves_nothing(tmp_path: Path, instruction: str) -> None:
    found = scanned(tmp_path, instruction)
    assert (found.requires, found.contains, found.level) == ((), (), "x86-64-v1")


def test_only_lzcnt_goes_wrong_without_a_signal(tmp_path: Path) -> None:
    assert scanned(tmp_path, "lzcnt eax, ecx", "popcnt eax, ecx").silent == ("abm",)
    assert scanned(tmp_path, "popcnt eax, ecx").silent == ()


def test_beside_a_dispatcher_code_for_other_cpus_is_contained(tmp_path: Path) -> None:
    found = scanned(tmp_path, "cpuid", "addps xmm0, xmm1", "addps xmm0, xmm1", "vpaddb ymm0, ymm1, ymm2")
    assert (found.requires, found.contains, found.confidence) == ((), ("avx2",), Confidence.LIKELY)
    assert "functions cannot be told apart" in "\n".join(found.evidence)


def test_a_dispatcher_is_ignored_if_most_code_needs_one_cpu_kind(tmp_path: Path) -> None:
    found = scanned(tmp_path, "cpuid", *["vpaddb ymm0, ymm1, ymm2"] * 40)
    assert (found.requires, found.confidence) == (("avx2",), Confidence.LIKELY)


def test_the_files_declared_level_is_reported_beside_its_needs(tmp_path: Path) -> None:
    found = scanned(tmp_path, "vaddps xmm0, xmm1, xmm2", isa="x86-64-v3")
    assert found.declared == "x86-64-v3"
    assert "declares to need x86-64-v3" in found.evidence[0]


def test_constants_among_code_require_nothing(tmp_path: Path) -> None:
    constants = bytes.fromhex("0617271f0e16") * 40 + bytes.fromhex(CODE["vpaddb ymm0, ymm1, ymm2"])
    elf = Elf(exported={"table": constants, "function": RET, **{f"other_{n}": RET for n in range(9)}})
    found = scan_isa(elf.write(tmp_path / "module.so"))
    assert found.requires == ()
    assert found.confidence is Confidence.LIKELY


def test_without_a_decoder_the_isa_note_is_used_as_unverified(tmp_path: Path) -> None:
    elf = Elf(isa="x86-64-v2", exported={"function": RET})
    found = scan_isa(elf.write(tmp_path / "module.so"), decode=False)
    assert found.confidence is Confidence.UNVERIFIED
    assert (found.requires, found.level) == (("cx16", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"), "x86-64-v2")
    assert found.instructions == 0


@pytest.mark.parametrize(
    ("switches", "level"),
    [
        ("GNU C17 12.2.0 -mavx2 -O3", "x86-64-v3"),
        ("GNU C17 12.2.0 -msse4 -O3", "x86-64-v2"),
        ("GNU C17 12.2.0 -march=x86-64-v4", "x86-64-v4"),
        ("GNU C17 12.2.0 -march=haswell", "x86-64-v3"),
        ("GNU C17 12.2.0 -march=x86-64 -mtune=generic", "x86-64-v1"),
        ("GNU C17 12.2.0 -march=native -O3", None),
        ("GNU C17 12.2.0 -O3", None),
    ],
)
def test_without_the_decoder_recorded_switches_speak(tmp_path: Path, switches: str, level: str | None) -> None:
    elf = Elf(switches=(switches,), exported={"function": RET})
    found = scan_isa(elf.write(tmp_path / "module.so"), decode=False)
    assert (found.level, found.confidence) == (level, Confidence.UNVERIFIED)
    assert switches in "\n".join(found.evidence)


def test_switches_that_differ_from_part_to_part_say_nothing(tmp_path: Path) -> None:
    switches = ("GNU C17 12.2.0 -march=x86-64-v2 -O3", "GNU C17 12.2.0 -march=x86-64-v2 -mavx512f -O3")
    elf = Elf(switches=switches, exported={"function": RET})
    found = scan_isa(elf.write(tmp_path / "module.so"), decode=False)
    assert (found.requires, found.level) == ((), None)


def test_code_for_other_machines_is_a_problem(tmp_path: Path) -> None:
    found = scan_isa(Elf(machine=8, exported={"function": RET}).write(tmp_path / "module.so"))
    assert found.problem == "built for machine 8: only code for x86-64 and aarch64 is told apart"


@pytest.mark.parametrize("content", [b"", b"\x7fELF", bytes(4096), b"#!/bin/sh\n" * 100])
def test_what_is_no_elf_file_is_a_problem(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "module.so"
    path.write_bytes(content)
    assert scan_isa(path).problem
    assert scan_isa(tmp_path / "missing.so").problem.startswith("cannot be read")


def test_no_damage_of_a_byte_ends_in_anything_but_a_scan(tmp_path: Path) -> None:
    body = b"".join(bytes.fromhex(text) for text in CODE.values()) + RET
    elf = Elf(isa="x86-64-v3", exported={f"function_{n}": body for n in range(3)}, imported=("getauxval",))
    path = elf.write(tmp_path / "module.so")
    problems = {scan_isa(path, sha256="0").problem for _position in each_damaged(path, step=3)}
    assert "" in problems
    assert len(problems) > 1

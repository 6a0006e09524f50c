"""The first instructions of functions for aarch64, as compilers write them with and without optimisation."""

import pytest

from fastinstall.elf.symbols import begins_unoptimised

UNOPTIMISED = {
    "gcc": "fd7bbda9 fd030091 e01700f9 e11300f9",  # stp x29,x30,[sp,#-48]!; mov x29,sp; str x0,[sp,#40]; str x1,...
    "gcc, no calls": "ff8300d1 e00f00f9",  # sub sp,sp,#32; str x0,[sp,#24]
    "gcc, saved registers": "fd7bb5a9 fd030091 f30b00f9 e80f00fd e02700f9",  # str x19, str d8, str x0
    "gcc, branch protection": "3f2303d5 fd7bbda9 fd030091 e01f00b9",  # paciasp; ...; str w0,[sp,#28]
    "clang": "ffc300d1 fd7b02a9 fd830091 a0831ff8",  # sub; stp; add x29,sp,#32; stur x0,[x29,#-8]
    "clang, protected stack": "ff4301d1 fd7b04a9 fd030191 08000090 080140f9 080140f9 a8831ff8 a0831ef8",
    "a floating-point number": "ff8300d1 e00f00bd",  # sub sp,sp,#32; str s0,[sp,#12]
}
OPTIMISED = {
    "leaf": "00040091 c0035fd6",  # add x0,x0,#1; ret
    "frame": "fd7bbea9 fd030091 f30b00f9 f30300aa 00000094",  # stp; mov x29,sp; str x19; mov x19,x0; bl
    "spilled later": "ff8300d1 f30300aa e00f00f9",  # sub sp; mov x19,x0; str x0
    "the second parameter": "ff8300d1 e10f00f9",  # sub sp; str x1,[sp,#24]
    "no frame": "e00f00f9",  # str x0,[sp,#24]
    "elsewhere": "ff8300d1 200000f9",  # sub sp; str x0,[x1]
    "two parameters": "ff8300d1 e00701a9",  # sub sp; stp x0,x1,[sp,#16]
    "cut off": "ff8300d1 e00f",
}


@pytest.mark.parametrize("code", UNOPTIMISED.values(), ids=UNOPTIMISED.keys())
def test_a_parameter_stored_in_a_frame_is_the_sign(code: str) -> None:
    assert begins_unoptimised(bytes.fromhex(code))


@pytest.mark.parametrize("code", OPTIMISED.values(), ids=OPTIMISED.keys())
def test_other_beginnings_are_not(code: str) -> None:
    assert not begins_unoptimised(bytes.fromhex(code))

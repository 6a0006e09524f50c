"""Our kernels pack, unpack, encode and decode rows as Pillow does, and release the GIL meanwhile."""

import json
from pathlib import Path

import pytest
from integration.kernels.builds import KernelsBuild, run_script

from fastinstall.proof.matrix_cases import FEW_SIZES, matrix_cases
from fastinstall.proof.runs import ProofStack

BEGINS = ("pack/", "unpack/", "array/", "pickle/", "bitmap/", "encode-jpeg/")
PACKING = ("src/encode.c", "src/libImaging/Pack.c", "src/libImaging/Unpack.c", "src/libImaging/JpegEncode.c")
FILES = (*PACKING, "src/libImaging/JpegDecode.c")


def test_the_kernels_stand_in_the_source(build: KernelsBuild) -> None:
    texts = {file: (build.build_tree.source / file).read_text(errors="replace") for file in FILES}
    assert [file for file, text in texts.items() if "__source" not in text] == []


def test_rows_are_packed_and_unpacked_as_by_pillow(build: KernelsBuild, ours: ProofStack) -> None:
    chosen = tuple(case for case in matrix_cases(sizes=FEW_SIZES) if case.startswith(BEGINS))
    assert build.differences(ours, chosen) == ()


@pytest.mark.parametrize("file", PACKING)
def test_rows_are_packed_without_a_look_beside_them(file: str, build: KernelsBuild) -> None:
    same = build.changed(f"reviewed-{Path(file).stem}", file, r"\Z", "/* compiled again */\n")
    chosen = tuple(case for case in matrix_cases(sizes=((5, 4), (24, 7)), modes=("RGB",)) if case.startswith(BEGINS))
    assert build.sanitized_faults(f"sanitized-{Path(file).stem}", same, chosen) == ()


def test_a_file_cut_anywhere_gives_the_same_rows_and_errors(build: KernelsBuild, ours: ProofStack) -> None:
    found, expected = (run_script(stack, "jpeg_cuts.py") for stack in (ours, build.reference))
    assert found == expected


def test_large_pictures_are_worked_on_while_other_threads_run(build: KernelsBuild, ours: ProofStack) -> None:
    assert json.loads(run_script(ours, "packed_at_once.py")[0]) == {
        "calls": 1,
        "released": True,
        "saved": True,
        "small": False,
        "shared": "(0, 0, b'')",
        "composited": True,
        "small composited": False,
    }
    assert json.loads(run_script(build.reference, "packed_at_once.py")[0]) == {
        "calls": 286,
        "released": False,
        "saved": False,
        "small": False,
        "shared": "",
        "composited": False,
        "small composited": False,
    }

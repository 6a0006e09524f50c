"""What `inspect` shows of a conda environment."""

from dataclasses import replace
from pathlib import PurePosixPath

from support.suite.golden import Golden
from support.values.builders import healthy_facts

from fastinstall.cli.console import SHOWN, Page
from fastinstall.cli.text.facts_page import facts_text
from fastinstall.model.conda import Conda, CondaClaim, CondaClash, CondaPackage, CondaTool

PILLOW = CondaPackage(name="pillow", version="13.0.0", build="py311_0", channel="conda-forge")
JPEG = CondaPackage(name="jpeg", version="9e", build="h0_1")
OTHER = CondaPackage(name="numpy", version="2.0", build="py311_0")
FILES = tuple(f"include/tiff{number}.h" for number in range(SHOWN + 2))


def _rows(conda: Conda | None, *, verbose: bool = False) -> list[str]:
    text = facts_text(replace(healthy_facts(), conda=conda), Page(verbose=verbose))
    return [" ".join(line.split()) for line in text.splitlines()]


def test_an_environment_of_another_kind_has_no_word_of_conda() -> None:
    assert not [row for row in _rows(None) if "conda" in row]


def test_a_whole_environment_is_told_in_a_few_rows(golden: Golden) -> None:
    claims = (CondaClaim(dist=PILLOW.dist, files=()), CondaClaim(dist=JPEG.dist, files=()))
    command = ("/opt/conda/bin/conda",)
    tool = CondaTool(
        command=command, version="24.7.1", root=PurePosixPath("/opt/conda"), solver="libmamba", found_by="CONDA_EXE"
    )
    rows = _rows(Conda(packages=(PILLOW, JPEG, OTHER), unreadable={}, claims=claims, tool=tool))
    told = [row for row in rows if "conda" in row]
    assert len(told) == 4
    golden("\n".join(told))


def test_what_is_wrong_is_told_and_long_lists_are_cut(golden: Golden) -> None:
    conda = Conda(
        packages=(PILLOW,),
        unreadable={"x-1-0.json": "empty"},
        claims=(CondaClaim(dist=PILLOW.dist, files=FILES, missing=FILES[:1], altered=FILES[1:]),),
        clashes=(
            CondaClash(path="include/jpeglib.h", claimants=("jpeg-9e-h0_1", "turbo-3-0"), holder="turbo-3-0"),
            CondaClash(path="include/jconfig.h", claimants=("jpeg-9e-h0_1", "turbo-3-0"), holder="turbo-3-0"),
            CondaClash(path="lib/libjpeg.so", claimants=("jpeg-9e-h0_1", "turbo-3-0")),
        ),
        pins=("pillow *=simd_*",),
        is_base=True,
        stale=("lib/python3.10/site-packages",),
        debris=("conda-meta/x.json.c~",),
    )
    rows = _rows(conda)
    golden("\n".join(row for row in rows if row.startswith("conda packages ")))
    assert f"not as recorded pillow-13.0.0-py311_0: {', '.join(FILES[:SHOWN])} and 2 more" in rows
    both = "by jpeg-9e-h0_1 and turbo-3-0; content"
    assert f"claimed twice include/jpeglib.h, include/jconfig.h {both} of turbo-3-0" in rows
    assert f"claimed twice lib/libjpeg.so {both} matches none of them" in rows
    assert {"unreadable x-1-0.json: empty", "pinned pillow *=simd_*"} <= {*rows}
    assert {"stale lib/python3.10/site-packages", "left over conda-meta/x.json.c~"} <= {*rows}
    assert f"not as recorded pillow-13.0.0-py311_0: {', '.join(FILES)}" in _rows(conda, verbose=True)

from fastinstall.cmerge.documents import MergedItem, MergeReport, NotAccelerated, TextOrigin
from fastinstall.cmerge.trees import explain


def item(name: str, origin: TextOrigin, file: str = "src/Resample.c", reason: str = "") -> MergedItem:
    return MergedItem(file=file, kind="function", name=name, origin=origin, reason=reason)


REPORT = MergeReport(
    base="pillow 12.1.1",
    upstream="pillow 13.0.0",
    kernels="pillow-simd 12.1.1.post0",
    items=(
        item("resample", TextOrigin.CANONICAL, reason="both changed it"),
        item("rgb2l", TextOrigin.KEPT, "src/Convert.c", "Pillow's own is faster"),
        item("clip8", TextOrigin.KERNELS, reason="only the fork changed it"),
        item("ImagingSIMD.h", TextOrigin.KERNELS, "src/ImagingSIMD.h", "only the fork has it"),
    ),
    files=("src/Convert.c", "src/Resample.c"),
    new_files=("src/ImagingSIMD.h",),
    guards=("src/Resample.c: resample",),
    not_accelerated=(NotAccelerated(what="color-lut", reason="both changed interpolate"),),
    unused_rules=("guard src/Filter.c: ImagingFilter",),
)


def test_the_first_lines_say_what_was_merged_and_how_much() -> None:
    assert explain(REPORT)[:2] == (
        "pillow-simd 12.1.1.post0 merged onto pillow 13.0.0; both come from pillow 12.1.1",
        "3 definitions in 2 files: 1 the fork's, 1 merged in canonical form, 1 upstream's, by a rule",
    )


def test_every_definition_stands_below_its_file_with_origin_and_reason() -> None:
    assert explain(REPORT)[2:7] == (
        "src/Convert.c",
        "  function rgb2l  upstream's, by a rule  Pillow's own is faster",
        "src/Resample.c",
        "  function resample  merged in canonical form  both changed it",
        "  function clip8     the fork's                only the fork changed it",
    )


def test_what_is_left_out_guarded_or_unused_is_said() -> None:
    assert explain(REPORT)[7:] == (
        "files only the fork has:",
        "  src/ImagingSIMD.h",
        "chosen at run time, by a condition of the recipe:",
        "  src/Resample.c: resample",
        "not accelerated:",
        "  color-lut: both changed interpolate",
        "rules that matched nothing:",
        "  guard src/Filter.c: ImagingFilter",
    )


def test_an_empty_report_has_no_sections() -> None:
    empty = MergeReport(base="a 1", upstream="a 2", kernels="b 1", items=(), files=())
    assert explain(empty) == ("b 1 merged onto a 2; both come from a 1", "0 definitions in 0 files: none")

"""Results in the forms of other projects: what means the same is written, what does not is refused or left out."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_reports import (
    OPERATIONS,
    candidate,
    gain,
    large_jpegs,
    nothing_helps,
    report,
    small_jpegs,
    timing,
    whole_report,
)

from fastinstall.bench.report import CandidateKind, CandidateOutcome, CandidateResult
from fastinstall.cli.bench.exports import export
from fastinstall.core.errors import UsageError

OUT = Path("/out")
SYSTEM = "linux_AMD-EPYC-9B45"


def _decoder(name: str, *, left_out: int = 0) -> CandidateResult:
    return CandidateResult(
        candidate=candidate(name),
        outcome=CandidateOutcome.MEASURED,
        versions={name: "1.2.3"},
        timing=timing(0.9, 50.0, 3.0, 11.0, 0.01, 0.03),
        gain=gain(1.1),
        left_out=left_out,
    )


def _imread(*others: CandidateResult) -> dict[str, Any]:
    result = large_jpegs()
    found = export("imread-benchmark", report(replace(result, candidates=(*result.candidates, *others))), OUT)
    return {path.as_posix(): json.loads(text) for path, text in found.items()}


def test_decoders_of_whole_pictures_have_a_file_each_beside_pillow() -> None:
    found = _imread(_decoder("simplejpeg"), _decoder("kornia-rs"))
    place = f"/out/12-mp-jpeg-generated/{SYSTEM}"
    assert sorted(found) == [f"{place}/{each}_1t_results.json" for each in ("kornia", "pillow", "simplejpeg")]
    assert {each["library"] for each in found.values()} == {"kornia", "pillow", "simplejpeg"}


def test_the_figure_is_that_of_decoding_from_memory() -> None:
    found = next(each for each in _imread(_decoder("simplejpeg")).values() if each["library"] == "simplejpeg")
    results = found["benchmark_results"]
    assert found["mode"] == "memory"
    assert results["us_per_image_mean"] == pytest.approx(50_000)
    assert results["images_per_second_mean"] == results["images_per_second_p99"] == pytest.approx(20)
    assert results["raw_times_s"] == [pytest.approx(0.6)]
    assert (found["num_images"], found["num_runs"], results["num_images_decoded"]) == (12, 1, 12)
    assert found["system_info"]["simplejpeg"] == "1.2.3"
    assert found["system_info"]["CPU"]["brand_raw"] == "AMD EPYC 9B45"


def test_pillows_figure_takes_its_conversion_in() -> None:
    found = next(each for each in _imread().values() if each["library"] == "pillow")
    assert found["benchmark_results"]["us_per_image_mean"] == pytest.approx(58_110)


def test_what_pillows_figure_lacks_is_said_in_its_file() -> None:
    found = {each["library"]: each["fastinstall"]["lacks"] for each in _imread(_decoder("simplejpeg")).values()}
    assert "array" in found["pillow"]
    assert found["simplejpeg"] == ""


@pytest.mark.parametrize("name", ["opencv-area", "opencv-reduced", "simplejpeg-scaled", "pyvips", "pillow-draft"])
def test_what_does_another_work_is_left_out(name: str) -> None:
    assert {each["library"] for each in _imread(_decoder(name)).values()} == {"pillow"}


def test_a_library_that_cannot_load_all_images_is_left_out() -> None:
    assert len(_imread(_decoder("turbojpeg", left_out=1))) == 1


def test_images_that_are_not_all_jpeg_are_refused() -> None:
    with pytest.raises(UsageError, match="all JPEG"):
        export("imread-benchmark", report(small_jpegs(), nothing_helps()), OUT)


def test_a_loader_of_somebodys_own_is_not_called_pillow() -> None:
    result = large_jpegs()
    own = replace(result.baseline.candidate, adapter="own loader", kind=CandidateKind.BASELINE)
    mine = replace(result, baseline=replace(result.baseline, candidate=own))
    with pytest.raises(UsageError):
        export("imread-benchmark", report(mine), OUT)


def test_operations_are_lines_of_pillow_perf_before_and_after() -> None:
    text = export("pillow-perf", whole_report(), OUT)[OUT]
    line = re.compile(r"    .{18} +\d+\.\d{5} s +\d+\.\d{2} Mpx/s")
    assert [each.split()[:3] for each in text.splitlines() if line.fullmatch(each)] == [
        ["to", "455x256", "lzs"],
        ["RGB", "to", "L"],
        ["to", "455x256", "lzs"],
        ["RGB", "to", "L"],
    ]
    assert "    to 455x256 lzs      0.02060 s   100.66 Mpx/s" in text
    assert '["455x256", "lzs", 0.002]' in text
    assert "Scale 1920\N{MULTIPLICATION SIGN}1080 RGB image" in text


def test_operations_that_are_other_calls_are_left_out() -> None:
    text = export("pillow-perf", whole_report(), OUT)[OUT]
    assert "rotate 10" not in text
    assert "decode" not in text


def test_a_report_without_operations_of_theirs_is_refused() -> None:
    for table in (None, replace(OPERATIONS, rows=OPERATIONS.rows[1:2])):
        with pytest.raises(UsageError, match="nothing that was measured fits") as caught:
            export("pillow-perf", report(operations=table), OUT)
        assert "--only operations" in (caught.value.hint or "")

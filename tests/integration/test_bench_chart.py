"""The picture of a bench report, drawn by the real matplotlib."""

import struct
import zlib
from dataclasses import replace

from bench_reports import OPERATIONS, bare_report, whole_report

from fastinstall.bench.report import BenchReport
from fastinstall.cli.bench.chart import bench_chart


def _chunks(png: bytes) -> dict[bytes, bytes]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    found, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        name, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert zlib.crc32(name + data) == struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0]
        found[name] = data
        at += 12 + length
    return found


def _size(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", _chunks(png)[b"IHDR"][:8])
    return width, height


def test_it_is_1200_pixels_wide_and_as_high_as_can_be_looked_at_whatever_there_is_to_show() -> None:
    (width, height), (whole_width, whole_height) = _size(bench_chart(bare_report())), _size(bench_chart(_crowded()))
    assert width == whole_width == 1200
    assert height + 1500 < whole_height < 3000


def _crowded() -> BenchReport:
    """More operations than have room, and letters that would be a formula, steer a terminal, or are in no font.

    A warning is an error in tests.
    """
    whole = whole_report()
    first, *rest = whole.workloads
    named = replace(first.workload, name="$\\frac{$ \x1b[2J \u5199\u771f \udcff \n <b>")
    many = tuple(replace(OPERATIONS.rows[0], operation=f"operation {number}") for number in range(150))
    workloads = (replace(first, workload=named), *rest)
    return replace(whole, workloads=workloads, operations=replace(OPERATIONS, rows=many))

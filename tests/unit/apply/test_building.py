import zipfile
from pathlib import Path

import pytest

from fastinstall.apply.wheel_only import read_merge_report
from fastinstall.cmerge.documents import MergeReport
from fastinstall.core.errors import DocumentError
from fastinstall.core.values import document, dump

REPORT = MergeReport(base="pillow 12.1.1", upstream="pillow 13.0.0", kernels="pillow-simd 12.1.1.post0")
MEMBER = "pillow-13.0.0+simd.v3.dist-info/fastinstall-merge.json"


def _wheel(directory: Path, **members: str) -> Path:
    path = directory / "pillow-13.0.0+simd.v3-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_a_wheel_tells_what_was_merged_into_it(tmp_path: Path) -> None:
    assert read_merge_report(_wheel(tmp_path, **{MEMBER: dump(document("merge", REPORT))})) == REPORT


def test_a_wheel_into_which_nothing_was_merged_tells_nothing(tmp_path: Path) -> None:
    assert read_merge_report(_wheel(tmp_path, METADATA="")) is None


def test_a_report_that_is_none_names_the_wheel(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"pillow-13\.0\.0\+simd\.v3"):
        read_merge_report(_wheel(tmp_path, **{MEMBER: '{"schema": "fastinstall.merge/1"}'}))

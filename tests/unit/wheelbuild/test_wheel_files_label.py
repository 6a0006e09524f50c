"""The label of a wheel: names, versions, tags and the embedded statements."""

from pathlib import Path
from typing import Any

import pytest
from support.values.build_requests import wheel_tree

from fastinstall import __version__
from fastinstall.core.errors import FailedError
from fastinstall.wheelbuild.wheel_files import label_tree, read_wheel_tags, replace_metadata_fields

LABEL: dict[str, Any] = {
    "distribution": "pillow",
    "version": "12.1.1+simd.v3",
    "summary": r"Rebuild of pillow-simd, with a \1 in it",
    "platforms": ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64"),
    "statements": {"fastinstall.json": "{}\n", "sboms/fastinstall.cdx.json": '{"bomFormat": "CycloneDX"}\n'},
}
METADATA = "pillow-12.1.1+simd.v3.dist-info"


def test_the_file_name_carries_name_version_and_all_tags(tmp_path: Path) -> None:
    name = label_tree(wheel_tree(tmp_path), **LABEL)
    assert name == "pillow-12.1.1+simd.v3-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"


def test_only_name_version_and_summary_are_rewritten(tmp_path: Path) -> None:
    label_tree(wheel_tree(tmp_path), **LABEL)
    lines = (tmp_path / METADATA / "METADATA").read_text().splitlines()
    assert lines[1:4] == ["Name: pillow", "Version: 12.1.1+simd.v3", rf"Summary: {LABEL['summary']}"]
    assert "Requires-Dist: furo; extra == 'docs'" in lines
    assert lines[-1] == "Name: this line is prose"


def test_the_metadata_directory_is_renamed_and_the_old_one_gone(tmp_path: Path) -> None:
    label_tree(wheel_tree(tmp_path), **LABEL)
    assert [path.name for path in tmp_path.glob("*.dist-info")] == [METADATA]


def test_the_wheel_file_names_this_tool_and_the_tags(tmp_path: Path) -> None:
    label_tree(wheel_tree(tmp_path), **LABEL)
    assert f"Generator: fastinstall {__version__}\n" in (tmp_path / METADATA / "WHEEL").read_text()
    assert read_wheel_tags(tmp_path).platforms == LABEL["platforms"]


def test_sboms_of_the_bundled_libraries_stay_beside_ours(tmp_path: Path) -> None:
    theirs = wheel_tree(tmp_path) / "pillow_simd-12.1.1.post0.dist-info/sboms/auditwheel.cdx.json"
    theirs.parent.mkdir()
    theirs.write_text("{}")
    label_tree(tmp_path, **LABEL)
    found = {path.name for path in (tmp_path / METADATA / "sboms").iterdir()}
    assert found == {"auditwheel.cdx.json", "fastinstall.cdx.json"}


def test_a_distribution_may_keep_its_own_name(tmp_path: Path) -> None:
    name = label_tree(wheel_tree(tmp_path), **{**LABEL, "distribution": "pillow-simd", "version": "12.1.1.post0"})
    assert name.startswith("pillow_simd-12.1.1.post0-cp311-")
    assert "Name: pillow-simd\n" in (tmp_path / "pillow_simd-12.1.1.post0.dist-info/METADATA").read_text()


@pytest.mark.parametrize("metadata", ["Version: 1\n\n", "Name: a\nName: b\nVersion: 1\n\n"])
def test_metadata_without_exactly_one_name_is_refused(metadata: str) -> None:
    with pytest.raises(FailedError, match="Name"):
        replace_metadata_fields(metadata, {"Name": "pillow"})

"""Which libraries a build requires, and which it disables."""

from pathlib import Path

from support.values.build_requests import build_request

from fastinstall.wheelbuild.linking import options


def test_a_base_wheel_enables_core_libraries_and_disables_others(tmp_path: Path) -> None:
    request = build_request(tmp_path, base_wheel=tmp_path / "pillow.whl")
    assert options(request, exclusive=True) == {
        "jpeg": "enable",
        "tiff": "disable",
        "webp": "disable",
        "zlib": "enable",
    }


def test_without_a_base_wheel_no_other_library_is_disabled(tmp_path: Path) -> None:
    assert options(build_request(tmp_path), exclusive=False) == {"jpeg": "enable", "webp": "enable", "zlib": "enable"}

from pathlib import Path

from fastinstall.wheelbuild.headers import list_include_directories


def test_include_directories_are_common_architecture_or_python(tmp_path: Path) -> None:
    include = tmp_path / "usr" / "include"
    for name in ("x86_64-linux-gnu", "openjpeg-2.5", "python3.11"):
        (include / name).mkdir(parents=True)

    assert list_include_directories(tmp_path) == (include, include / "x86_64-linux-gnu", include / "python3.11")
    assert list_include_directories(tmp_path / "elsewhere") == ()

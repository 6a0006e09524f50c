"""Another directory that stands for "/": links are followed as in there, and never out of it."""

import os
from pathlib import Path

import pytest

from fastinstall.elf.loader.opened_files import Root


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "liba.so").write_text("")
    (tmp_path / "srv").mkdir()
    (tmp_path / "lib").symlink_to("/usr/lib")
    (tmp_path / "srv" / "relative").symlink_to("../usr/lib")
    (tmp_path / "srv" / "outside").symlink_to("../../../../../../../../usr/lib")
    (tmp_path / "srv" / "circle").symlink_to("/srv/other")
    (tmp_path / "srv" / "other").symlink_to("circle")
    return Root(tmp_path, "/srv")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/lib/liba.so", "/usr/lib/liba.so"),
        ("/lib/liba.so", "/usr/lib/liba.so"),
        ("relative/liba.so", "/usr/lib/liba.so"),
        ("./outside/./liba.so", "/usr/lib/liba.so"),
        ("/lib/../lib/liba.so", "/usr/lib/liba.so"),
        ("/../../usr//lib/", "/usr/lib"),
        ("/lib/gone.so", "/usr/lib/gone.so"),
        ("/", "/"),
    ],
)
def test_paths_are_followed(root: Root, tmp_path: Path, path: str, expected: str) -> None:
    assert root.real(path) == expected
    assert root.place(path) == f"{tmp_path}{expected}"


def test_a_circle_and_a_way_back_from_what_is_no_directory_are_errors(root: Root) -> None:
    with pytest.raises(OSError, match="symbolic links"):
        root.place("/srv/circle/liba.so")
    for path in ("/usr/lib/liba.so/../liba.so", "/nowhere/../usr/lib"):
        with pytest.raises(NotADirectoryError):
            root.place(path)


def test_the_root_itself_is_not_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert Root(tmp_path / "link").place("/etc/x") == f"{tmp_path}/link/etc/x"


def test_the_filesystem_itself_is_left_to_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    root = Root(working_directory=str(tmp_path))
    assert root.place("link") == os.path.join(tmp_path, "link")  # noqa: PTH118 (as text)
    assert root.real("link") == str((tmp_path / "file").resolve())

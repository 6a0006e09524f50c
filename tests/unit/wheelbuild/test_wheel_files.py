"""Unpacking and packing wheels."""

import base64
import csv
import hashlib
import os
import zipfile
from pathlib import Path

import pytest
from support.values.build_requests import wheel_tree

from fastinstall.core.archives import unpack_zip
from fastinstall.core.errors import FailedError
from fastinstall.wheelbuild.wheel_files import metadata_directory, pack_wheel, read_wheel_tags

CORE = "PIL/_imaging.cpython-311-x86_64-linux-gnu.so"


def test_the_same_tree_packs_to_the_same_bytes_at_any_time(tmp_path: Path) -> None:
    one, other = wheel_tree(tmp_path / "one"), wheel_tree(tmp_path / "other")
    for path in other.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    pack_wheel(one, tmp_path / "one.whl")
    pack_wheel(other, tmp_path / "other.whl")
    assert (tmp_path / "one.whl").read_bytes() == (tmp_path / "other.whl").read_bytes()


def test_record_names_every_file_with_its_true_digest_and_size(tmp_path: Path) -> None:
    tree = wheel_tree(tmp_path / "tree")
    pack_wheel(tree, tmp_path / "a.whl")
    with zipfile.ZipFile(tmp_path / "a.whl") as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    record = f"{metadata_directory(tree).name}/RECORD"
    rows = {name: (digest, size) for name, digest, size in csv.reader(contents[record].decode().splitlines())}
    assert rows.pop(record) == ("", "")
    assert set(rows) == set(contents) - {record}
    for name, (digest, size) in rows.items():
        expected = base64.urlsafe_b64encode(hashlib.sha256(contents[name]).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={expected}", str(len(contents[name])))


def test_metadata_comes_last_in_the_archive(tmp_path: Path) -> None:
    pack_wheel(wheel_tree(tmp_path / "tree"), tmp_path / "a.whl")
    with zipfile.ZipFile(tmp_path / "a.whl") as archive:
        kinds = [".dist-info/" in name for name in archive.namelist()]
        assert archive.namelist()[-1].endswith("/RECORD")
    assert kinds == sorted(kinds)


def test_executable_files_stay_so_and_others_do_not_become_so(tmp_path: Path) -> None:
    pack_wheel(wheel_tree(tmp_path / "tree"), tmp_path / "a.whl")
    unpack_zip(tmp_path / "a.whl", tmp_path / "back")
    assert (tmp_path / "back" / CORE).stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "back/PIL/__init__.py").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", ["../outside.py", "/outside.py", "PIL/../../outside.py"])
def test_a_member_leaving_the_directory_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "bad.whl", "w") as archive:
        archive.writestr("PIL/__init__.py", "")
        archive.writestr(name, "import os\n")
    with pytest.raises(FailedError, match="outside"):
        unpack_zip(tmp_path / "bad.whl", tmp_path / "inner")
    assert not list(tmp_path.rglob("outside.py"))


def test_a_truncated_wheel_is_an_error_that_names_it(tmp_path: Path) -> None:
    pack_wheel(wheel_tree(tmp_path / "tree"), tmp_path / "a.whl")
    whole = (tmp_path / "a.whl").read_bytes()
    (tmp_path / "cut.whl").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FailedError, match=r"cut\.whl"):
        unpack_zip(tmp_path / "cut.whl", tmp_path / "out")


def test_all_platform_tags_are_read_in_their_order(tmp_path: Path) -> None:
    tree = wheel_tree(tmp_path / "tree", platform="manylinux_2_27_x86_64")
    wheel = metadata_directory(tree) / "WHEEL"
    wheel.write_text(wheel.read_text() + "Tag: cp311-cp311-manylinux_2_28_x86_64\n")
    assert read_wheel_tags(tree).platforms == ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
    assert (read_wheel_tags(tree).python, read_wheel_tags(tree).abi) == ("cp311", "cp311")


def test_a_tree_with_two_metadata_directories_is_no_wheel(tmp_path: Path) -> None:
    tree = wheel_tree(tmp_path / "tree")
    (tree / "pillow-12.1.1.dist-info").mkdir()
    with pytest.raises(FailedError, match="found 2"):
        metadata_directory(tree)

"""Unpacking sdists."""

import io
import tarfile
from pathlib import Path

import pytest

from fastinstall.core.errors import FailedError
from fastinstall.wheelbuild.prepare import extract_source


def sdist(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, 0o644
    info.size = 3 if kind == tarfile.REGTYPE else 0
    return info


def test_the_one_top_directory_is_returned(tmp_path: Path) -> None:
    archive = sdist(tmp_path / "a.tar.gz", member("pillow-1/setup.py"), member("pillow-1/src/a.c"))
    top = extract_source(archive, tmp_path / "out")
    assert top == tmp_path / "out/pillow-1"
    assert (top / "src/a.c").read_text() == "xxx"


@pytest.mark.parametrize(
    "odd",
    [
        member("/etc/odd"),
        member("pillow-1/../../odd"),
        member("pillow-1/odd", tarfile.SYMTYPE, "/etc/passwd"),
        member("pillow-1/odd", tarfile.CHRTYPE),
        member("pillow-1/odd", tarfile.FIFOTYPE),
    ],
    ids=["absolute", "parent", "symlink", "device", "fifo"],
)
def test_an_odd_member_is_refused_by_name(tmp_path: Path, odd: tarfile.TarInfo) -> None:
    archive = sdist(tmp_path / "a.tar.gz", member("pillow-1/setup.py"), odd)
    with pytest.raises(FailedError, match="odd"):
        extract_source(archive, tmp_path / "out")
    assert not list(tmp_path.rglob("odd"))


def test_two_top_directories_are_refused(tmp_path: Path) -> None:
    archive = sdist(tmp_path / "a.tar.gz", member("one/setup.py"), member("two/setup.py"))
    with pytest.raises(FailedError, match="one, two"):
        extract_source(archive, tmp_path / "out")


def test_an_empty_archive_and_a_truncated_one_are_errors(tmp_path: Path) -> None:
    whole = sdist(tmp_path / "a.tar.gz", member("pillow-1/setup.py")).read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FailedError, match=r"cut\.tar\.gz"):
        extract_source(tmp_path / "cut.tar.gz", tmp_path / "out")
    with pytest.raises(FailedError, match="none"):
        extract_source(sdist(tmp_path / "empty.tar.gz"), tmp_path / "out")

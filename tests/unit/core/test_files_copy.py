"""A copy has the content, mode and times of a file, and shares nothing with it."""

import errno
import os
from pathlib import Path

import pytest

from fastinstall.core import files


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o400, 0o4755])
def test_content_mode_and_time_are_those_of_the_file(tmp_path: Path, mode: int) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x" * 100_000)
    source.chmod(mode)
    os.utime(source, ns=(1, 1_600_000_000_123_456_789))
    files.copy_file(source, target)
    assert target.read_bytes() == source.read_bytes()
    assert (target.stat().st_mode, target.stat().st_mtime_ns) == (source.stat().st_mode, 1_600_000_000_123_456_789)
    assert target.stat().st_ino != source.stat().st_ino


def test_a_link_stays_a_link_wherever_it_leads(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.symlink_to("nowhere/at all")
    os.utime(source, ns=(1, 1_600_000_000_123_456_789), follow_symlinks=False)
    files.copy_file(source, target)
    assert (target.readlink(), target.lstat().st_mtime_ns) == (Path("nowhere/at all"), 1_600_000_000_123_456_789)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    for name in ("source", "target"):
        (tmp_path / name).write_text(name)
    with pytest.raises(FileExistsError):
        files.copy_file(tmp_path / "source", tmp_path / "target")
    assert (tmp_path / "target").read_text() == "target"


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_the_kernel_does_not_copy_we_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    _refuse(monkeypatch, number)
    (tmp_path / "source").write_bytes(b"content")
    files.copy_file(tmp_path / "source", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"content"


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refuse(monkeypatch, errno.ENOSPC)
    (tmp_path / "source").write_bytes(b"content")
    with pytest.raises(OSError, match="No space left"):
        files.copy_file(tmp_path / "source", tmp_path / "target")


def _refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Make copy_file_range(2) fail with this error number, as it does on some filesystems and kernels."""

    def refuse(*_arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "copy_file_range", refuse)

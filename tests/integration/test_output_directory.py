"""What could be written in part only, the same command finishes; and what others have there stays."""

import errno
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from faults.doors import Boundary, watched
from faults.errors import Fault, breaking
from faults.hooks import Notes
from support.environments.guarded import make_wheel
from support.sandbox import UNREACHABLE

from fastinstall.conda.channel import publish_packages
from fastinstall.conda.package import write_archive
from fastinstall.core.errors import FailedError, FastinstallError
from fastinstall.core.files import sha256
from fastinstall.model.conda import CondaPackage
from fastinstall.observe.session import Session, open_session
from fastinstall.wheelbuild.output_directory import make_unwritable_error
from fastinstall.wheelbuild.package_index.publish import publish_wheel


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A machine of its own."""
    return open_session({**UNREACHABLE, "HOME": str(tmp_path / "home"), "FASTINSTALL_CACHE_DIR": str(tmp_path / "c")})


Publish = Callable[[Path], object]


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
def test_a_wheelhouse_is_finished_by_the_same_command(session: Session, tmp_path: Path, *, lasting: bool) -> None:
    (tmp_path / "made").mkdir()
    first, second = (
        partial(publish_wheel, session, wheel, sha256(wheel))
        for wheel in (make_wheel(tmp_path / "made", version) for version in ("1.0", "2.0"))
    )
    _assert_it_is_finished(first, second, tmp_path, lasting=lasting)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
def test_a_channel_is_finished_by_the_same_command(tmp_path: Path, *, lasting: bool) -> None:
    first, second = (partial(_publish_conda, version) for version in ("1.0", "2.0"))
    _assert_it_is_finished(first, second, tmp_path, lasting=lasting)


def _publish_conda(version: str, channel: Path) -> None:
    package = CondaPackage(name="pillow", version=version, build="simd_0", subdir="linux-64")
    guard = CondaPackage(name="fastinstall-guard", version="1", build="0", subdir="noarch", constrains=(version,))

    def pack(number: int, place: Path) -> CondaPackage:
        return write_archive(replace(package, build=f"simd_{number}"), {}, {}, place)

    publish_packages(pack, lambda _: guard, channel)


def _assert_it_is_finished(first: Publish, second: Publish, space: Path, *, lasting: bool) -> None:
    passed = _boundaries(space / "model", first, second)
    outcomes = set()
    for stop in passed:
        directory = space / str(stop.number)
        first(directory)
        (directory / "theirs.txt").write_text("theirs")
        outcomes.add(type(_failure(directory, second, Fault(number=stop.number, error=errno.EIO, lasting=lasting))))
        second(directory)
        assert (directory / "theirs.txt").read_text() == "theirs"
        (directory / "theirs.txt").unlink()
        assert lasting or _contents(directory) == _contents(space / "model"), stop
    assert outcomes <= {FailedError, type(None)}
    assert FailedError in outcomes


def _contents(directory: Path) -> dict[str, bytes]:
    """All files, but for when a page says that a wheel was added."""
    found = {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    return {name: re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"", content) for name, content in found.items()}


def _boundaries(directory: Path, first: Publish, second: Publish) -> list[Boundary]:
    notes = Notes()
    first(directory)
    with watched(notes, within=[directory]):
        second(directory)
    return notes.passed


def _failure(directory: Path, publish: Publish, fault: Fault) -> FastinstallError | None:
    with watched(breaking(fault), within=[directory]):
        try:
            publish(directory)
        except FastinstallError as error:
            return error
    return None


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named(tmp_path: Path, error: int) -> None:
    told = make_unwritable_error(tmp_path, OSError(error, os.strerror(error)))
    assert "another directory" not in (told.hint or "")
    assert error == errno.EDQUOT or f"df -h {tmp_path}" in (told.hint or "")

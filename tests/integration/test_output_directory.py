"""Writing into an output directory: nothing changes before the final renames, and files of other programs stay."""

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from faults.doors import Boundary, watched
from faults.errors import Fault, breaking
from faults.hooks import Notes
from support.environments.guarded import make_wheel
from support.journal.environments import picture
from support.sandbox import UNREACHABLE

from fastinstall.conda.channel import publish_packages
from fastinstall.conda.package import write_archive
from fastinstall.core.errors import EnvironmentDamagedError, FailedError, FastinstallError, RefusedError
from fastinstall.core.files import sha256
from fastinstall.model.conda import CondaPackage
from fastinstall.observe.session import Session, open_session
from fastinstall.wheelbuild.output_directory import make_unwritable_error
from fastinstall.wheelbuild.package_index import publish_wheel


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Return a session with a home and a cache of its own."""
    return open_session({**UNREACHABLE, "HOME": str(tmp_path / "home"), "FASTINSTALL_CACHE_DIR": str(tmp_path / "c")})


Publish = Callable[[Path], object]


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
def test_a_wheelhouse_is_old_or_new_or_is_reported_as_neither(
    session: Session, tmp_path: Path, *, lasting: bool
) -> None:
    (tmp_path / "made").mkdir()
    first, second = (
        partial(publish_wheel, session, wheel, sha256(wheel))
        for wheel in (make_wheel(tmp_path / "made", version) for version in ("1.0", "2.0"))
    )
    _assert_all_or_nothing(first, second, tmp_path, lasting=lasting)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
def test_a_channel_is_old_or_new_or_is_reported_as_neither(tmp_path: Path, *, lasting: bool) -> None:
    first, second = (partial(_publish_conda, version) for version in ("1.0", "2.0"))
    _assert_all_or_nothing(first, second, tmp_path, lasting=lasting)


def _publish_conda(version: str, channel: Path) -> None:
    package = CondaPackage(name="pillow", version=version, build="simd_0", subdir="linux-64")
    guard = CondaPackage(name="fastinstall-guard", version="1", build="0", subdir="noarch", constrains=(version,))

    def pack(number: int, place: Path) -> CondaPackage:
        return write_archive(replace(package, build=f"simd_{number}"), {}, {}, place)

    publish_packages(pack, lambda _: guard, channel)


def _assert_all_or_nothing(first: Publish, second: Publish, space: Path, *, lasting: bool) -> None:
    passed = _boundaries(space / "model", first, second)
    outcomes = set()
    for stop in passed:
        directory = space / str(stop.number)
        first(directory)
        (directory / "theirs.txt").write_text("theirs")
        before = _look(directory)
        told = _failure(directory, second, Fault(number=stop.number, error=errno.EIO, lasting=lasting))
        after = _look(directory)
        outcomes.add(type(told))
        assert (after == before) == (type(told) is FailedError), (stop, told)
        second(directory)
        assert (directory / "theirs.txt").read_text() == "theirs"
        assert not [path.name for path in directory.rglob("*") if path.name.startswith((".", "fastinstall-new-"))]
    assert {FailedError, EnvironmentDamagedError} <= outcomes


def _look(directory: Path) -> dict[object, object]:
    """Return the state, without times, of all files in a directory, including leftovers that the next run removes."""
    return {path: state[:2] for path, state in picture(directory).items()}


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


@pytest.mark.parametrize("place", ["simple", "simple/pillow", "linux-64", "noarch"])
@pytest.mark.parametrize("target", ["elsewhere", "missing"])
def test_a_link_in_the_directory_is_refused(session: Session, tmp_path: Path, place: str, target: str) -> None:
    (tmp_path / "made").mkdir()
    wheel = make_wheel(tmp_path / "made", "1.0")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/kept").touch()
    link = tmp_path / "out" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / target)
    before = picture(tmp_path)
    publish_index, publish_conda = partial(publish_wheel, session, wheel, sha256(wheel)), partial(_publish_conda, "1.0")
    publish: Publish = publish_index if place.startswith("simple") else publish_conda
    with pytest.raises(RefusedError, match=f"{link}: is a link to {tmp_path / target}") as caught:
        publish(tmp_path / "out")
    assert f"rm {link}" in (caught.value.hint or "")
    changed = {path for path, state in picture(tmp_path).items() if before.get(path) != state}
    assert not {path for path in changed if str(path).startswith(("out", "elsewhere", "missing"))}


def test_a_directory_that_is_a_link_itself_is_written(session: Session, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    wheel = make_wheel(tmp_path / "made", "1.0")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    publish_wheel(session, wheel, sha256(wheel), tmp_path / "out")
    assert (tmp_path / "elsewhere" / wheel.name).is_file()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named(tmp_path: Path, error: int) -> None:
    told = make_unwritable_error(tmp_path, OSError(error, os.strerror(error)))
    assert "another directory" not in (told.hint or "")
    assert error == errno.EDQUOT or f"df -h {tmp_path}" in (told.hint or "")

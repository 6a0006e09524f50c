"""What could be written in part only is taken back, and what others have there stays."""

import errno
from pathlib import Path

import pytest
from faults.doors import Boundary, watched
from faults.errors import Fault, breaking
from faults.hooks import Notes
from guarded import make_wheel
from journaled import picture
from sandbox import UNREACHABLE

from fastinstall.core.errors import EnvironmentDamagedError, FailedError, FastinstallError
from fastinstall.core.files import sha256
from fastinstall.observe.session import Session, open_session
from fastinstall.wheelbuild.package_index import publish_wheel


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A machine of its own."""
    return open_session({**UNREACHABLE, "HOME": str(tmp_path / "home"), "FASTINSTALL_CACHE_DIR": str(tmp_path / "c")})


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
def test_a_wheelhouse_is_as_before_or_as_after_or_it_is_said_that_it_is_neither(
    session: Session, tmp_path: Path, *, lasting: bool
) -> None:
    (tmp_path / "made").mkdir()
    first, second = (make_wheel(tmp_path / "made", version) for version in ("1.0", "2.0"))
    passed = _boundaries(session, tmp_path / "model", first, second)
    outcomes = set()
    for stop in passed:
        directory = tmp_path / str(stop.number)
        publish_wheel(session, first, sha256(first), directory)
        (directory / "theirs.txt").write_text("theirs")
        before = {path: look[:2] for path, look in picture(directory).items()}
        told = _failure(session, second, directory, Fault(number=stop.number, error=errno.EIO, lasting=lasting))
        after = {path: look[:2] for path, look in picture(directory).items()}
        outcomes.add(type(told))
        assert (after == before) == (type(told) is FailedError), (stop, told)
        publish_wheel(session, second, sha256(second), directory)
        assert (directory / "theirs.txt").read_text() == "theirs"
        halves = [path.name for path in directory.iterdir() if path.name.startswith(".")]
        assert lasting or not halves, "only where not even removing was possible"
    assert FailedError in outcomes
    assert lasting == (EnvironmentDamagedError in outcomes)


def _boundaries(session: Session, directory: Path, first: Path, second: Path) -> list[Boundary]:
    notes = Notes()
    publish_wheel(session, first, sha256(first), directory)
    with watched(notes, within=[directory]):
        publish_wheel(session, second, sha256(second), directory)
    return notes.passed


def _failure(session: Session, wheel: Path, directory: Path, fault: Fault) -> FastinstallError | None:
    with watched(breaking(fault), within=[directory]):
        try:
            publish_wheel(session, wheel, sha256(wheel), directory)
        except FastinstallError as error:
            return error
    return None

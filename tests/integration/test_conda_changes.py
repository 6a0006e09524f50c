"""Real conda engines change a live environment in our transaction as planned; undo restores it to the byte."""

import json
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel
from support.conda.environments import NewEnvironment, builds
from support.conda.real_conda import RealConda
from support.journal.environments import FIRST, SECOND, picture, receipt_of
from support.sandbox import Sandbox

from fastinstall.conda.engines.choose import open_engine
from fastinstall.conda.live_change import change_conda_packages
from fastinstall.core.events import Event, Started
from fastinstall.journal.rollback import rollback
from fastinstall.journal.stamp import Stamp
from fastinstall.journal.store import JournalStore
from fastinstall.journal.transaction import begin
from fastinstall.model.conda import CondaChange, CondaEngine, CondaInstaller, CondaPackage, CondaTool
from fastinstall.setup.steps.conda_packages import ChangeCondaPackages

pytest_plugins = ("support.conda.fixtures",)

TURBO, JPEG, LATER_TURBO = ("libjpeg-turbo", "2.1.5.1"), ("jpeg", ""), ("libjpeg-turbo", "3.")


@pytest.fixture
def clobbered(conda_environment: NewEnvironment, sandbox: Sandbox) -> Path:
    """Return an environment with jpeg installed over libjpeg-turbo, so that libtiff loads IJG's libjpeg."""
    prefix = conda_environment(sandbox.root / "env", "libjpeg-turbo=2.1.5.1")
    return conda_environment(prefix, "libjpeg-turbo=2.1.5.1", "jpeg", "libtiff=4.5.1")


def test_py_rattlers_reinstall_replace_and_remove_are_undone(
    clobbered: Path, channel: CondaChannel, sandbox: Sandbox
) -> None:
    engine = open_engine(CondaInstaller.RATTLER, None, sandbox.variables(), sandbox.root / "cache", offline=True)
    _change_twice_and_undo(clobbered, engine, channel)


def test_what_conda_reinstalls_replaces_and_removes_comes_back(
    clobbered: Path, channel: CondaChannel, sandbox: Sandbox, conda: RealConda
) -> None:
    words = (str(conda.executable),)
    tool = CondaTool(command=words, version="", root=conda.base_prefix, solver="classic", found_by="CONDA_EXE")
    engine = open_engine(CondaInstaller.CONDA, tool, conda.variables, sandbox.root / "cache", offline=True)
    _change_twice_and_undo(clobbered, engine, channel)


def _change_twice_and_undo(clobbered: Path, engine: CondaEngine, channel: CondaChannel) -> None:
    before = builds(clobbered)
    turbo, jpeg, later = (_offered(channel, *wanted) for wanted in (TURBO, JPEG, LATER_TURBO))
    untouched = _settled(clobbered)

    _change(clobbered, engine, CondaChange(linked=(turbo,), unlinked=(turbo,)), FIRST)
    assert (clobbered / "lib/libjpeg.so").readlink() == Path("libjpeg.so.62")
    assert "libjpeg-turbo" in (clobbered / "include/jpeglib.h").read_text(errors="replace")
    assert builds(clobbered) == before
    between = _settled(clobbered)

    _change(clobbered, engine, CondaChange(linked=(later,), unlinked=(turbo, jpeg)), SECOND)
    assert builds(clobbered)["libjpeg-turbo"].startswith("3.")
    assert set(builds(clobbered)) == before.keys() - {"jpeg"}, "its dependant stays"
    assert (clobbered / "lib/libjpeg.so").exists()

    assert rollback(JournalStore(clobbered)).lost == ()
    assert _settled(clobbered) == between
    assert rollback(JournalStore(clobbered)).lost == ()
    assert _settled(clobbered) == untouched


def _change(prefix: Path, engine: CondaEngine, change: CondaChange, stamp: Stamp) -> None:
    events: list[Event] = []
    with begin(JournalStore(prefix), {}, site_packages=prefix / "lib", stamp=stamp) as transaction:
        step = ChangeCondaPackages(engine=engine.name, change=change, reason="to test it")
        change_conda_packages(step.change, engine, transaction, prefix, events.append)
        transaction.commit(receipt_of(stamp))
    (started,) = (event for event in events if isinstance(event, Started))
    assert engine.description in started.message


def _settled(prefix: Path) -> dict[str, tuple[object, ...]]:
    """Return the state of all files except fastinstall's own."""
    return {path: look for path, look in picture(prefix).items() if not path.startswith("share/fastinstall")}


def _offered(channel: CondaChannel, name: str, version: str) -> CondaPackage:
    """Return a package as the channel's index describes it."""
    subdir = channel.directory / "linux-64"
    index = json.loads((subdir / "repodata.json").read_text())["packages.conda"]
    file, record = next((f, r) for f, r in index.items() if r["name"] == name and r["version"].startswith(version))
    return CondaPackage(
        name=name,
        version=record["version"],
        build=record["build"],
        build_number=record["build_number"],
        subdir="linux-64",
        channel=channel.url,
        url=(subdir / file).as_uri(),
        sha256=record["sha256"],
        depends=tuple(record["depends"]),
    )

"""`cache` on the command line, with a cache of real files."""

import errno
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS
from support.suite.golden import Golden

from fastinstall.cli.main import main
from fastinstall.core import files
from fastinstall.core.errors import ExitCode
from fastinstall.core.temporary_directories import temporary_directory

Told = pytest.CaptureFixture[str]
KIB = 1024


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    place = tmp_path / "cache"
    monkeypatch.setenv("FASTINSTALL_CACHE_DIR", str(place))
    for name, kib in (("downloads/ab/abcd/a.whl", 64), ("toolchains/clang-1/cc", 256), ("durations.json", 1)):
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(os.urandom(kib * KIB))
    (place / "toolchains/clang-1").chmod(0o500)
    return place


def show(capsys: Told, *words: str) -> dict[str, object]:
    assert main(["cache", "show", "--json", *words]) == ExitCode.OK
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMAS["cache"]())
    return document


def names(document: dict[str, object]) -> list[str]:
    parts = document["parts"]
    assert isinstance(parts, list)
    return [part["name"] for part in parts]


def test_the_largest_part_comes_first_and_all_add_up(cache: Path, capsys: Told) -> None:
    document = show(capsys)
    assert names(document) == ["toolchains", "downloads"]
    parts = document["parts"]
    assert isinstance(parts, list)
    assert parts[0]["disk_bytes"] >= 256 * KIB > parts[1]["disk_bytes"] >= 64 * KIB
    assert document["disk_bytes"] == sum(part["disk_bytes"] for part in parts)
    assert document["directory"] == str(cache)


@pytest.mark.usefixtures("cache")
def test_clearing_says_whether_anything_was_removed(capsys: Told) -> None:
    for changed in (True, False):
        assert main(["cache", "clear", "--yes", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["changed"] is changed
        jsonschema.validate(document, SCHEMAS["cache"]())
    assert main(["cache", "clear", "--yes", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_a_file_with_two_names_counts_once(cache: Path, capsys: Told) -> None:
    before = show(capsys, "downloads")["disk_bytes"]
    os.link(cache / "downloads/ab/abcd/a.whl", cache / "downloads/b.whl")
    assert show(capsys, "downloads")["disk_bytes"] == before


def test_nothing_is_removed_unasked(cache: Path, capsys: Told) -> None:
    assert main(["cache", "clear", "toolchains"]) == ExitCode.REFUSED
    assert "fastinstall cache clear --yes toolchains" in capsys.readouterr().err
    assert (cache / "toolchains/clang-1/cc").exists()


def test_a_named_part_goes_and_the_rest_stays(cache: Path, capsys: Told) -> None:
    assert main(["cache", "clear", "--yes", "--json", "toolchains"]) == ExitCode.OK
    removed = json.loads(capsys.readouterr().out)
    assert (removed["removed"], names(removed)) == (True, ["toolchains"])
    assert not (cache / "toolchains").exists()
    assert names(show(capsys)) == ["downloads"]


def test_all_of_it_goes_but_what_setups_remember(cache: Path, capsys: Told) -> None:
    assert main(["cache", "clear", "--yes"]) == ExitCode.OK
    capsys.readouterr()
    assert names(show(capsys)) == []
    assert (cache / "durations.json").exists()


def test_a_cache_that_a_run_works_with_is_left_alone(cache: Path, capsys: Told) -> None:
    with temporary_directory("build", within=cache / "tmp"):
        assert main(["cache", "clear", "--yes"]) == ExitCode.REFUSED
    assert "another run works with it" in capsys.readouterr().err
    assert (cache / "toolchains/clang-1/cc").exists()
    assert main(["cache", "clear", "--yes"]) == ExitCode.OK


def test_a_run_that_ends_meanwhile_is_in_nobodys_way(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastinstall.verbs.cache._list_work", lambda _cache: iter((cache / "tmp/fastinstall-gone",)))
    assert main(["cache", "clear", "--yes"]) == ExitCode.OK
    assert not (cache / "toolchains").exists()


@pytest.mark.usefixtures("cache")
def test_an_unknown_part_is_named_with_those_that_there_are(capsys: Told, golden: Golden) -> None:
    assert main(["cache", "clear", "--yes", "toolchain"]) == ExitCode.USAGE
    golden(capsys.readouterr().err)


@pytest.mark.usefixtures("cache")
def test_an_empty_cache_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTINSTALL_CACHE_DIR", str(tmp_path / "absent"))
    assert main(["cache"]) == ExitCode.OK
    assert main(["cache", "clear"]) == ExitCode.OK
    assert not (tmp_path / "absent").exists()


def _kill_while_clearing(cache: Path) -> None:
    """Run a child that is killed when it has moved files out of the cache and has not yet removed them."""
    child = os.fork()
    if child == 0:
        with temporary_directory("clear", within=cache / "tmp") as space:
            (cache / "toolchains").rename(space / "toolchains")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # forking is safe: the child only touches files
def test_what_a_killed_run_left_is_shown_and_removed(cache: Path, capsys: Told) -> None:
    _kill_while_clearing(cache)
    document = show(capsys)
    assert names(document) == ["tmp", "downloads"]
    assert isinstance(document["disk_bytes"], int)
    assert document["disk_bytes"] >= (256 + 64) * KIB
    assert main(["cache", "clear", "--yes", "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["disk_bytes"] == document["disk_bytes"]
    assert list((cache / "tmp").iterdir()) == []


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # forking is safe: the child only touches files
def test_what_a_killed_run_left_is_removed_where_nothing_else_is(cache: Path, capsys: Told) -> None:
    _kill_while_clearing(cache)
    assert main(["cache", "clear", "--yes", "tmp"]) == ExitCode.OK
    capsys.readouterr()
    assert list((cache / "tmp").iterdir()) == []
    assert names(show(capsys)) == ["downloads"]


def test_what_a_run_at_work_holds_is_not_shown_as_left(cache: Path, capsys: Told) -> None:
    with temporary_directory("build", within=cache / "tmp") as space:
        (space / "file").write_bytes(os.urandom(64 * KIB))
        assert "tmp" not in names(show(capsys))


def test_left_overs_of_an_earlier_boot_wait_for_a_day(cache: Path, capsys: Told) -> None:
    left = cache / "tmp/fastinstall-build-abc.0123456789ab"
    left.mkdir(parents=True)
    (left / "file").write_bytes(os.urandom(64 * KIB))
    assert "tmp" not in names(show(capsys))
    os.utime(left, (1_700_000_000, 1_700_000_000))
    assert "tmp" in names(show(capsys))
    assert main(["cache", "clear", "--yes"]) == ExitCode.OK
    assert not left.exists()


def test_a_part_that_another_run_removes_is_not_counted(
    cache: Path, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastinstall.verbs.cache._refuse_while_used", lambda _: shutil.rmtree(cache / "downloads"))
    assert main(["cache", "clear", "--yes", "--json"]) == ExitCode.OK
    removed = json.loads(capsys.readouterr().out)
    assert names(removed) == ["toolchains"]
    assert removed["disk_bytes"] == removed["parts"][0]["disk_bytes"]


def test_a_part_that_is_a_link_is_emptied_and_stays(cache: Path, capsys: Told, tmp_path: Path) -> None:
    (cache / "downloads").rename(tmp_path / "disk")
    (cache / "downloads").symlink_to(tmp_path / "disk")
    document = show(capsys, "downloads")
    assert str(tmp_path / "disk") in json.dumps(document["parts"])
    assert main(["cache", "clear", "--yes", "downloads"]) == ExitCode.OK
    assert (cache / "downloads").is_symlink()
    assert list((tmp_path / "disk").iterdir()) == []


def test_a_part_that_is_a_mount_is_emptied_and_stays(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.rename

    def rename(source: Path, target: Path) -> None:
        if source == cache / "downloads":  # rename(2) fails like this for a mount point
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(source))
        real(source, target)

    monkeypatch.setattr("os.rename", rename)
    assert main(["cache", "clear", "--yes", "downloads"]) == ExitCode.OK
    assert list((cache / "downloads").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # forking is safe: the child only touches files
def test_an_ordinary_user_can_remove_unwritable_directories() -> None:
    space = Path(tempfile.mkdtemp(dir="/var/tmp"))
    (space / "part/closed").mkdir(parents=True)
    (space / "part/closed/file").touch()
    for path in (space, *space.rglob("*")):
        os.chown(path, 4711, 4711)
    (space / "part/closed").chmod(0o500)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setresgid(4711, 4711, 4711)
            os.setresuid(4711, 4711, 4711)
            files.discard(space / "part")
            code = 0
        finally:
            os._exit(code)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not (space / "part").exists()
    finally:
        shutil.rmtree(space)

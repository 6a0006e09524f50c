from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from fastinstall.cli.commands import recipes
from fastinstall.cli.main import main
from fastinstall.cli.run_log import RunLog, open_log

Opened = Callable[[dict[str, str], list[str]], RunLog]


@pytest.fixture
def opened() -> Iterator[Opened]:
    with ExitStack() as logs:
        yield lambda variables, words: logs.enter_context(closing(open_log(variables, words)))


def _variables(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}


def test_a_run_is_logged_without_home_directory_and_credentials(tmp_path: Path, opened: Opened) -> None:
    log = opened(_variables(tmp_path), ["setup", "--prefix", str(tmp_path / "env")])
    log.write("index: https://user:secret@example.org/simple")
    assert log.path is not None
    assert log.path.parent == tmp_path / "state" / "fastinstall" / "log"
    text = log.path.read_text("utf-8")
    assert "fastinstall setup --prefix ~/env" in text
    assert "https://***@example.org/simple" in text
    assert "secret" not in text
    assert str(tmp_path) not in text


def test_every_line_has_its_time(tmp_path: Path, opened: Opened) -> None:
    log = opened(_variables(tmp_path), ["doctor"])
    log.write("one")
    assert log.path is not None
    for line in log.path.read_text("utf-8").splitlines():
        hours, minutes, rest = line.split(":", 2)
        assert hours.isdecimal()
        assert minutes.isdecimal()
        assert rest[:2].isdecimal()


def test_the_oldest_logs_go(tmp_path: Path, opened: Opened) -> None:
    directory = tmp_path / "state" / "fastinstall" / "log"
    directory.mkdir(parents=True)
    for number in range(60):
        (directory / f"20200101T0000{number:02}-1.log").touch()
    log = opened(_variables(tmp_path), ["doctor"])
    left = sorted(path.name for path in directory.iterdir())
    assert len(left) == 51
    assert left[0] == "20200101T000010-1.log"
    assert log.path is not None
    assert left[-1] == log.path.name


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path, opened: Opened) -> None:
    (tmp_path / "state").write_text("a file in the way")
    log = opened(_variables(tmp_path), ["doctor"])
    log.write("lost")
    assert log.path is None


@pytest.mark.parametrize("home", ["", "/"])
def test_a_home_that_is_none_is_replaced_nowhere(tmp_path: Path, home: str, opened: Opened) -> None:
    log = opened({"HOME": home, "XDG_STATE_HOME": str(tmp_path)}, ["doctor", "--prefix", "/srv/env"])
    assert log.path is not None
    assert "fastinstall doctor --prefix /srv/env" in log.path.read_text("utf-8")


def test_a_bug_whose_log_could_not_be_written_shows_its_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(recipes, "run", fail)
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    assert main(["recipes", "list"]) == 1
    told = capsys.readouterr().err
    assert "None" not in told
    assert "Traceback" in told

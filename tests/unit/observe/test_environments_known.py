"""Setups list their environment once, in the file that `doctor --all` reads."""

from dataclasses import replace
from pathlib import Path

from support.values.builders import healthy_facts

from fastinstall.model.facts import Environment
from fastinstall.observe.environments import list_known_environments, remember_environment
from fastinstall.observe.session import Session, open_session


def _environment(prefix: Path) -> Environment:
    prefix.mkdir(parents=True, exist_ok=True)
    (prefix / "pyvenv.cfg").touch()
    return replace(healthy_facts().environment, prefix=prefix)


def _session(home: Path) -> Session:
    return open_session({"HOME": str(home)})


def test_what_is_remembered_is_known_and_stands_there_once(tmp_path: Path) -> None:
    session, one, other = _session(tmp_path), _environment(tmp_path / "one"), _environment(tmp_path / "with space é")
    for environment in (one, other, one):
        remember_environment(session, environment)
    file = tmp_path / ".local/state/fastinstall/environments.txt"
    assert file.read_text() == f"{one.prefix}\n{other.prefix}\n"
    assert set(list_known_environments(session.variables, session.directories.state)) == {one.prefix, other.prefix}


def test_a_list_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / ".local").touch()
    remember_environment(_session(tmp_path), _environment(tmp_path / "one"))
    assert (tmp_path / ".local").is_file()


def test_a_path_that_is_no_line_is_not_written(tmp_path: Path) -> None:
    remember_environment(_session(tmp_path), replace(healthy_facts().environment, prefix=Path("/two\nlines")))
    assert not (tmp_path / ".local").exists()

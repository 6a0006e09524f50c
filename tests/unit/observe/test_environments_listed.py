"""The known environments: listed ones and those in tools' usual places, none twice, none that is gone."""

from pathlib import Path

import pytest

from fastinstall.observe.environments import has_pillow, list_known_environments, read_list


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return an empty home directory."""
    home = tmp_path / "home"
    home.mkdir()
    return home


def _environment(prefix: Path) -> Path:
    prefix.mkdir(parents=True)
    (prefix / "pyvenv.cfg").touch()
    return prefix


def _known(home: Path, **variables: str) -> tuple[Path, ...]:
    return list_known_environments({"HOME": str(home), **variables}, home / ".local/state/fastinstall")


@pytest.mark.parametrize(
    "place",
    [
        ".local/share/pipx/venvs/httpie",
        ".local/pipx/venvs/httpie",
        ".local/share/uv/tools/ruff",
        ".cache/pypoetry/virtualenvs/app-x1-py3.11",
        ".virtualenvs/work",
        ".local/share/virtualenvs/app-Ab12",
        ".pyenv/versions/3.11.7/envs/work",
    ],
)
def test_each_directory_that_holds_only_environments_is_searched(home: Path, place: str) -> None:
    prefix = _environment(home / place)
    (prefix.parent / "no-environment").mkdir()
    (prefix.parent / "a-file").touch()
    assert _known(home) == (prefix,)


@pytest.mark.parametrize(
    ("variable", "below"),
    [
        ("PIPX_HOME", "venvs/one"),
        ("UV_TOOL_DIR", "one"),
        ("POETRY_VIRTUALENVS_PATH", "one"),
        ("WORKON_HOME", "one"),
        ("PYENV_ROOT", "versions/3.11.7/envs/one"),
        ("XDG_DATA_HOME", "pipx/venvs/one"),
        ("XDG_CACHE_HOME", "pypoetry/virtualenvs/one"),
    ],
)
def test_a_place_that_was_moved_is_found_where_its_variable_says(home: Path, variable: str, below: str) -> None:
    prefix = _environment(home / "elsewhere" / below)
    assert _known(home, **{variable: str(home / "elsewhere")}) == (prefix,)
    assert _known(home) == ()


def test_lists_are_read_and_what_is_gone_is_passed_over(home: Path) -> None:
    ours, conda = _environment(home / "ours"), home / "conda"
    (conda / "conda-meta").mkdir(parents=True)
    state = home / ".local/state/fastinstall/environments.txt"
    state.parent.mkdir(parents=True)
    state.write_text(f"{ours}\n{home}/gone\nrelative\n\n")
    (home / ".conda").mkdir()
    (home / ".conda/environments.txt").write_text(f"{conda}\n{ours}\n")
    assert _known(home) == (conda, ours)


def test_an_active_environment_is_known(home: Path) -> None:
    prefix = _environment(home / "active")
    assert _known(home, VIRTUAL_ENV=str(prefix)) == (prefix,)


def test_an_environment_that_two_paths_lead_to_is_known_once(home: Path) -> None:
    prefix = _environment(home / ".virtualenvs/work")
    (home / "link").symlink_to(prefix)
    assert len(_known(home, VIRTUAL_ENV=str(home / "link"))) == 1


def test_a_list_that_is_no_text_or_not_there_lists_nothing_wrong(tmp_path: Path) -> None:
    assert read_list(tmp_path / "absent") == ()
    (tmp_path / "list").write_bytes(b"/caf\xe9\n\xff\n")
    assert [bytes(path) for path in read_list(tmp_path / "list")] == [b"/caf\xe9"]


@pytest.mark.parametrize("lib", ["lib/python3.11", "lib64/python3.13t", "lib/pypy3.10"])
def test_pil_is_found_by_its_directory(tmp_path: Path, lib: str) -> None:
    assert not has_pillow(tmp_path)
    (tmp_path / lib / "site-packages/PIL").mkdir(parents=True)
    assert has_pillow(tmp_path)

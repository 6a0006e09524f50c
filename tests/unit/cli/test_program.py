"""The name by which the user called the program."""

from pathlib import Path

import pytest

from fastinstall.cli.program import OPTION, name_program


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return a script in an environment that is not on PATH."""
    return _make_script(tmp_path / "my venv")


def _make_script(prefix: Path) -> Path:
    script = prefix / "bin" / "fastinstall"
    script.parent.mkdir(parents=True)
    script.touch(mode=0o755)
    return script


def _find(script: Path | str, *on_path: Path, **options: str) -> str:
    python = Path(script).with_name("python")
    path = ":".join(map(str, on_path))
    return name_program(str(script), {OPTION: options["said"]} if options else {}, python, path)


def test_a_script_on_path_is_called_by_its_name(script: Path, tmp_path: Path) -> None:
    assert _find(script, tmp_path, script.parent) == "fastinstall"


def test_a_script_that_is_not_on_path_is_called_by_its_own(script: Path) -> None:
    assert _find(script) == f"'{script}'"


def test_a_script_shadowed_on_path_is_called_by_its_own_path(script: Path, tmp_path: Path) -> None:
    other = _make_script(tmp_path / "other")
    assert _find(script, other.parent, script.parent) == f"'{script}'"


def test_a_module_is_called_by_its_interpreter() -> None:
    python = Path("/srv/venv/bin/python")
    assert name_program("/srv/x/fastinstall/__main__.py", {}, python, "") == f"{python} -m fastinstall"


def test_who_says_how_it_is_called_is_believed(script: Path) -> None:
    assert _find(script, script.parent, said="sh /srv/bootstrap.sh") == "sh /srv/bootstrap.sh"


def test_a_program_of_somebodys_own_says_nothing(tmp_path: Path) -> None:
    assert _find(tmp_path / "bin" / "pytest") == "fastinstall"


@pytest.mark.parametrize(
    ("prefix", "program"),
    [
        ("cache/uv/archive-v0/IAE_3H74X9hSE492", "uvx fastinstall"),
        ("cache/pipx/7332a9e77db60db", "pipx run fastinstall"),
        ("local/pipx/.cache/7332a9e77db60db", "pipx run fastinstall"),
    ],
)
def test_a_temporary_environment_is_called_by_its_maker(tmp_path: Path, prefix: str, program: str) -> None:
    """The prefixes are those of uv 0.13 and of pipx 1.18 and 1.2; uvx puts its environment on PATH."""
    script = _make_script(tmp_path / prefix)
    assert _find(script, script.parent) == program
    metadata = tmp_path / prefix / "lib/python3.11/site-packages/fastinstall-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "direct_url.json").touch()
    assert _find(script, script.parent if program.startswith("pipx") else tmp_path) == str(script)

"""Constraints of pip and uv on Pillow count like requirements of installed distributions."""

from pathlib import Path

import pytest
from support.values.builders import healthy_facts

from fastinstall.observe import pip_pins
from fastinstall.observe.pip_settings import list_constraint_files
from fastinstall.observe.stack import observe_constraints

NAMES = ("pillow", "pillow-simd")


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_DIRS": str(tmp_path / "none")}


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_variable_outranks_pips_files_and_uv_has_its_own(tmp_path: Path, variables: dict[str, str]) -> None:
    settings = _write(tmp_path / "home/.config/pip/pip.conf", "[global]\nconstraint = /srv/a.txt\n  /srv/b.txt\n")
    listed = list_constraint_files(tmp_path / "env", variables)
    assert listed == ((str(settings), Path("/srv/a.txt")), (str(settings), Path("/srv/b.txt")))
    variables |= {"PIP_CONSTRAINT": "file:///srv/c.txt https://example.org/d.txt", "UV_CONSTRAINT": "/srv/e.txt"}
    listed = list_constraint_files(tmp_path / "env", variables)
    assert listed == (("PIP_CONSTRAINT", Path("/srv/c.txt")), ("UV_CONSTRAINT", Path("/srv/e.txt")))


def test_a_pin_of_ours_is_no_constraint_of_the_user_s(tmp_path: Path, variables: dict[str, str]) -> None:
    for prefix in (tmp_path / "env", tmp_path / "other"):
        variables["PIP_CONSTRAINT"] = variables["UV_CONSTRAINT"] = str(prefix / pip_pins.CONSTRAINTS)
        assert list_constraint_files(tmp_path / "env", variables) == ()


def test_settings_that_pip_cannot_read_constrain_nothing(tmp_path: Path, variables: dict[str, str]) -> None:
    _write(tmp_path / "env/pip.conf", "constraint = before any section\n")
    assert list_constraint_files(tmp_path / "env", variables) == ()


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("Pillow<12.2", "Pillow<12.2"),
        ("pillow >= 9, < 12.2  # why", "pillow >= 9, < 12.2"),
        ("pillow==12.1.1 --hash=sha256:0000", "pillow==12.1.1"),
        ('pillow_simd<10; python_version >= "3.8"', "pillow_simd<10"),
        ('pillow<12.2; python_version < "3"', None),
        ("pillow", None),
        ("pillow-heif<1", None),
        ("# pillow<12.2", None),
        ("-c other.txt", None),
    ],
)
def test_a_line_about_pillow_is_a_requirement(tmp_path: Path, line: str, requirement: str | None) -> None:
    file = _write(tmp_path / "constraints.txt", f"numpy<3\n{line}\n")
    found = observe_constraints(healthy_facts().interpreter, NAMES, (("PIP_CONSTRAINT", file),))
    assert [each.requirement for each in found] == ([requirement] if requirement else [])
    for each in found:
        assert each.sentence == f"PIP_CONSTRAINT ({file}) requires {requirement}"


def test_a_file_that_is_gone_constrains_nothing(tmp_path: Path) -> None:
    assert observe_constraints(healthy_facts().interpreter, NAMES, (("PIP_CONSTRAINT", tmp_path / "none"),)) == ()

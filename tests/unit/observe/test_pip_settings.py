"""pip's configuration: its settings and their origins, in pip's order of precedence."""

import os
from pathlib import Path

import pytest

from fastinstall.core.errors import RefusedError
from fastinstall.observe.pip_pins import insertion
from fastinstall.observe.pip_settings import links_beside, observe_pip_settings


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Return variables of a shell whose global and personal pip files are in the test's directory."""
    for name in ("shared/pip", "home/.config/pip", "env"):
        (tmp_path / name).mkdir(parents=True)
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_DIRS": str(tmp_path / "shared")}


def _read(prefix: Path, variables: dict[str, str]) -> list[tuple[str, str]]:
    found = observe_pip_settings(prefix, variables)
    return [(each.section, each.value) for each in found if not each.origin.startswith("/etc/")]


def _find_links(prefix: Path, variables: dict[str, str]) -> None:
    links_beside(prefix, observe_pip_settings(prefix, variables))


def test_sections_come_before_files_and_variables_after_both(tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / "shared/pip/pip.conf").write_text("[install]\nfind-links = /shared\n")
    (tmp_path / "home/.config/pip/pip.conf").write_text(
        "[global]\nFind_Links =\n  /home\n  /more\n[list]\nno-index = 1\n"
    )
    (tmp_path / "env/pip.conf").write_text("[global]\nfind-links = /env\ntimeout = 30\n")
    assert _read(tmp_path / "env", {**variables, "PIP_FIND_LINKS": "/shell", "PIP_NO_INDEX": ""}) == [
        ("global", "/home /more"),
        ("global", "/env"),
        ("install", "/shared"),
        (":env:", "/shell"),
    ]


def test_our_own_lines_are_no_setting_of_others(tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / "env/pip.conf").write_text(insertion(b"", tmp_path / "env")[0])
    assert _read(tmp_path / "env", variables) == []


def test_a_named_file_is_read_last_and_replaces_the_users_file(tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / "home/.config/pip/pip.conf").write_text("[install]\nfind-links = /home\n")
    (tmp_path / "named.conf").write_text("[install]\nfind-links = /named\n")
    named = {**variables, "PIP_CONFIG_FILE": str(tmp_path / "named.conf")}
    assert _read(tmp_path / "env", named) == [("install", "/named")]
    with pytest.raises(RefusedError, match=r"named\.conf: \[install\] find-links"):
        _find_links(tmp_path / "env", named)


def test_where_no_file_is_read_a_pin_would_do_nothing(tmp_path: Path, variables: dict[str, str]) -> None:
    with pytest.raises(RefusedError, match="PIP_CONFIG_FILE=/dev/null"):
        _find_links(tmp_path / "env", {**variables, "PIP_CONFIG_FILE": os.devnull})


def test_what_a_constraint_says_of_pillow_is_told(tmp_path: Path, variables: dict[str, str]) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("numpy<2\npillow-heif<1\nPillow <13  # why\n")
    with pytest.raises(RefusedError, match=r"with 'Pillow <13  # why'"):
        _find_links(tmp_path / "env", {**variables, "PIP_CONSTRAINT": str(constraints)})

"""Environments that a person may mean, and their contents, found from files alone."""

from pathlib import Path

import pytest
from support.environments.handwritten import conda_by_hand, venv_by_hand
from support.values.sessions import a_session

from fastinstall.cli.wizard.environments import list_environments
from fastinstall.observe.environments import nearby_environments, scan_environment

OURS = "13.0.0+simd.v2.v3"


def test_active_comes_first_then_local_then_others_with_a_pillow(tmp_path: Path) -> None:
    work = tmp_path / "work"
    venv_by_hand(work / "zzz", "3.12.0", f"pillow-{OURS}", ours=OURS)
    venv_by_hand(work / ".venv", "3.12.0")
    active = venv_by_hand(tmp_path / "active", "3.12.0")
    listed = conda_by_hand(tmp_path / "listed", "3.11.4", "pillow-12.0.0")
    empty = conda_by_hand(tmp_path / "empty", "3.11.4")
    tool = venv_by_hand(tmp_path / "tool", "3.12.0", "pillow-12.0.0")
    (tmp_path / ".conda").mkdir()
    (tmp_path / ".conda" / "environments.txt").write_text(f"{listed}\n{empty}\n{tool}\n{active}\n")
    found = list_environments(a_session(tmp_path, VIRTUAL_ENV=str(active)), work)
    assert [(seen.prefix.name, how) for seen, how in found] == [
        ("active", "active (VIRTUAL_ENV)"),
        (".venv", "in this directory"),
        ("zzz", "in this directory"),
        ("listed", "known here"),
    ]


def test_uv_and_pixi_environments_of_a_parent_project_are_found(tmp_path: Path) -> None:
    deep = tmp_path / "project" / "src" / "package"
    deep.mkdir(parents=True)
    venv = venv_by_hand(tmp_path / "project" / ".venv", "3.12.0")
    assert nearby_environments(deep, {"HOME": str(tmp_path)}) == ()
    (tmp_path / "project" / "pyproject.toml").touch()
    moved = venv_by_hand(tmp_path / "project" / "far" / "env", "3.12.0")
    pixi = conda_by_hand(tmp_path / "project" / ".pixi" / "envs" / "default", "3.12.0")
    variables = {"HOME": str(tmp_path), "UV_PROJECT_ENVIRONMENT": "far/env"}
    assert nearby_environments(deep, variables) == (moved, venv, pixi)


@pytest.mark.parametrize(
    ("distributions", "ours", "pillow", "replaced"),
    [
        ((), "", (), False),
        (("pillow-13.0.0", "pillowcase-1.0"), "", ("pillow 13.0.0",), False),
        ((f"pillow-{OURS}",), OURS, (f"pillow {OURS}",), False),
        (("Pillow-12.0.0",), OURS, ("pillow 12.0.0",), True),
        (("pillow-13.0.0", "Pillow_SIMD-9.5.0.post2"), "", ("pillow 13.0.0", "pillow-simd 9.5.0.post2"), False),
    ],
)
def test_pillow_is_known_by_metadata_names_and_ours_by_receipt(
    tmp_path: Path, distributions: tuple[str, ...], ours: str, pillow: tuple[str, ...], *, replaced: bool
) -> None:
    seen = scan_environment(venv_by_hand(tmp_path / "env", "3.12.4", *distributions, ours=ours))
    assert (seen.python, seen.pillow, seen.is_replaced) == ("3.12.4", pillow, replaced)


def test_what_cannot_be_read_is_left_empty(tmp_path: Path) -> None:
    prefix = conda_by_hand(tmp_path / "env", "3.11.4")
    (prefix / "share" / "fastinstall").mkdir(parents=True)
    (prefix / "share" / "fastinstall" / "receipt.json").write_text("{")
    seen = scan_environment(prefix)
    assert (seen.python, seen.pillow, seen.ours) == ("3.11.4", (), "")

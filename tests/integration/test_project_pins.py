"""Pins of projects with the real uv, poetry and pdm: their own installs keep the stack, and nothing else changes."""

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pinned_projects import MANIFEST, OURS, STOCK, Galleries, galleries
from project_tools import ProjectTools
from project_tools import project_tools as project_tools  # noqa: PLC0414 (a fixture of this module)
from sandbox import UV, NewSandbox, run, tree_hash

from fastinstall.core.errors import RefusedError
from fastinstall.pins.pin_project import project_pin, unpin_project
from fastinstall.pins.resolver import parse_locked_versions

LOCKING = ("uv", "poetry", "pdm")
SYNC = {"uv": ("sync",), "poetry": ("install",), "pdm": ("sync",)}


@pytest.fixture(scope="module")
def made(new_sandbox: NewSandbox, project_tools: ProjectTools) -> Iterator[Galleries]:
    with new_sandbox() as sandbox, galleries(sandbox, project_tools) as making:
        yield making


@pytest.mark.parametrize("manager", LOCKING)
def test_a_pinned_project_keeps_the_stack_and_an_unpinned_one_is_as_before(made: Galleries, manager: str) -> None:
    gallery = made.make(manager, f"kept-{manager}")
    before = tree_hash(gallery.directory)
    manifest = gallery.manifest.read_text()

    state = gallery.pin()

    assert (state.requirement, state.file, state.problems) == (f"pillow=={OURS}", gallery.manifest, ())
    done = gallery.tool(*SYNC[manager])
    assert done.exit_code == 0, done.text
    assert gallery.installed == f"# {OURS}\n"
    # pdm locks one version for all platforms.
    locked = parse_locked_versions(gallery.lock.read_text())["pillow"]
    assert locked == ({OURS} if manager == "pdm" else {OURS, STOCK})

    pinned = gallery.manifest.read_text()
    shutil.copytree(gallery.directory / ".fastinstall", gallery.directory / "saved")
    gallery.manifest.write_text(pinned.replace('"frame>=1"', '"frame>=1", "easel"'))
    assert unpin_project(gallery.session, gallery.project)
    assert gallery.manifest.read_text() == manifest.replace('"frame>=1"', '"frame>=1", "easel"')

    gallery.manifest.write_text(pinned)
    (gallery.directory / "saved").rename(gallery.directory / ".fastinstall")
    assert unpin_project(gallery.session, gallery.project)
    shutil.rmtree(gallery.venv.prefix)
    after = tree_hash(gallery.directory)
    assert after == {path: content for path, content in before.items() if not path.startswith(".venv")}
    assert not unpin_project(gallery.session, gallery.project)


def test_a_lock_that_was_made_since_is_told_with_what_makes_it_again(made: Galleries) -> None:
    gallery = made.make("uv", "stale")
    gallery.pin()
    assert gallery.tool("add", "easel").exit_code == 0
    said: list[str] = []
    session = gallery.session.listening(lambda event: said.append(getattr(event, "message", "")))
    assert unpin_project(session, gallery.project)
    assert gallery.tool("sync", "--frozen", "--reinstall").exit_code != 0
    (line,) = said
    assert str(gallery.lock) in line
    assert "`uv lock`" in line
    assert gallery.tool("lock").exit_code == 0
    assert gallery.tool("sync", "--frozen", "--reinstall").exit_code == 0
    assert gallery.installed == f"# {STOCK}\n"


def test_what_uv_does_to_a_pinned_project_leaves_the_pin_in_it(made: Galleries) -> None:
    gallery = made.make("uv", "lived-in")
    state = gallery.pin()

    for words in (("lock", "--upgrade"), ("add", "easel"), ("sync", "--reinstall"), ("remove", "frame")):
        done = gallery.tool(*words)
        assert done.exit_code == 0, done.text
        assert gallery.installed == f"# {OURS}\n", words

    assert project_pin(gallery.session, gallery.project) == state
    refused = gallery.tool("add", f"pillow=={STOCK}")
    assert refused.exit_code == 1
    assert f"pillow=={STOCK}" in refused.stderr


def test_without_a_pin_the_lock_brings_stock_pillow_back(made: Galleries) -> None:
    gallery = made.make("uv", "lost")

    assert gallery.tool("sync").exit_code == 0

    assert gallery.installed == f"# {STOCK}\n"


def test_the_sync_of_uv_leaves_the_stack_in_place_untouched(made: Galleries) -> None:
    gallery = made.make("uv", "untouched")
    core = gallery.venv.site_packages / "PIL.py"
    before = core.stat().st_ino, core.stat().st_mtime_ns
    gallery.pin()

    assert gallery.tool("sync").exit_code == 0

    assert (core.stat().st_ino, core.stat().st_mtime_ns) == before


@pytest.mark.parametrize("manager", ["uv", "poetry"])
def test_a_pin_that_would_cost_another_distribution_its_version_is_refused(made: Galleries, manager: str) -> None:
    gallery = made.make(manager, f"trap-{manager}", MANIFEST.replace("frame>=1", "picky>=1"))
    before = tree_hash(gallery.directory)

    with pytest.raises(RefusedError) as refused:
        gallery.pin()

    assert refused.value.details == ("picky 2.0 -> 1.0, 2.0",)  # the earlier one where our wheel runs
    assert "nothing was changed" in refused.value.message
    assert tree_hash(gallery.directory) == before


def test_a_project_that_wants_another_pillow_is_refused_with_what_its_tool_says(made: Galleries) -> None:
    gallery = made.make("uv", "other", MANIFEST.replace('"frame>=1"', '"frame>=1", "pillow==3.0"'))
    before = tree_hash(gallery.directory)

    with pytest.raises(RefusedError, match="cannot lock it with the pin") as refused:
        gallery.pin()

    assert any("pillow==3.0" in line for line in refused.value.details)
    assert "[tool.uv]" in refused.value.details
    assert tree_hash(gallery.directory) == before


def test_a_project_that_does_not_require_pillow_is_refused(made: Galleries) -> None:
    gallery = made.make("uv", "without", MANIFEST.replace('"frame>=1"', ""))

    with pytest.raises(RefusedError, match="nothing in the project requires pillow") as refused:
        gallery.pin()

    assert "uv add pillow" in (refused.value.hint or "")


def test_a_tool_that_is_not_there_is_refused_with_the_lines_to_add(made: Galleries, tmp_path: Path) -> None:
    gallery = made.make("uv", "toolless")
    elsewhere = replace(gallery, variables={**gallery.variables, "PATH": str(tmp_path)})

    with pytest.raises(RefusedError, match="uv is not on PATH") as refused:
        elsewhere.pin()
    assert "[tool.uv]" in refused.value.details

    named = replace(elsewhere, variables={**elsewhere.variables, "FASTINSTALL_UV": str(UV)})
    assert named.pin().problems == ()


def test_a_setting_in_the_way_is_refused_and_shown(made: Galleries) -> None:
    gallery = made.make("uv", "foreign")
    gallery.manifest.write_text(f'{gallery.manifest.read_text()}override-dependencies = ["Pillow<3"]\n')

    with pytest.raises(RefusedError, match="override-dependencies has 'Pillow<3'") as refused:
        gallery.pin()

    assert any(OURS in line for line in refused.value.details)


def test_a_uv_toml_that_hides_our_directory_is_refused_until_it_names_it(made: Galleries) -> None:
    gallery = made.make("uv", "hidden")
    (gallery.directory / "uv.toml").write_text("no-cache = false\n")

    with pytest.raises(RefusedError, match=r"uv\.toml") as refused:
        gallery.pin()
    assert 'find-links = [".fastinstall/wheels"]' in (refused.value.hint or "")

    (gallery.directory / "uv.toml").write_text('find-links = [".fastinstall/wheels"]\n')
    assert gallery.pin().problems == ()


def test_members_and_paths_beside_the_project_stay_where_they_are(made: Galleries) -> None:
    gallery = made.make(
        "uv",
        "house/gallery",
        MANIFEST.replace('"frame>=1"', '"frame>=1", "room", "garden"')
        + '\n[tool.uv.workspace]\nmembers = ["rooms/*"]\n\n[tool.uv.sources]\nroom = { workspace = true }\n'
        'garden = { path = "../garden" }\n',
    )
    for directory in (gallery.directory / "rooms" / "room", gallery.directory.parent / "garden"):
        directory.mkdir(parents=True)
        manifest = MANIFEST.replace("gallery", directory.name).replace("frame>=1", "easel")
        (directory / "pyproject.toml").write_text(f"{manifest}\n[tool.uv]\npackage = false\n")

    gallery.pin()

    sources = [package["source"] for package in tomllib.loads(gallery.lock.read_text())["package"]]
    assert {"virtual": "rooms/room"} in sources
    assert {"virtual": "../garden"} in sources
    assert gallery.tool("lock", "--check").exit_code == 0


def test_a_pinned_project_can_be_moved(made: Galleries) -> None:
    gallery = made.make("uv", "moving")
    gallery.pin()
    moved = replace(gallery, directory=gallery.directory.with_name("moved"))
    shutil.copytree(gallery.directory, moved.directory, ignore=shutil.ignore_patterns(".venv"))
    shutil.rmtree(gallery.directory)

    made_anew = run((UV, "sync", "--frozen"), {**gallery.variables, "VIRTUAL_ENV": ""}, directory=moved.directory)

    assert made_anew.exit_code == 0, made_anew.text
    assert moved.installed == f"# {OURS}\n"
    assert project_pin(moved.session, moved.project) is not None


def test_another_build_takes_the_place_of_the_one_that_is_pinned(made: Galleries) -> None:
    gallery = made.make("uv", "again")
    assert gallery.tool("lock").exit_code == 0
    before = gallery.manifest.read_bytes()
    gallery.pin()

    other = replace(gallery, version=f"{OURS}.v3")
    state = other.pin()

    assert state.requirement == f"pillow=={OURS}.v3"
    assert gallery.manifest.read_text().count("find-links") == 1
    assert [wheel.name for wheel in (gallery.directory / ".fastinstall" / "wheels").iterdir()] == [other.wheel.name]
    assert unpin_project(gallery.session, gallery.project)
    assert gallery.manifest.read_bytes() == before

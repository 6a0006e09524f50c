"""Pins of projects with real uv, poetry and pdm: their own installs keep the stack, and nothing else changes."""

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from integration.projects.pinned import MANIFEST, OURS, STOCK, Galleries, galleries
from support.projects.tools import ProjectTools
from support.projects.tools import project_tools as project_tools  # noqa: PLC0414 (a fixture of this module)
from support.sandbox import UV, NewSandbox, run, tree_hash

from fastinstall.core.errors import RefusedError
from fastinstall.pins.pin_project import parse_locked_versions

LOCKING = ("uv", "poetry", "pdm")
SYNC = {"uv": ("sync",), "poetry": ("install",), "pdm": ("sync",)}


@pytest.fixture(scope="module")
def made(new_sandbox: NewSandbox, project_tools: ProjectTools) -> Iterator[Galleries]:
    with new_sandbox() as sandbox, galleries(sandbox, project_tools) as making:
        yield making


@pytest.mark.parametrize("manager", LOCKING)
def test_a_pinned_project_keeps_the_stack_until_it_is_unpinned(made: Galleries, manager: str) -> None:
    gallery = made.make(manager, f"kept-{manager}")
    before = tree_hash(gallery.directory)

    change = gallery.change()

    assert tree_hash(gallery.directory) == before, "only the diff is made"
    gallery.apply(change.diff)
    state = gallery.state()
    assert state is not None
    assert (state.requirement, state.file, state.problems) == (f"pillow=={OURS}", gallery.manifest, ())
    done = gallery.tool(*SYNC[manager])
    assert done.exit_code == 0, done.text
    assert gallery.installed == f"# {OURS}\n"
    # pdm locks a single version; uv and poetry lock the official version too, for other platforms.
    locked = parse_locked_versions(gallery.lock.read_text())["pillow"]
    assert locked == ({OURS} if manager == "pdm" else {OURS, STOCK})
    assert gallery.change().diff == "", "it is pinned already"

    gallery.apply(change.diff, "-R")
    shutil.rmtree(gallery.venv.prefix)
    after = tree_hash(gallery.directory)
    assert after == {path: content for path, content in before.items() if not path.startswith(".venv")}


@pytest.mark.parametrize("manager", LOCKING)
def test_a_build_that_is_kept_in_the_project_goes_with_it(made: Galleries, manager: str) -> None:
    gallery = made.make(manager, f"shared-{manager}")

    gallery.pin(gallery.directory / "wheels")

    assert str(made.sandbox.root) not in gallery.manifest.read_text().partition("tool.")[0]
    assert str(gallery.directory) not in gallery.manifest.read_text() + gallery.lock.read_text()
    moved = replace(gallery, directory=gallery.directory.with_name(f"moved-{manager}"))
    shutil.copytree(gallery.directory, moved.directory, ignore=shutil.ignore_patterns(".venv"))
    shutil.rmtree(gallery.directory)
    made_anew = run((UV, "venv", "--quiet", moved.venv.prefix), gallery.variables, directory=moved.directory)
    assert made_anew.exit_code == 0, made_anew.text
    there = replace(moved, variables={**gallery.variables, "VIRTUAL_ENV": str(moved.venv.prefix)})
    done = there.tool(*SYNC[manager])
    assert done.exit_code == 0, done.text
    assert moved.installed == f"# {OURS}\n"


def test_a_project_in_a_subdirectory_takes_the_same_diff(made: Galleries) -> None:
    gallery = made.make("uv", "monorepo/services/gallery")
    repository = gallery.directory.parents[1]
    assert run(("git", "init", "--quiet"), gallery.variables, directory=repository).exit_code == 0
    before = gallery.manifest.read_bytes()

    diff = gallery.pin()

    assert gallery.tool("lock", "--check").exit_code == 0
    gallery.apply(diff, "-R")
    assert gallery.manifest.read_bytes() == before
    assert not gallery.lock.exists()
    patch = Path(gallery.variables["HOME"], "pin.patch")
    words = ("git", "apply", "--directory=services/gallery", patch)
    assert run(words, gallery.variables, directory=repository).exit_code == 0
    assert gallery.state() is not None


def test_line_ends_and_letters_of_a_manifest_survive(made: Galleries) -> None:
    gallery = made.make("uv", "windows", MANIFEST.replace("of the test", "des Prüflings, 試験"))
    gallery.manifest.write_bytes(gallery.manifest.read_bytes().replace(b"\n", b"\r\n"))
    before = gallery.manifest.read_bytes()

    diff = gallery.pin()

    assert b"\n" not in gallery.manifest.read_bytes().replace(b"\r\n", b"")
    gallery.apply(diff, "-R")
    assert gallery.manifest.read_bytes() == before


def test_what_uv_does_to_a_pinned_project_leaves_the_pin_in_it(made: Galleries) -> None:
    gallery = made.make("uv", "lived-in")
    gallery.pin()
    state = gallery.state()

    for words in (("lock", "--upgrade"), ("add", "easel"), ("sync", "--reinstall"), ("remove", "frame")):
        done = gallery.tool(*words)
        assert done.exit_code == 0, done.text
        assert gallery.installed == f"# {OURS}\n", words

    assert gallery.state() == state
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
def test_a_pin_that_changes_another_distribution_is_refused(made: Galleries, manager: str) -> None:
    gallery = made.make(manager, f"trap-{manager}", MANIFEST.replace("frame>=1", "picky>=1"))
    before = tree_hash(gallery.directory)

    with pytest.raises(RefusedError) as refused:
        gallery.change()

    assert refused.value.details == ("picky 2.0 -> 1.0, 2.0",)  # the lock would have 1.0 for our wheel's platforms
    assert tree_hash(gallery.directory) == before
    assert not [*gallery.wheels.glob("*")], "what is not pinned is not kept"


def test_a_project_with_another_pillow_is_refused_with_uvs_error(made: Galleries) -> None:
    gallery = made.make("uv", "other", MANIFEST.replace('"frame>=1"', '"frame>=1", "pillow==3.0"'))
    before = tree_hash(gallery.directory)

    with pytest.raises(RefusedError, match="cannot lock it") as refused:
        gallery.pin()

    assert any("pillow==3.0" in line for line in refused.value.details)
    assert "[tool.uv]" in refused.value.details
    assert tree_hash(gallery.directory) == before


def test_a_project_that_does_not_require_pillow_is_refused(made: Galleries) -> None:
    gallery = made.make("uv", "without", MANIFEST.replace('"frame>=1"', ""))

    with pytest.raises(RefusedError, match="requires pillow") as refused:
        gallery.pin()

    assert "uv add pillow" in (refused.value.hint or "")


def test_a_missing_tool_is_refused_with_the_lines_to_add(made: Galleries, tmp_path: Path) -> None:
    gallery = made.make("uv", "toolless")
    elsewhere = replace(gallery, variables={**gallery.variables, "PATH": str(tmp_path)})

    with pytest.raises(RefusedError, match="uv is not on PATH") as refused:
        elsewhere.pin()
    assert "[tool.uv]" in refused.value.details

    named = replace(elsewhere, variables={**elsewhere.variables, "FASTINSTALL_UV": str(UV)})
    assert OURS in named.change().diff


def test_a_setting_in_the_way_is_refused_with_where_to_look(made: Galleries) -> None:
    gallery = made.make("uv", "foreign")
    gallery.manifest.write_text(f'{gallery.manifest.read_text()}override-dependencies = ["Pillow>=3"]\n')

    with pytest.raises(RefusedError) as refused:
        gallery.pin()

    assert any(OURS in line for line in refused.value.details)


def test_a_uv_toml_is_refused_until_it_names_our_directory(made: Galleries) -> None:
    gallery = made.make("uv", "hidden")
    (gallery.directory / "uv.toml").write_text("no-cache = false\n")

    with pytest.raises(RefusedError, match="cannot lock it") as refused:
        gallery.pin()
    assert any("uv.toml" in line for line in refused.value.details)

    (gallery.directory / "uv.toml").write_text(f'find-links = ["{gallery.wheels}"]\n')
    assert OURS in gallery.pin()


def test_workspace_members_and_sibling_paths_stay_where_they_are(made: Galleries) -> None:
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


def test_another_build_takes_the_place_of_the_one_that_is_pinned(made: Galleries) -> None:
    gallery = made.make("uv", "again")
    assert gallery.tool("lock").exit_code == 0
    gallery.pin()

    other = replace(gallery, version=f"{OURS}.v3")
    told = other.state()
    assert told is not None
    assert told.problems == (f"{gallery.venv.prefix} has pillow=={OURS}.v3",)
    other.pin()

    state = other.state()
    assert state is not None
    assert (state.requirement, state.problems) == (f"pillow=={OURS}.v3", ())
    assert gallery.manifest.read_text().count("find-links") == 1
    assert f"{OURS} ;" not in gallery.manifest.read_text()


def test_another_build_of_the_same_name_never_replaces_the_first(made: Galleries) -> None:
    gallery = made.make("uv", "twins")
    gallery.wheels.mkdir(exist_ok=True)
    kept = gallery.wheels / gallery.wheel.name
    kept.write_bytes(b"another")

    with pytest.raises(RefusedError, match="another build has this name"):
        gallery.change()

    assert kept.read_bytes() == b"another"
    kept.unlink()

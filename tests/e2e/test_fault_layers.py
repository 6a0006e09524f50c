"""Whole commands on files that are hard links into a cache, and on an environment in a container's image layers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.scenes import PUBLISHED, Materials, Scene, make_scene, materials, picture
from support.journal.environments import in_own_mounts, swift_directory
from support.machine.own_mounts import mount
from support.sandbox import UV, run


@pytest.fixture(scope="module")
def given(shared_cache: Path) -> Materials:
    """Return the wheels and interpreters that environments are made from."""
    return materials(shared_cache)


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Path]:
    """Yield the directory for a test's environment."""
    with swift_directory(tmp_path) as directory:
        yield directory


def test_files_linked_from_uvs_cache_are_never_written_through(space: Path, given: Materials) -> None:
    scene = make_scene("bare", space, given)
    cache = scene.live / "uv"
    words = ("pip", "install", "--link-mode", "hardlink", "--offline", "--no-index", "--find-links", given.published)
    own = {**scene.variables, "UV_CACHE_DIR": str(cache)}
    installed = run((UV, *words, "--python", scene.prefix / "bin/python", PUBLISHED), own)
    assert installed.exit_code == 0, installed.text
    core = next(scene.prefix.glob("lib/python3*/site-packages/PIL/_imaging.*.so"))
    assert core.stat().st_nlink > 1, "uv has linked nothing"
    before, cached, links = picture(scene.prefix), picture(cache), _links(cache)
    for argv in (scene.argv, ("rollback", "--yes", "--prefix", str(scene.prefix))):
        _done(scene, *argv)
        assert picture(cache) == cached
    assert picture(scene.prefix) == before
    assert _links(cache) == links, "they are the very files, and no copies"
    _done(scene, *scene.argv)
    _done(scene, "guard", "remove", "--yes", "--prefix", str(scene.prefix))
    listed = scene.cli("rollback", "--list", "--json", "--prefix", str(scene.prefix)).document
    _done(scene, "rollback", "--yes", "--forget", listed["transactions"][0]["id"], "--prefix", str(scene.prefix))
    assert picture(cache) == cached


def test_an_environment_in_a_lower_layer_is_set_up_and_restored(space: Path, given: Materials) -> None:
    def scenario() -> None:
        scene = make_scene("published", space, given)
        before = picture(scene.prefix)
        _lay_over(scene)
        assert picture(scene.prefix) == before
        _done(scene, *scene.argv)
        assert picture(scene.prefix) != before
        _done(scene, "rollback", "--yes", "--prefix", str(scene.prefix))
        assert picture(scene.prefix) == before

    in_own_mounts(scenario)


def _lay_over(scene: Scene) -> None:
    """Mount an overlay filesystem on the environment, as in a container whose image contains the environment."""
    layers = scene.space / "layers"
    layers.mkdir()
    mount("tmpfs", layers)
    for name in ("upper", "work"):
        (layers / name).mkdir()
    lower = scene.before / scene.prefix.name
    mount("overlay", scene.prefix, f"lowerdir={lower},upperdir={layers / 'upper'},workdir={layers / 'work'}")


def _done(scene: Scene, *words: str) -> None:
    result = scene.cli(*words)
    assert result.exit_code == 0, result.text


def _links(directory: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_nlink for path in directory.rglob("*") if path.is_file()}

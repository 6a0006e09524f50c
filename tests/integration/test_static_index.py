"""The static index of a wheelhouse, which pip, uv and fastinstall read over HTTP and from the disk."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.index.static_server import StaticServer, serving_files
from support.index.wheels import BUILT, write_wheel
from support.sandbox import UV, Result, Sandbox, run

from fastinstall.core.directories import recipes_directory
from fastinstall.core.files import sha256
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.recipes import load_recipe
from fastinstall.observe.session import open_session
from fastinstall.wheelbuild.package_index import publish_wheel

NAME = f"pillow-{BUILT}-py3-none-any.whl"
LATER = "13.1.0"
"""An official Pillow newer than our build."""

PLACES = ("http", "file")


@dataclass(frozen=True, kw_only=True)
class Indexes:
    """Two indexes in one directory: `ours` has our build; `public` has Pillow and a package that requires it."""

    root: Path
    server: StaticServer

    def at(self, place: str, index: str = "ours") -> str:
        """Return the address of an index: over HTTP if `place` is "http", otherwise on the disk."""
        base = self.server.url if place == "http" else self.root.as_uri()
        return f"{base}/{index}/simple"


@pytest.fixture
def indexes(tmp_path: Path) -> Iterator[Indexes]:
    session = open_session({"FASTINSTALL_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)})
    wheels = {"ours": [write_wheel(tmp_path / "made")], "public": []}
    wheels["public"] += [write_wheel(tmp_path / "made", "pillow", version) for version in ("13.0.0", LATER)]
    wheels["public"] += [write_wheel(tmp_path / "made", "viewer", "1", "py3-none-any", "Requires-Dist: pillow")]
    for index, made in wheels.items():
        for wheel in made:
            publish_wheel(session, wheel, sha256(wheel), tmp_path / "served" / index)
    with serving_files(tmp_path / "served") as server:
        yield Indexes(root=tmp_path / "served", server=server)


def test_pip_needs_only_this_index_and_reads_the_metadata_first(indexes: Indexes, sandbox: Sandbox) -> None:
    done = _pip(sandbox, "--index-url", indexes.at("http"), "pillow")

    assert done.exit_code == 0, done.text
    assert _installed(sandbox) == BUILT
    assert indexes.server.names() == ["pillow", f"{NAME}.metadata", NAME]


def test_pip_holds_the_wheel_against_the_hash_of_the_page(indexes: Indexes, sandbox: Sandbox) -> None:
    wheel = indexes.root / "ours" / NAME
    wheel.write_bytes(write_wheel(indexes.root / "other", "pillow", BUILT, "py3-none-any", "Summary: x").read_bytes())

    done = _pip(sandbox, "--index-url", indexes.at("http"), "pillow")

    assert done.exit_code != 0
    assert "DO NOT MATCH THE HASHES" in done.text


def test_pip_takes_the_build_that_a_hash_names_from_a_file_share(indexes: Indexes, sandbox: Sandbox) -> None:
    requirements = sandbox.root / "requirements.txt"
    requirements.write_text(f"pillow=={BUILT} --hash=sha256:{sha256(indexes.root / 'ours' / NAME)}\n")

    words = ("--index-url", indexes.at("file", "public"), "--extra-index-url", indexes.at("file"))
    done = _pip(sandbox, *words, "--require-hashes", "-r", str(requirements))

    assert done.exit_code == 0, done.text
    assert _installed(sandbox) == BUILT


def test_beside_another_index_pip_takes_the_greatest_version(indexes: Indexes, sandbox: Sandbox) -> None:
    done = _pip(sandbox, "--index-url", indexes.at("http", "public"), "--extra-index-url", indexes.at("http"), "pillow")

    assert done.exit_code == 0, done.text
    assert _installed(sandbox) == LATER


@pytest.mark.parametrize("place", PLACES)
def test_uv_installs_from_it_alone(indexes: Indexes, sandbox: Sandbox, place: str) -> None:
    done = _uv(sandbox, "--default-index", indexes.at(place), "pillow")

    assert done.exit_code == 0, done.text
    assert _installed(sandbox) == BUILT
    assert indexes.server.names() == (["pillow", f"{NAME}.metadata", NAME] if place == "http" else [])


def test_a_uv_project_takes_only_pillow_from_the_static_index(indexes: Indexes, sandbox: Sandbox) -> None:
    project = sandbox.root / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        f"""[project]
name = "project"
version = "1"
requires-python = ">=3.11"
dependencies = ["viewer", "pillow"]

[[tool.uv.index]]
name = "public"
url = "{indexes.at("http", "public")}"
default = true

[[tool.uv.index]]
name = "stack"
url = "{indexes.at("http")}"
explicit = true

[tool.uv.sources]
pillow = {{ index = "stack" }}
"""
    )

    locked = run((UV, "lock", "--no-cache", "--project", project, "--python", sys.executable), sandbox.variables())

    assert locked.exit_code == 0, locked.text
    lock = (project / "uv.lock").read_text()
    assert f'version = "{BUILT}"' in lock
    assert f"sha256:{sha256(indexes.root / 'ours' / NAME)}" in lock
    assert LATER not in lock
    assert "/public/viewer-1" in lock


@pytest.mark.parametrize("place", PLACES)
def test_fastinstall_takes_its_own_build_from_it(indexes: Indexes, sandbox: Sandbox, place: str) -> None:
    interpreter = observe_interpreter(Path(sys.executable))
    tag = f"{interpreter.abi}-{interpreter.abi}-manylinux_2_17_x86_64"
    session = open_session(sandbox.variables({"FASTINSTALL_CACHE_DIR": str(sandbox.root / "cache")}))
    wheel = write_wheel(sandbox.root / "made", "pillow", BUILT, tag)
    publish_wheel(session, wheel, sha256(wheel), indexes.root / "ours")
    index = PackageIndex(settings=PipSettings(index_url=indexes.at(place)), cache=sandbox.root / "cache")

    merged, published = (load_recipe(name, (recipes_directory(),)) for name in ("pillow-fast", "pillow-simd"))
    found = index.releases_for((merged, published), interpreter)

    assert [each.filename for each in found[merged.name].prebuilt] == [wheel.name]
    assert found[merged.name].wheels == ()
    assert found[published.name].prebuilt == ()


def _pip(sandbox: Sandbox, *words: str) -> Result:
    target = ("--target", str(sandbox.root / "installed"), "--no-cache-dir", "--quiet")
    plain = {"PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": None, "PIP_INDEX_URL": None, "PIP_EXTRA_INDEX_URL": None}
    return run((sys.executable, "-m", "pip", "install", *target, *words), sandbox.variables(plain))


def _uv(sandbox: Sandbox, *words: str) -> Result:
    target = ("--target", str(sandbox.root / "installed"), "--no-cache", "--python", sys.executable)
    plain = {"UV_NO_CONFIG": "1", "UV_INDEX": None, "UV_DEFAULT_INDEX": None, "UV_FIND_LINKS": None}
    return run((UV, "pip", "install", *target, *words), sandbox.variables(plain))


def _installed(sandbox: Sandbox) -> str:
    (found,) = (sandbox.root / "installed").glob("pillow-*.dist-info")
    return found.name.removeprefix("pillow-").removesuffix(".dist-info")

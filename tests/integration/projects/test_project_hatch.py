"""A pin in a hatch project: a real hatch creates the environment, with our build."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from integration.projects.pinned import OURS, STOCK, Galleries, Gallery, galleries
from support.projects.tools import ProjectTools, programs
from support.sandbox import Sandbox, run

HATCH = ("hatch==1.18.2",)
MANIFEST = """\
[project]
name = "gallery"  # of the test
version = "0.1.0"
dependencies = ["frame>=1"]
"""
ENVIRONMENT = """\
skip-install = true  # and with it what the project requires: the index has no build backend
dependencies = ["frame>=1"]
path = ".venv"
installer = "{installer}"
"""
SHOW = ("run", "python", "-c", "import PIL; print(open(PIL.__file__).read())")


@pytest.fixture(scope="module")
def hatch(shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of hatch's program, installed in a separate environment."""
    root = tmp_path_factory.mktemp("hatch")
    return programs("hatch", HATCH, Sandbox(root=root, cache=shared_cache, downloads=root / "downloads"))


@pytest.fixture
def made(sandbox: Sandbox, hatch: Path) -> Iterator[Galleries]:
    with galleries(sandbox, ProjectTools(bin=hatch)) as galleries_:
        yield galleries_


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_hatch_keeps_the_stack_of_a_pinned_project_it_recreates(made: Galleries, installer: str) -> None:
    gallery = made.make("hatch", "pinned", _manifest(installer))
    before = gallery.manifest.read_bytes()

    diff = gallery.pin()

    state = gallery.state()
    assert state is not None
    assert (state.kind, state.file, state.problems) == ("hatch", gallery.manifest, ())
    if installer == "uv":  # hatch cannot use pip yet: the existing environment has none
        _hatch(gallery, *SHOW)
        assert gallery.installed == f"# {OURS}\n"
    for words in (("env", "remove", "default"), SHOW):
        _hatch(gallery, *words)
    assert gallery.installed == f"# {OURS}\n"
    assert (gallery.venv.site_packages / "frame-2.0.dist-info").is_dir()

    gallery.apply(diff, "-R")
    assert gallery.manifest.read_bytes() == before
    assert gallery.state() is None
    for words in (("env", "remove", "default"), SHOW):
        _hatch(gallery, *words)
    assert gallery.installed == f"# {STOCK}\n"


def test_environments_in_hatch_toml_are_pinned_there(made: Galleries) -> None:
    gallery = made.make("hatch", "apart", MANIFEST)
    own = gallery.directory / "hatch.toml"
    own.write_text(f"[envs.default]\n{ENVIRONMENT.format(installer='uv')}")
    before = gallery.manifest.read_bytes()

    gallery.pin(gallery.directory / "wheels")

    state = gallery.state()
    assert state is not None
    assert (state.file, state.problems, gallery.manifest.read_bytes()) == (own, (), before)
    _hatch(gallery, "env", "remove", "default")
    _hatch(gallery, *SHOW)
    assert gallery.installed == f"# {OURS}\n"


def _manifest(installer: str) -> str:
    return f"{MANIFEST}\n[tool.hatch.envs.default]\n{ENVIRONMENT.format(installer=installer)}"


def _hatch(gallery: Gallery, *words: str) -> None:
    """Run hatch as in a shell without an active environment, with the local index for pip and uv."""
    ours: Mapping[str, str] = {
        **{name: value for name, value in gallery.variables.items() if name != "VIRTUAL_ENV"},
        "PIP_INDEX_URL": gallery.index.url,
        "UV_INDEX_URL": gallery.index.url,
        "HATCH_DATA_DIR": str(gallery.directory.parent / "hatch"),
    }
    done = run((gallery.tools / "hatch", "--no-interactive", *words), ours, directory=gallery.directory)
    assert done.exit_code == 0, done.text

"""The project directory in which the cells of the swap matrix run; it is restored before each cell.

For package managers it is a usual project, with a manifest, an activated `.venv`, an index, and the stack that
`fastinstall setup` installed. Environments contain their own path, so saved states are restored to the same place.
"""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from e2e.swap_matrix.index import OLDER, Pillows, offer, pillows
from e2e.swap_matrix.mirrored_tree import mirror
from support.environments.interpreters import running
from support.index.server import SimpleIndex
from support.projects.tools import OF_PDM, OF_POETRY, ProjectTools
from support.sandbox import AS_INSTALLED, UV, Result, Sandbox, Venv, run

from fastinstall.core.files import sha256

_MANIFEST = """\
[project]
name = "gallery"
version = "0.1.0"
requires-python = ">={python}"
dependencies = ["frame>=1", "pillow>=8"]
"""
MANIFESTS = {"uv": _MANIFEST, "poetry": _MANIFEST + OF_POETRY, "pdm": _MANIFEST + OF_PDM}
"""Manifests by manager. The project itself is no package that could be built."""

LOCK = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock"}
"""Names of lock files, by manager."""


def write_manifest(manager: str, directory: Path, url: str) -> None:
    """Write the project's pyproject.toml; `url` is the address of the index."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    (directory / "pyproject.toml").write_text(MANIFESTS[manager].format(python=python, url=url))


PIP = "pip==26.3"
"""Pip of the environment: newer than the interpreter's bundled one, and stricter about imports while it runs."""


class Column(StrEnum):
    """The protection of the stack: none, a guard, or a guard and pins."""

    UNGUARDED = "no guard"
    GUARDED = "guard"
    PINNED = "guard + pin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A project, its environment, and the settings of commands that run in it.

    Attributes:
        sandbox: the sandbox that contains the project.
        index: the package index that all tools use.
        published: the wheels of Pillow that the index offers.
        core: sha256 of the core that setup installed.
        settings: environment variables, in addition to those of the sandbox.
        repaired: digests of replaced stacks for which the printed repair command has succeeded.
    """

    sandbox: Sandbox
    index: SimpleIndex
    published: Pillows
    core: str
    settings: Mapping[str, str]
    repaired: set[str] = field(default_factory=set)

    @property
    def project(self) -> Path:
        """The working directory of commands."""
        return self.sandbox.root / "work"

    @property
    def venv(self) -> Venv:
        """The project's environment."""
        return Venv(prefix=self.project / ".venv", variables=self.variables())

    @property
    def is_ours(self) -> bool:
        """Whether the core is the one that setup installed."""
        return any(self.venv.site_packages.glob("PIL/_imaging.*.so")) and sha256(self.venv.core) == self.core

    def variables(self, *, activated: bool = True) -> dict[str, str]:
        """Return the environment variables of a person who has activated the environment, or has not."""
        tools = f"{self.sandbox.root / 'tools'}:/usr/bin:/bin"
        own = {"PATH": tools}
        if activated:
            prefix = self.project / ".venv"
            own = {"PATH": f"{prefix / 'bin'}:{tools}", "VIRTUAL_ENV": str(prefix)}
        return self.sandbox.variables({"PIP_FIND_LINKS": None, **self.settings, **own})

    def shell(self, command: str, *, activated: bool = True) -> Result:
        """Run a command line in a shell."""
        assert self.venv.python.exists(), "a bare pip would be another one's"
        return run(("sh", "-c", command), self.variables(activated=activated), directory=self.project)

    def put_back(self, manager: str, column: Column) -> None:
        """Restore the directory for a manager and a column; the first call for these sets the directory up."""
        saved = self._saved(manager, column)
        if not saved.exists():
            self._set_up(manager, column)
            mirror(self.project, saved)
        mirror(saved, self.project)

    def _saved(self, manager: str, column: Column) -> Path:
        kind = manager if manager in MANIFESTS else "environment"
        return self.sandbox.root / "saved" / f"{kind}-{column.name.lower()}"

    def _set_up(self, manager: str, column: Column) -> None:
        if manager in MANIFESTS:
            self._add_project(manager, column)
        else:
            mirror(self._saved(manager, Column.GUARDED), self.project)
            if column is Column.UNGUARDED:
                self._do("fastinstall guard remove --yes --prefix .venv")
        if column is Column.PINNED:
            self._do("fastinstall guard install --yes --pin --prefix .venv")
        if column is Column.PINNED and manager in MANIFESTS:
            self._do("fastinstall guard pin --prefix .venv --project . > pin.patch && git apply pin.patch")

    def _add_project(self, manager: str, column: Column) -> None:
        """Add the manifest and the lock, which are written once for all columns, to the environment."""
        self.put_back("pip", Column.UNGUARDED if column is Column.UNGUARDED else Column.GUARDED)
        locked = self.sandbox.root / "saved" / f"{manager}-locked"
        if not locked.exists():
            write_manifest(manager, self.project, self.index.url)
            self._lock(manager)
            locked.mkdir()
            for name in ("pyproject.toml", LOCK[manager]):
                (self.project / name).rename(locked / name)
        for file in locked.iterdir():
            shutil.copy2(file, self.project)

    def _lock(self, manager: str) -> None:
        """Write a lock from before Pillow's newest release; the tools' caches do not know that release either."""
        caches = self.sandbox.root / "caches"
        caches.rename(caches.with_name("later"))
        offer(self.index, self.published, OLDER, self.published.same)
        self._do(f"{manager} lock")
        offer(self.index, self.published, *self.published.versions.values())
        shutil.rmtree(caches)
        caches.with_name("later").rename(caches)

    def _do(self, command: str) -> None:
        done = self.shell(command)
        assert done.exit_code == 0, done.text


def make_scene(
    sandbox: Sandbox, index: SimpleIndex, tools: ProjectTools | None = None, extras: tuple[str, ...] = ()
) -> Scene:
    """Set the stack up from the real index, then switch all tools to the local index.

    Args:
        sandbox: a sandbox that the caller keeps open.
        index: a running index.
        tools: poetry and pdm; None if no row uses them.
        extras: further packages to install from the real index.
    """
    _offer_tools(sandbox.root / "tools", tools)
    project = sandbox.root / "work"
    project.mkdir()
    venv = sandbox.venv(running(), name="work/.venv", tool="uv")
    assert venv.uv("install", "--compile-bytecode", PIP, *extras).exit_code == 0
    done = sandbox.cli("setup", "--yes", "--json", "--prefix", venv.prefix)
    assert done.exit_code == 0, done.text
    same = venv.run("-c", "import PIL; print(PIL.__version__)").stdout.strip()
    scene = Scene(
        sandbox=sandbox,
        index=index,
        published=pillows(sandbox.cache, same),
        core=sha256(venv.core),
        settings=_settings(sandbox, index),
    )
    offer(index, scene.published, *scene.published.versions.values())
    _write_requirements(scene)
    assert scene.shell("pip install frame==1.0").exit_code == 0
    (sandbox.root / "saved").mkdir()
    mirror(project, scene._saved("pip", Column.GUARDED))
    return scene


def _offer_tools(directory: Path, tools: ProjectTools | None) -> None:
    """Write programs that PATH has after the environment's: fastinstall, uv, another environment's pip, `tools`."""
    directory.mkdir()
    programs: dict[str, tuple[str | Path, ...]] = {
        "fastinstall": (sys.executable, *AS_INSTALLED, "-m", "fastinstall"),
        "pip": (sys.executable, "-m", "pip"),
        "uv": (UV,),
    }
    if tools is not None:
        programs |= {"poetry": (tools.poetry,), "pdm": (tools.pdm,)}
    for name, words in programs.items():
        (directory / name).write_text(f'#!/bin/sh\nexec {" ".join(map(str, words))} "$@"\n')
        (directory / name).chmod(0o755)


def _settings(sandbox: Sandbox, index: SimpleIndex) -> dict[str, str]:
    """Return variables that make all tools use the local index, and caches in the sandbox."""
    caches = sandbox.root / "caches"
    return {
        "PIP_INDEX_URL": index.url,
        "PIP_CACHE_DIR": str(caches / "pip"),
        "UV_DEFAULT_INDEX": index.url,
        "UV_CACHE_DIR": str(caches / "uv"),
        "UV_PYTHON_DOWNLOADS": "never",
        "POETRY_CACHE_DIR": str(caches / "poetry"),
        "POETRY_VIRTUALENVS_IN_PROJECT": "true",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "PDM_CACHE_DIR": str(caches / "pdm"),
        "PDM_CHECK_UPDATE": "0",
        "PDM_PYPI_URL": index.url,
    }


def _write_requirements(scene: Scene) -> None:
    """Write the files that rows name: `older.txt`, `same.txt`, `newer.txt`, and `hashed-*.txt` with digests."""
    for word, version in scene.published.versions.items():
        line, digest = f"pillow=={version}", scene.published.sha256(version)
        (scene.project / f"{word}.txt").write_text(f"{line}\n")
        (scene.project / f"hashed-{word}.txt").write_text(f"{line} --hash=sha256:{digest}\n")

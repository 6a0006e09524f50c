"""Projects of uv, poetry and pdm for tests of pins and locks; a local index offers a Pillow that has one file."""

import json
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.index.server import SimpleIndex, serving
from support.index.wheels import PURE, pack_files, stub_wheel
from support.projects.tools import OF_PDM, OF_POETRY, ProjectTools
from support.sandbox import UV, Result, Sandbox, Venv, run
from support.values.builders import changed, receipt

from fastinstall.journal.layout import RECEIPT
from fastinstall.model.guards import PinState, Project
from fastinstall.model.receipt import Receipt
from fastinstall.pins.pin_project import ProjectChange, make_pin
from fastinstall.pins.recognition import project_of, read_project_pin

OURS, STOCK = "2.0+simd.v2", "3.0"
"""Versions of Pillow: our build, and the newest one on the index."""

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_TAG = f"cp{PYTHON.replace('.', '')}-cp{PYTHON.replace('.', '')}-manylinux_2_17_{platform.machine()}"
MANIFEST = f"""\
[project]
name = "gallery"  # of the test
version = "0.1.0"
requires-python = ">={PYTHON}"
dependencies = ["frame>=1"]
"""
_MORE = {"uv": "\n[tool.uv]\npackage = false\n", "poetry": OF_POETRY, "pdm": OF_PDM, "hatch": ""}


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """A project whose environment has our stack.

    Attributes:
        directory: the project's directory.
        manager: the name of its tool.
        variables: environment variables for its commands.
        tools: the directory of poetry and pdm.
        index: the local package index that all tools use.
        version: the version of our build.
    """

    directory: Path
    manager: str
    variables: Mapping[str, str]
    tools: Path
    index: SimpleIndex
    version: str = OURS

    @property
    def venv(self) -> Venv:
        return Venv(prefix=self.directory / ".venv", variables=self.variables)

    @property
    def project(self) -> Project:
        found = project_of(self.venv.prefix)
        assert found is not None
        return found

    @property
    def wheel(self) -> Path:
        """Write the wheel of our build, and return it."""
        name = f"pillow-{self.version}-{_TAG}.whl"
        wheel = Path(self.variables["HOME"], name)
        wheel.write_bytes(_pillow(self.version, _TAG))
        return wheel

    @property
    def receipt(self) -> Receipt:
        return changed(receipt(), {"distribution": "pillow", "version": self.version})

    @property
    def manifest(self) -> Path:
        return self.directory / "pyproject.toml"

    @property
    def lock(self) -> Path:
        return self.directory / f"{self.manager}.lock"

    @property
    def installed(self) -> str:
        """Return the version that the installed Pillow's code contains."""
        return (self.venv.site_packages / "PIL.py").read_text()

    def tool(self, *words: str) -> Result:
        """Run the project's tool in the project."""
        program = UV if self.manager == "uv" else self.tools / self.manager
        return run((program, *words), self.variables, directory=self.directory)

    @property
    def wheels(self) -> Path:
        """Return the directory that keeps our build for the project's tool."""
        return Path(self.variables["HOME"], "wheels", self.directory.name)

    def change(self, wheels: Path | None = None) -> ProjectChange:
        """Return the change that pins the stack in the project."""
        directory = wheels or self.wheels
        return make_pin(self.venv.prefix, self.project, self.receipt, self.wheel, directory, self.variables)

    def pin(self, wheels: Path | None = None) -> str:
        """Pin the stack in the project by applying the diff with git, as a person would; return the diff."""
        change = self.change(wheels)
        self.apply(change.diff)
        return change.diff

    def apply(self, diff: str, *flags: str) -> None:
        """Apply a diff to the project with git."""
        patch = Path(self.variables["HOME"], "pin.patch")
        patch.write_bytes(diff.encode())
        done = run(("git", "apply", *flags, patch), self.variables, directory=self.directory)
        assert done.exit_code == 0, done.text

    def state(self) -> PinState | None:
        """Return the state of the pin in the project's manifest."""
        place = self.venv.prefix / RECEIPT
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"distribution": "pillow", "version": self.version}))
        return read_project_pin(self.venv.prefix)

    def write(self, manifest: str) -> None:
        """Write the manifest, with settings that make the tool use the local index."""
        self.manifest.write_text(manifest + _MORE[self.manager].format(url=self.index.url))


@contextmanager
def galleries(sandbox: Sandbox, tools: ProjectTools) -> Iterator["Galleries"]:
    """Yield a factory of projects."""
    with serving() as index:
        _offer(index)
        yield Galleries(sandbox=sandbox, tools=tools, index=index)


@dataclass(frozen=True, kw_only=True)
class Galleries:
    """Makes projects.

    Attributes:
        sandbox: contains the projects.
        tools: poetry and pdm.
        index: the local package index that all tools use.
    """

    sandbox: Sandbox
    tools: ProjectTools
    index: SimpleIndex

    def make(self, manager: str, name: str, manifest: str = MANIFEST) -> Gallery:
        """Return a project without a lock; its environment has our Pillow and nothing else."""
        directory = self.sandbox.root / name
        directory.mkdir(parents=True)
        gallery = Gallery(
            directory=directory,
            manager=manager,
            variables=self._variables(directory),
            tools=self.tools.bin,
            index=self.index,
        )
        gallery.write(manifest)
        made = run(
            (UV, "venv", "--quiet", "--no-project", "--python", sys.executable, gallery.venv.prefix),
            gallery.variables,
            directory=directory,
        )
        assert made.exit_code == 0, made.text
        installed = gallery.venv.uv("install", "--no-index", "--no-deps", str(gallery.wheel))
        assert installed.exit_code == 0, installed.text
        direct = gallery.venv.site_packages / f"pillow-{OURS}.dist-info" / "direct_url.json"
        direct.unlink()  # uv writes this file, fastinstall's setup does not
        return gallery

    def _variables(self, directory: Path) -> dict[str, str]:
        caches = self.sandbox.root / "caches"
        ours = {
            "UV_DEFAULT_INDEX": self.index.url,
            "UV_CACHE_DIR": str(caches / "uv"),
            "UV_PYTHON_DOWNLOADS": "never",
            "POETRY_CACHE_DIR": str(caches / "poetry"),
            "POETRY_VIRTUALENVS_IN_PROJECT": "true",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            "PDM_CACHE_DIR": str(caches / "pdm"),
            "PDM_CHECK_UPDATE": "0",
            "VIRTUAL_ENV": str(directory / ".venv"),
        }
        variables = self.sandbox.variables(ours)
        return {**variables, "PATH": f"{UV.parent}:{self.tools.bin}:{variables['PATH']}"}


def _offer(index: SimpleIndex) -> None:
    index.offer("pillow", dict([_stock("2.0"), _stock(STOCK)]))
    index.offer("frame", dict([stub_wheel("frame", "1.0", "pillow>=1"), stub_wheel("frame", "2.0", "pillow>=1")]))
    index.offer("easel", dict([stub_wheel("easel", "1.0", "pillow>=1")]))
    # Version 2.0 excludes our build: a resolver that needs our build falls back to 1.0.
    index.offer("picky", dict([stub_wheel("picky", "1.0", "pillow>=1"), stub_wheel("picky", "2.0", "pillow>=3")]))


def _stock(version: str) -> tuple[str, bytes]:
    return f"pillow-{version}-{PURE}.whl", _pillow(version)


def _pillow(version: str, tag: str = PURE) -> bytes:
    return pack_files("pillow", version, {"PIL.py": f"# {version}\n".encode()}, tag=tag)

"""Real environments of every kind; each is created once per run, and copied for tests that change one."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.conda.prefix import add_pillow, conda_prefix
from support.elf.jpeg_libraries import JpegLibraries, conda_library, jpeg_libraries
from support.elf.linked_pillow import BY_RUNPATH, PillowSource, pillow_source
from support.environments.interpreters import running
from support.environments.site_packages import rerecord
from support.index.cached_files import fetched
from support.machine.needs import require_system
from support.sandbox import FORK, ONE_LEVEL, Result, Sandbox, Venv

from fastinstall.elf.cpu import rank
from fastinstall.observe.cpu import observe_cpu

OTHER_VERSION = "12.1.1"


@dataclass(frozen=True, kw_only=True)
class Environments:
    """Creates environments, and libraries and sources to damage them with.

    Attributes:
        sandbox: the sandbox that contains them.
        made: everything created so far, by name.
    """

    sandbox: Sandbox
    made: dict[str, Any] = field(default_factory=dict)

    def copy(self, kind: str) -> Venv:
        """Copy an environment ("ours", "stock", "empty", "fork", "linked", "conda"), replacing its previous copy."""
        pristine = self._pristine(kind)
        prefix = pristine.with_name(kind)
        shutil.rmtree(prefix, ignore_errors=True)
        shutil.copytree(pristine, prefix, symlinks=True)
        return Venv(prefix=prefix, variables=self.sandbox.variables())

    def jpegs(self) -> JpegLibraries:
        """Return libjpegs that differ from the bundled one."""
        found: JpegLibraries = self._once("jpegs", self._jpegs)
        return found

    def other_version(self) -> Path:
        """Return the site-packages of another version of Pillow."""
        found: Path = self._once("other", self._other_version)
        return found

    def source(self) -> PillowSource:
        """Return Pillow's source, compiled with correct flags."""
        found: PillowSource = self._once("source", lambda: self._source("source", "-O1"))
        return found

    def careless_source(self) -> PillowSource:
        """Return Pillow's source compiled with `CFLAGS=-mavx2` alone, as in many guides."""
        require_system(rank(observe_cpu(allowed_cores=1, tunables="").level) >= rank("x86-64-v3"), "a CPU with AVX2")
        found: PillowSource = self._once("careless", lambda: self._source("careless", "-mavx2"))
        return found

    @property
    def version(self) -> str:
        """The version of the newest Pillow."""
        (metadata,) = self._pristine("stock").glob("lib/python3*/site-packages/pillow-*.dist-info")
        return metadata.name.removesuffix(".dist-info").partition("-")[2]

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    def _pristine(self, kind: str) -> Path:
        made: Path = self._once(f"pristine {kind}", lambda: _set_aside(getattr(self, f"_{kind}")()))
        return made

    def _ours(self) -> Venv:
        venv = self.sandbox.venv(running(), name="ours", pip=False)
        succeeds(self.sandbox.cli("setup", "--yes", "--prefix", venv.prefix))
        return venv

    def _stock(self) -> Venv:
        venv = self.sandbox.venv(running(), name="stock", pip=False)
        succeeds(venv.uv("install", "--link-mode", "copy", "pillow"))
        return venv

    def _empty(self) -> Venv:
        return self.sandbox.venv(running(), name="empty", pip=False)

    def _fork(self) -> Venv:
        """Create an environment with Pillow-SIMD as users install it: under its own name, without a receipt."""
        venv, wheels = self.sandbox.venv(running(), name="fork", pip=False), self.sandbox.root / "wheels"
        words = ("--python", venv.python, *FORK, *ONE_LEVEL, "--dist-name", "pillow-simd")
        succeeds(self.sandbox.cli("build", "-o", wheels, *words))
        succeeds(venv.pip("install", "--quiet", *map(str, wheels.glob("*.whl"))))
        return venv

    def _linked(self) -> Venv:
        """Create an environment whose core is linked with a libjpeg-turbo in `lib`, found by DT_RUNPATH."""
        prefix = self.copy("stock").prefix.rename(self.sandbox.root / "linked")
        venv = Venv(prefix=prefix, variables=self.sandbox.variables())
        jpeg = prefix / "lib/libjpeg.so.8"
        shutil.copy2(self.jpegs().conda, jpeg)
        self.source().link(venv.core, jpeg, linker=BY_RUNPATH)
        rerecord(next(venv.site_packages.glob("pillow-*.dist-info")), venv.core)
        return venv

    def _conda(self) -> Venv:
        venv = conda_prefix(self.sandbox, running().executable, "conda")
        conda_library(self.sandbox.cache, venv.prefix / "lib/libz.so.1")
        add_pillow(venv, self.version)
        return venv

    def _jpegs(self) -> JpegLibraries:
        require_system(shutil.which("gcc"), "gcc")
        return jpeg_libraries(self.sandbox.cache, self.sandbox.root / "jpegs")

    def _source(self, name: str, *flags: str) -> PillowSource:
        require_system(shutil.which("gcc"), "gcc")
        sdist = f"pillow-{self.version}.tar.gz"
        return pillow_source(fetched(self.sandbox.cache, sdist)[sdist], self.sandbox.root / name, *flags)

    def _other_version(self) -> Path:
        target = self.sandbox.root / "other"
        venv = self.sandbox.venv(running(), name="other-python", pip=False)
        succeeds(venv.uv("install", "--target", str(target), "--no-deps", f"pillow=={OTHER_VERSION}"))
        return target


def succeeds(result: Result) -> None:
    """Assert that a command succeeded that only prepares a test."""
    assert result.exit_code == 0, result.text


def _set_aside(venv: Venv) -> Path:
    return venv.prefix.rename(venv.prefix.with_name(f"{venv.prefix.name}-pristine"))

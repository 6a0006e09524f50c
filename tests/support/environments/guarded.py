"""Real virtual environments with a tiny PIL and its guard, and wheels of other PILs that replace it."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.environments.interpreters import of_version
from support.environments.with_pip import add_pip
from support.index.wheels import write_files_wheel

from fastinstall.core import files
from fastinstall.core.messages import PROGRAM
from fastinstall.guard.staged_files import stage_guard
from fastinstall.journal.layout import EVENTS
from fastinstall.model.receipt import BuiltCore
from fastinstall.observe.guard_files import entries_present, render_state

STACK = "12.1.1.post0"
CORE = "PIL/_imaging.cpython-core.so"
SIMD_CORE = b"\x7fELF core with SIMD kernels"
WARNING = f"fastinstall: the fast Pillow {STACK} in "

_TEMPLATES = tempfile.TemporaryDirectory(prefix="fastinstall-guarded-")


def python_at_hand(version: str) -> Path | None:
    """Return an interpreter of this version: the tests' own, or one from PATH or pyenv; None if there is none."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return Path(sys.executable)
    found = of_version(version)
    return found.executable if found is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A virtual environment, a temporary directory for its processes, and methods that run commands in it."""

    prefix: Path
    temporary: Path

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    @property
    def site(self) -> Path:
        return next(self.prefix.glob("lib/python3*/site-packages"))

    def run(self, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run this environment's Python."""
        return self.execute((self.python, *arguments), variables)

    def execute(
        self, argv: tuple[str | Path, ...], variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with few inherited variables, this environment's temporary directory, and `variables`."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FASTINSTALL_"))
        }
        environment = {**inherited, "TMPDIR": str(self.temporary), "LC_ALL": "C.UTF-8", **(variables or {})}
        return subprocess.run(
            argv, env=environment, cwd=self.temporary, capture_output=True, text=True, check=False, timeout=300
        )

    def put_pil(self, version: str, core: bytes) -> None:
        """Write a complete PIL with the current time as modification time, as an installer does."""
        shutil.rmtree(self.site / "PIL", ignore_errors=True)
        for name, content in pil_files(version, core).items():
            (self.site / name).parent.mkdir(exist_ok=True)
            (self.site / name).write_bytes(content)

    def swap(self, *, tool: str = "uv", version: str = "13.0.0") -> None:
        """Replace PIL as a tool would that does not run the target's Python."""
        self.put_pil(version, b"\x7fELF stock core")
        metadata = self.site / f"pillow-{version}.dist-info"
        metadata.mkdir()
        (metadata / "INSTALLER").write_text(tool)

    @property
    def version(self) -> str:
        """The version of this environment's Python: "3.11"."""
        return self.site.parent.name.removeprefix("python")

    def guard(self, *, core: str = CORE, stack: str = STACK, program: str = PROGRAM, version: str = "") -> None:
        """Install the guard of the present PIL as setup does: stage, compile, rename.

        Args:
            core: path of its imaging core.
            stack: version in the receipt.
            program: the command line that starts fastinstall.
            version: version of Python to install for, if not this environment's.
        """
        file = self.site / core
        built = BuiltCore(
            path=core,
            size=file.stat().st_size,
            mtime_ns=file.stat().st_mtime_ns,
            sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
            simd_symbols=("ImagingFilter3x3f_4u8",),
        )
        stage = self.prefix / "stage"
        for name in entries_present(self.site):
            files.rename(self.site / name, Path(tempfile.mkdtemp(dir=self.prefix)) / name)
        state = render_state(self.site, built, stack, program)
        for name in stage_guard(stage, state, self.python, version or self.version):
            files.rename(stage / name, self.site / name)
        (self.prefix / EVENTS).parent.mkdir(parents=True, exist_ok=True)


def warnings(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the guard's warnings in a result, without the hints."""
    return [line for line in result.stderr.splitlines() if line.startswith("fastinstall: ")]


def make_environment(directory: Path, python: Path, *, name: str = "env", pip_of: Path | None = None) -> Guarded:
    """Create a virtual environment without PIL and guard; pip is copied from the cache `pip_of`, if given."""
    subprocess.run([python, "-m", "venv", "--without-pip", directory / name], check=True, capture_output=True)
    if pip_of is not None:
        add_pip(directory / name, python, pip_of, os.environ)
    temporary = directory / "tmp"
    temporary.mkdir(exist_ok=True)
    return Guarded(prefix=directory / name, temporary=temporary)


def make_guarded(directory: Path, python: Path, *, name: str = "env") -> Guarded:
    """Copy a virtual environment that has a guarded PIL of fastinstall and no pip."""
    shutil.copytree(_template(python).prefix, directory / name, symlinks=True)
    (directory / "tmp").mkdir(exist_ok=True)
    return Guarded(prefix=directory / name, temporary=directory / "tmp")


@cache
def _template(python: Path) -> Guarded:
    guarded = make_environment(Path(tempfile.mkdtemp(dir=_TEMPLATES.name)), python)
    guarded.put_pil(STACK, SIMD_CORE)
    guarded.guard()
    return guarded


def pil_files(version: str, core: bytes) -> dict[str, bytes]:
    """Return a PIL that can be imported and does nothing; its core is never loaded."""
    return {
        "PIL/__init__.py": b"from ._version import __version__\n",
        "PIL/_version.py": f'# Master version for Pillow\n__version__ = "{version}"\n'.encode(),
        CORE: core,
    }


def make_wheel(
    directory: Path, version: str, *, stack: str = "", core: bytes = b"\x7fELF stock core", more: int = 0
) -> Path:
    """Write a small wheel of a Pillow, which installs quickly and without a network, or slowly with `more` files."""
    files = {**pil_files(stack or version, core), **{f"PIL/file_{number}.py": b"pass\n" for number in range(more)}}
    return write_files_wheel(directory, "pillow", version, files)

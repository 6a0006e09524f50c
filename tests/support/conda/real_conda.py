"""A real conda for tests: 24.7.1 with its classic solver, taken from conda-lock's wheel.

The package index has no conda. So conda-lock's copy is made importable as `conda` in a virtual environment; the
`__init__` of conda-lock itself, which would be imported too, is emptied. CONDA_EXE may name a second conda,
of the person who runs the tests. Neither reads that person's settings or uses a network.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from inspect import getsource
from pathlib import Path
from typing import Any

from support.environments.interpreters import Python, at_hand, running
from support.machine.needs import require_system
from support.made_once import key_of, made_once
from support.sandbox import UV, Result, run

REQUIREMENTS = (
    *("archspec==0.2.7", "boltons==26.2.0", "conda-package-handling==2.6.0", "conda-package-streaming==0.13.0"),
    *("distro==1.9.0", "frozendict==2.5.1", "jsonpatch==1.47", "packaging==26.3", "platformdirs==4.14.7"),
    *("pluggy==1.7.0", "pycosat==0.6.6", "requests==2.34.2", "ruamel.yaml==0.19.1", "tqdm==4.70.1"),
    *("pyyaml==6.0.3",),  # needed by fastinstall, which the plugin runs from the checkout
    *("truststore==0.10.5", "zstandard==0.25.0"),
)
CONDA_LOCK = "conda-lock==4.0.3"

_SETTINGS = """\
channels: [{channels}]
default_channels: []
solver: classic
register_envs: false
pkgs_dirs: [{root}/pkgs]
envs_dirs: [{root}/envs]
notify_outdated_conda: false
offline: true
auto_update_conda: false
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealConda:
    """A conda with its settings and channels.

    Attributes:
        executable: a value for CONDA_EXE.
        python: a value for CONDA_PYTHON_EXE: the interpreter of its base environment.
        root: directory with its settings, packages and named environments, on the file system of the prefixes.
        base: environment variables that all commands of tests need.
    """

    executable: Path
    python: Path
    root: Path
    base: Mapping[str, str]

    @property
    def version(self) -> str:
        """The version of this conda."""
        return _version(self.executable)

    @property
    def base_prefix(self) -> Path:
        """The prefix of this conda's base environment."""
        return self.python.parents[1]

    def configured(self, *channels: str) -> "RealConda":
        """Write these channels (URLs) into the settings of this conda, and return it."""
        (self.root / "condarc").write_text(_SETTINGS.format(root=self.root, channels=", ".join(channels)))
        return self

    def at(self, root: Path, *channels: str) -> "RealConda":
        """Return this conda with settings, packages and environments in another directory."""
        root.mkdir(parents=True, exist_ok=True)
        return replace(self, root=root).configured(*channels)

    @property
    def variables(self) -> dict[str, str]:
        """The variables of a person who uses this conda and has no environment activated."""
        own = {"CONDARC": self.root / "condarc", "CONDA_EXE": self.executable, "CONDA_PYTHON_EXE": self.python}
        return {**self.base, **{name: str(path) for name, path in own.items()}}

    def activated(self, prefix: Path) -> dict[str, str]:
        """Return the variables of a person who has an environment activated."""
        path = f"{prefix}/bin{os.pathsep}{self.variables['PATH']}"
        own = {"CONDA_PREFIX": str(prefix), "CONDA_DEFAULT_ENV": str(prefix), "CONDA_SHLVL": "1", "PATH": path}
        return {**self.variables, **own}

    def run(self, *words: str | Path, changes: Mapping[str, str] | None = None) -> Result:
        """Run a conda command."""
        return run((self.executable, *words), {**self.variables, **(changes or {})}, directory=self.root)

    def create(self, prefix: Path, *specs: str) -> Path:
        """Create an environment; fail if conda fails."""
        return self._done(prefix, "create", *specs)

    def install(self, prefix: Path, *words: str) -> Path:
        """Install into an environment; fail if conda fails. `words` may be options."""
        return self._done(prefix, "install", *words)

    def remove(self, prefix: Path, *words: str) -> Path:
        """Remove from an environment; fail if conda fails. `words` may be options: "--force"."""
        return self._done(prefix, "remove", *words)

    def list(self, prefix: Path) -> dict[str, dict[str, Any]]:
        """Return the output of `conda list`, by name."""
        done = self.run("list", "--json", "--prefix", prefix)
        assert done.exit_code == 0, done.text
        return {record["name"]: record for record in done.document}

    def _done(self, prefix: Path, command: str, *words: str) -> Path:
        done = self.run(command, "--yes", "--quiet", "--prefix", prefix, *words)
        assert done.exit_code == 0, done.text
        return prefix


@cache
def _version(executable: Path) -> str:
    """Return the version that a conda reports; cached, as its start takes half a second."""
    variables = {"PATH": os.environ["PATH"], "HOME": os.devnull}
    return run((executable, "--version"), variables).stdout.split()[-1]


def vendored_conda(cache: Path, root: Path, base: Mapping[str, str]) -> RealConda:
    """Return conda 24.7.1, without channels.

    Args:
        cache: fastinstall's cache, which keeps conda's environment.
        root: a directory of the caller; see `RealConda`.
        base: environment variables; see `RealConda`.
    """
    directory = cache / "testbed" / f"conda-{key_of(CONDA_LOCK, *REQUIREMENTS, getsource(_make), getsource(_expose))}"
    made = made_once(directory, lambda place: _make(place, base))
    conda = RealConda(executable=made / "bin/conda", python=made / "bin/python", root=root, base=base)
    return conda.configured()


def own_conda(root: Path, base: Mapping[str, str]) -> RealConda:
    """Return the conda that CONDA_EXE names; see `vendored_conda`."""
    executable = Path(os.environ["CONDA_EXE"])
    python = executable.resolve().parents[1] / "bin/python"
    return RealConda(executable=executable, python=python, root=root, base=base).configured()


def plugged(conda: RealConda, directory: Path, entry_point: str) -> dict[str, str]:
    """Return environment variables with which conda loads a plugin from the checkout.

    Args:
        conda: a conda whose interpreter can run fastinstall.
        directory: receives the metadata of the plugin.
        entry_point: an entry point of the group `conda`: "fastinstall = fastinstall.conda_plugin".
    """
    information = directory / "plugin_of_the_test-1.0.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-of-the-test\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[conda]\n{entry_point}\n")
    checkout = Path(__file__).resolve().parents[3]
    return {**conda.variables, "PYTHONPATH": f"{directory}{os.pathsep}{checkout}"}


def _make(directory: Path, base: Mapping[str, str]) -> None:
    """Create the virtual environment that contains conda and is conda's base environment."""
    python = directory / "bin/python"
    commands = (
        (UV, "venv", "--quiet", "--no-project", "--allow-existing", "--python", _interpreter().executable, directory),
        (UV, "pip", "install", "--quiet", "--python", python, "--no-deps", CONDA_LOCK),
        (UV, "pip", "install", "--quiet", "--python", python, "--compile-bytecode", *REQUIREMENTS),
    )
    for command in commands:
        done = run(command, base)
        assert done.exit_code == 0, done.text
    (site,) = directory.glob("lib/python3*/site-packages")
    _expose(site)
    (directory / "conda-meta").mkdir()
    (directory / "conda-meta/history").touch()
    (directory / "bin/conda").write_text(f'#!/bin/sh\nexec "{python}" -m conda "$@"\n')
    (directory / "bin/conda").chmod(0o755)


def _interpreter() -> Python:
    """Return an interpreter that can run this conda: Python 3.13 removed functions of logging that it uses."""
    candidates = (running(), *(python for python in at_hand() if python.version >= (3, 11)))
    found = next((python for python in candidates if python.version < (3, 13)), None)
    require_system(found, "Python 3.11 or 3.12, which conda 24.7.1 runs on,")
    assert found is not None
    return found


def _expose(site: Path) -> None:
    """Make conda importable by its own name; empty conda-lock's `__init__`, and remove its entry points."""
    (site / "conda").symlink_to("conda_lock/_vendor/conda")
    (site / "conda_lock/__init__.py").write_text("")
    (metadata,) = site.glob("conda_lock-*.dist-info")
    (metadata / "entry_points.txt").unlink()

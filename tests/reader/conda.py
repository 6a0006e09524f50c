"""What pages about conda need: conda in /opt/conda, the channel conda-forge, machines without conda or compiler.

conda is a copy of the conda in `real_conda`, because some pages install into conda's base. conda-forge is a directory:
the local channel of the other tests, a compiler package that starts this machine's compiler, and fakes of the packages
that describe a processor.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from support.conda.channel import conda_channel, fake, local_channel
from support.conda.environments import USUAL, conda_made, rattler_environment
from support.conda.packages import CondaPackage, Entry, index_channel, metadata_entries, text_entry
from support.conda.packed_stack import labelled_wheel
from support.conda.processors import LEVELS, processors
from support.conda.real_conda import vendored_conda
from support.conda.stack import NEWER_PILLOW, SITE, official_name
from support.docs.pages import ROOT
from support.environments.interpreters import running
from support.environments.with_pip import add_pip
from support.index.cached_files import fetched
from support.made_once import key_of, made_once
from support.sandbox import Sandbox

_MODULES = shutil.ignore_patterns("site-packages")
_COMPILER = re.compile(r"(?:.*-)?(?:cc|gcc|g\+\+|c\+\+|c\d\d|clang)(?:-[\d.]+)?")
_ACTIVATED = (
    'conda() {{ case $1 in activate|deactivate) eval "$(command conda shell.posix "$@")" ;; '
    '*) command conda "$@" ;; esac; }}; WITHOUT_CONDA=$PATH; WITH_CONDA={base}/condabin:$PATH; PATH=$WITH_CONDA'
)
"""Defines the shell function that `conda init` installs, as far as pages need it."""


def conda(sandbox: Sandbox) -> str:
    """Provide conda in /opt/conda, with an environment `images`. Pages must not change conda's base."""
    return _conda(sandbox, lambda made, site: site.symlink_to(made))


def own_conda(sandbox: Sandbox) -> str:
    """Provide conda as `conda` does, but with a base that has pip and that pages may change."""

    def copy(made: Path, site: Path) -> None:
        shutil.copytree(made, site, symlinks=True)
        add_pip(site.parents[2], running().executable, sandbox.cache, sandbox.variables())

    return _conda(sandbox, copy)


def conda_forge(sandbox: Sandbox) -> str:
    """Provide the channel conda-forge in /opt/conda-forge, and conda settings that name this directory."""
    directory = sandbox.root / "opt/conda-forge"
    directory.symlink_to(_made_forge(sandbox.cache))
    settings = sandbox.root / "home/.condarc"
    settings.write_text(f"channels: [{directory.as_uri()}]\n", encoding="utf-8")
    return ""


def another_channel(sandbox: Sandbox) -> str:
    """Provide a channel in /opt/images, with a later Pillow and a package that requires this Pillow."""
    local_channel(sandbox.root / "opt/images", _stub("13.1.0"), fake("viewer", "2.0", "pillow >=13.1"))
    return ""


def of_pixi(sandbox: Sandbox) -> str:
    """Provide an environment as pixi creates it, with py-rattler, on a machine without conda."""
    _environment(sandbox, sandbox.root / "desk/.pixi/envs/default")
    return "conda deactivate; PATH=$WITHOUT_CONDA; unset CONDA_EXE CONDA_PYTHON_EXE"


def rattler_build(sandbox: Sandbox) -> str:
    """Provide rattler-build on PATH, fastinstall in /opt/fastinstall, a checkout with the recipes, and /srv/wheels.

    The checkout's recipes are limited to the running Python, as the channel has no other. The wheels in /srv/wheels are
    official wheels with our labels.
    """
    for program, words in {
        "bin/rattler-build": f'"{sys.executable}" -P "{ROOT}/tests/reader/rattler_build.py"',
        "opt/fastinstall/bin/python": f'"{sys.executable}" -P',
    }.items():
        file = sandbox.root / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        file.chmod(0o755)
    checkout = sandbox.root / "opt/checkout"
    for directory in ("recipes/conda", "hooks/conda"):
        shutil.copytree(ROOT / directory, checkout / directory)
    variants = checkout / "recipes/conda/pillow/variants.yaml"
    text = variants.read_text(encoding="utf-8")
    variants.write_text(f'{text[: text.index("python:")]}python:\n  - "{running()}"\n', encoding="utf-8")
    (wheels := sandbox.root / "srv/wheels").mkdir()
    official = official_name(NEWER_PILLOW)
    for level in LEVELS:
        labelled_wheel(fetched(sandbox.cache, official)[official], wheels, f"simd.{level.rpartition('-')[2]}")
    return f"export RATTLER_CACHE_DIR='{sandbox.root}/rattler'"


def no_compiler(sandbox: Sandbox) -> str:
    """Provide a PATH with all programs except compilers."""
    directory = sandbox.root / "no-compiler"
    directory.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            if not _COMPILER.fullmatch(program.name) and not os.path.lexists(directory / program.name):
                (directory / program.name).symlink_to(program)
    cache = sandbox.cache_without("wheels")  # no built wheels: with these, the page's command would not need a compiler
    return f"export FASTINSTALL_CACHE_DIR='{cache}'; unset CC; PATH='{sandbox.root}/bin:{directory}'"


def _conda(sandbox: Sandbox, fill: Callable[[Path, Path], None]) -> str:
    """Provide conda; `fill(original, target)` creates the base's site-packages at `target`."""
    base = sandbox.root / "opt/conda"
    images = conda_made(_environment(sandbox, base / "envs/images"), USUAL)
    there = vendored_conda(sandbox.cache, base, sandbox.variables()).configured(_channel(sandbox.cache).as_uri())
    shutil.copytree(there.base_prefix, base, symlinks=True, dirs_exist_ok=True, ignore=_MODULES)
    (site,) = there.base_prefix.glob("lib/python3*/site-packages")
    fill(site, base / site.relative_to(there.base_prefix))
    (base / "bin/conda").write_text(f'#!/bin/sh\nexec "{base}/bin/python" -m conda "$@"\n', encoding="utf-8")
    (base / "condabin").mkdir()
    (base / "condabin/conda").symlink_to("../bin/conda")
    known = sandbox.root / "home/.conda/environments.txt"
    known.parent.mkdir(exist_ok=True)
    known.write_text(f"{base}\n{images}\n", encoding="utf-8")
    return _ACTIVATED.format(base=base)


def _environment(sandbox: Sandbox, prefix: Path) -> Path:
    return rattler_environment(_channel(sandbox.cache).as_uri(), prefix, USUAL, sandbox.downloads / "unpacked")


@cache
def _channel(kept: Path) -> Path:
    """Return the local channel's directory. The result is cached, because making it asks an index for a wheel."""
    return conda_channel(kept).directory


def _made_forge(cache: Path) -> Path:
    usual = _channel(cache)

    def fill(directory: Path) -> None:
        shutil.copytree(usual, directory, dirs_exist_ok=True)
        for package in (_compiler(), *processors()):
            package.write(directory)
        index_channel(directory)

    return made_once(cache / "testbed" / f"forge-{key_of(usual.name, Path(__file__))}", fill)


def _stub(version: str) -> CondaPackage:
    """Return a conda package that is Pillow by name and version, but can do nothing."""
    named = {f"{SITE}PIL/_version.py": f'__version__ = "{version}"\n', f"{SITE}PIL/__init__.py": ""}
    metadata = metadata_entries("pillow", version).items()
    files = {path: text_entry(text) for path, text in named.items()}
    files |= {f"{SITE}{path.removeprefix('site-packages/')}": entry for path, entry in metadata}
    return CondaPackage(name="pillow", version=version, build="py311h1234567_0", files=files)


def _compiler() -> CondaPackage:
    wrapper = Entry(data=f'#!/bin/sh\nexec "{shutil.which("gcc")}" "$@"\n'.encode(), mode=0o755)
    files = {"bin/x86_64-conda-linux-gnu-cc": wrapper}
    return CondaPackage(name="c-compiler", version="1.9.0", build="h1234567_0", files=files)


BRINGERS: Mapping[str, Callable[[Sandbox], str]] = {
    "conda": conda,
    "own-conda": own_conda,
    "conda-forge": conda_forge,
    "another-channel": another_channel,
    "pixi": of_pixi,
    "rattler-build": rattler_build,
    "no-compiler": no_compiler,
}

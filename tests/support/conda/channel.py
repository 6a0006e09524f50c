"""A local conda channel, built once: real Pythons, Pillows and image libraries, and small tools.

`python` is the interpreter that runs the tests: a copy of its executable, with its standard library as symbolic links
to files, so that each environment is its own `sys.base_prefix`. Its compression modules load the environment's zlib
and liblzma, as Pillow's libraries do. `pytorch` and `cuda-cudart` are fakes: a marker file, and dependencies for which
a solver may want to change other packages.
"""

import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from support.conda import old_stack as conda_old_stack
from support.conda import packages as conda_packages
from support.conda import stack as conda_stack
from support.conda.old_stack import OLD_PILLOW, old_packages
from support.conda.packages import (
    CondaPackage,
    Entry,
    index_channel,
    metadata_entries,
    text_entry,
    wheel_entries,
    wheel_scripts,
)
from support.conda.stack import MINOR, NEWER_PILLOW, PILLOW, SITE, linked_wheels, official_name, stack_packages
from support.elf.jpeg_libraries import patchelf
from support.environments.interpreters import running
from support.index.cached_files import fetched
from support.machine.needs import require_plain_python
from support.made_once import key_of, made_once

PYTHON = ".".join(map(str, sys.version_info[:3]))
EARLIER_PYTHON = f"{MINOR}.{sys.version_info.micro - 1}" if sys.version_info.micro else f"{PYTHON}rc1"
"""An earlier Python in name only; its files are the same."""

_LEFT_OUT = {
    *("site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "tkinter", "internal"),
    *("distutils", "pydoc_data", "curses", "dbm", "sqlite3", "wsgiref", "macholib"),
}
_ENCODINGS = re.compile(r"(__init__|aliases|ascii|latin_1|utf_|idna|punycode|cp437|charmap|unicode_escape|hex|zlib)")
_ANY_PYTHON = "python >=3.8"


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaChannel:
    """The channel, and versions of its packages.

    Attributes:
        directory: its directory, which must not be changed.
        python: version of the Python that an environment gets by default.
        earlier_python: another version of the same minor version.
        pillow: version of the Pillow that tests install.
        newer_pillow: a newer version, built in the same way.
        old_pillow: a version that is linked with IJG's libjpeg.
        wheel: the official wheel that `pillow` is made from.
    """

    directory: Path
    wheel: Path
    python: str = PYTHON
    earlier_python: str = EARLIER_PYTHON
    pillow: str = PILLOW
    newer_pillow: str = NEWER_PILLOW
    old_pillow: str = OLD_PILLOW

    @property
    def url(self) -> str:
        """The channel's URL."""
        return self.directory.as_uri()


def conda_channel(cache: Path) -> CondaChannel:
    """Return the channel; build it if it does not exist.

    Args:
        cache: fastinstall's cache, for downloads and for the channel.
    """
    modules = [Path(module.__file__ or "") for module in (conda_packages, conda_stack, conda_old_stack)]
    directory = cache / "testbed" / f"channel-{key_of(*modules, Path(__file__))}"
    made_once(directory, lambda made: _fill(made, cache))
    wheel = official_name(PILLOW)
    return CondaChannel(directory=directory, wheel=fetched(cache, wheel)[wheel])


def local_channel(directory: Path, *packages: CondaPackage) -> str:
    """Create a channel with a test's own packages, and return the channel's URL."""
    for package in packages:
        package.write(directory)
    return index_channel(directory)


def tool(name: str, release: str, *depends: str, requires: tuple[str, ...] = ()) -> CondaPackage:
    """Return a pure Python package with one module and its dist-info; `requires` are requirements in that dist-info."""
    module = f'"""Does nothing."""\n__version__ = "{release}"\n'
    return CondaPackage(
        name=name,
        version=release,
        build="pyhd8ed1ab_0",
        depends=(_ANY_PYTHON, *depends),
        noarch="python",
        files={f"site-packages/{name}.py": text_entry(module), **metadata_entries(name, release, requires=requires)},
    )


def fake(name: str, release: str, *depends: str) -> CondaPackage:
    """Return a package with a well-known name, a marker file, and nothing else."""
    marker = {f"share/fake/{name}.txt": text_entry(f"a fake {name} {release}\n")}
    return CondaPackage(name=name, version=release, build="h1234567_0", depends=depends, noarch="generic", files=marker)


def _fill(directory: Path, cache: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="channel-", dir=directory.parent) as scratch:
        for package in _packages(cache, Path(scratch)):
            package.write(directory)
    index_channel(directory)


def _packages(cache: Path, scratch: Path) -> Iterator[CondaPackage]:
    files = _python_files(scratch)
    yield from (_python(release, files) for release in (PYTHON, EARLIER_PYTHON))
    yield _pip(cache)
    usual, newer = linked_wheels(cache, scratch)
    yield from stack_packages(usual, newer)
    yield from old_packages(cache, scratch / "old", newer)
    yield tool("imgtool", "1.0", "pillow", requires=("pillow",))
    yield tool("oldimgtool", "1.0", "pillow >=9.5,<10", requires=("pillow<10,>=9.5",))
    yield from (tool("puretool", release) for release in ("1.0", "1.1"))
    yield fake("cuda-cudart", "12.4")
    yield fake("cuda-cudart", "12.6")
    yield fake("pytorch", "2.5", "cuda-cudart 12.4.*", f"python =={EARLIER_PYTHON}")
    yield fake("pytorch", "2.6", "cuda-cudart >=12.4", _ANY_PYTHON, "pillow <13")


def _python(release: str, files: dict[str, Entry]) -> CondaPackage:
    return CondaPackage(
        name="python",
        version=release,
        build="h1234567_0_cpython",
        depends=("__glibc >=2.17", "libzlib >=1.3.1,<2.0a0", "liblzma >=5.8.1,<6.0a0"),
        constrains=(f"python_abi {MINOR}.* *_cp{MINOR.replace('.', '')}",),
        files=files,
    )


def _python_files(scratch: Path) -> dict[str, Entry]:
    require_plain_python()
    name = f"python{MINOR}"
    executable = Entry(source=running().executable.resolve(), mode=0o755)
    include, library = Path(sysconfig.get_path("include")), Path(sysconfig.get_path("stdlib"))
    return {
        f"bin/{name}": executable,
        "bin/python3": Entry(link=name),
        "bin/python": Entry(link=name),
        f"{SITE}README.txt": text_entry("Distributions are put here.\n"),
        **_links(include, f"include/{include.name}"),
        **_links(library, f"lib/{name}"),
        **_relinked(library / "lib-dynload", f"lib/{name}/lib-dynload", scratch),
    }


def _relinked(directory: Path, below: str, scratch: Path) -> dict[str, Entry]:
    """Return Python's compression modules, relinked to load the environment's libraries as in conda's Python."""
    made = {}
    for module in (path for stem in ("zlib", "_lzma") for path in directory.glob(f"{stem}.*.so")):
        copied = Path(shutil.copy(module, scratch))
        patchelf("--force-rpath", "--set-rpath", "$ORIGIN/../..", copied)
        made[f"{below}/{module.name}"] = Entry(source=copied, mode=0o755)
    return made


def _links(root: Path, below: str) -> dict[str, Entry]:
    """Return links to all files of a tree, as conda cannot link to directories."""
    found = {}
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _LEFT_OUT and not name.startswith("config-")]
        paths = [Path(directory, name) for name in files if _is_wanted(Path(directory, name))]
        found.update({f"{below}/{path.relative_to(root)}": Entry(link=str(path)) for path in paths})
    return found


def _is_wanted(path: Path) -> bool:
    """Return True if environments need this file of the standard library: each file costs time in each environment."""
    if "encodings" in path.parts[-3:-1] and not _ENCODINGS.match(path.name):
        return False
    return not path.name.startswith(("EXTERNALLY-MANAGED", "_test", "_xx", "xx")) and ".opt-" not in path.name


def _pip(cache: Path) -> CondaPackage:
    wheel = f"pip-{version('pip')}-py3-none-any.whl"
    path = fetched(cache, wheel)[wheel]
    return CondaPackage(
        name="pip",
        version=version("pip"),
        build="pyhd8ed1ab_0",
        depends=(_ANY_PYTHON,),
        noarch="python",
        files=wheel_entries(path),
        entry_points=wheel_scripts(path),
    )

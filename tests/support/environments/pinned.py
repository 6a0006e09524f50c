"""Virtual environments with a tiny stack of ours, as a setup leaves them, and an index of tiny packages around it.

Not the real stack: its PIL does nothing. Everything that a pin is about is real: pip, uv, the index's protocol, the
wheel in our cache, and the receipt.
"""

import hashlib
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support.index.server import SimpleIndex
from support.sandbox import UV, Result, Sandbox, run
from support.values.builders import changed, receipt

from fastinstall.core.codec import document, dump
from fastinstall.core.events import Event
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.facts import Environment, EnvironmentKind
from fastinstall.observe.session import Session, open_session
from fastinstall.wheelbuild.wheel_cache import store_wheel

VERSION = "13.0.0+simd.v2.v3"
REQUIREMENT = f"pillow=={VERSION}"
STOCK = "99.0.0"
Argv = tuple[str | Path, ...]
_CORE = f"PIL/_imaging{sysconfig.get_config_var('EXT_SUFFIX')}"


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """An environment with our stack and no pip of its own, what it is worked on with, and what was said.

    Attributes:
        prefix: where it is.
        variables: of the shell.
        said: messages of the session, as they come.
    """

    prefix: Path
    variables: Mapping[str, str]
    said: list[str]

    @property
    def environment(self) -> Environment:
        return Environment(prefix=self.prefix, kind=EnvironmentKind.VENV, python=self.prefix / "bin/python")

    @property
    def session(self) -> Session:
        """A session whose messages are kept."""

        def hear(event: Event) -> None:
            self.said.append(getattr(event, "message", ""))

        return open_session(self.variables).listening(hear)

    @property
    def configuration(self) -> Path:
        return self.prefix / "pip.conf"

    @property
    def site(self) -> Path:
        return next(self.prefix.glob("lib/python3*/site-packages"))

    def installed(self) -> list[str]:
        """Distributions, by their metadata directories."""
        return sorted(path.name.removesuffix(".dist-info") for path in self.site.glob("*.dist-info"))

    def pip(self, *words: str) -> Result:
        """Run the pip of the tests on it."""
        argv: Argv = (sys.executable, "-m", "pip", "--python", self.prefix / "bin/python", *words)
        return run(argv, self.variables)

    def uv(self, *words: str, sourced: bool = True) -> Result:
        """Run `uv pip` on it, in a shell that has read environment.sh or has not."""
        script = '. "$1"; shift; exec "$@"' if sourced else 'shift; exec "$@"'
        exports = self.prefix / "share/fastinstall/pin/environment.sh"
        argv: Argv = ("sh", "-ec", script, "sh", exports, UV, "pip", *words, "--python", self.prefix / "bin/python")
        return run(argv, self.variables)

    def put(self, wheel: Path) -> None:
        """Unpack a wheel, as an installer does."""
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)


def make_pinned(sandbox: Sandbox, index: SimpleIndex, *, name: str = "env") -> Pinned:
    """An environment with our stack of `VERSION`, its receipt, and its wheel in a cache of the sandbox's own."""
    prefix, cache = sandbox.root / name, sandbox.root / "cache"
    variables = sandbox.variables(
        {
            "FASTINSTALL_CACHE_DIR": str(cache),
            "XDG_CONFIG_DIRS": str(sandbox.root / "shared"),
            "PIP_INDEX_URL": index.url,
            "PIP_EXTRA_INDEX_URL": None,
            "PIP_FIND_LINKS": None,
            "PIP_NO_INDEX": None,
            "PIP_CONSTRAINT": None,
            "UV_DEFAULT_INDEX": index.url,
            "UV_INDEX": None,
            "UV_INDEX_URL": None,
            "UV_EXTRA_INDEX_URL": None,
            "UV_FIND_LINKS": None,
        }
    )
    made = run((sys.executable, "-m", "venv", "--without-pip", prefix), variables)
    assert made.exit_code == 0, made.text
    pinned = Pinned(prefix=prefix, variables=variables, said=[])
    wheel = pillow(sandbox.root, VERSION)
    pinned.put(wheel)
    entry = store_wheel(cache, {"of": name}, wheel, {})
    _leave_receipt(pinned, entry.wheel, entry.sha256)
    return pinned


def pillow(directory: Path, version: str) -> Path:
    """A wheel of a Pillow that can be imported and does nothing; its core is never loaded."""
    files = {
        "PIL/__init__.py": "from ._version import __version__\n",
        "PIL/_version.py": f'__version__ = "{version}"\n',
        _CORE: f"\x7fELF core of {version}",
    }
    return _wheel(directory, "pillow", version, files, ())


def dependant(directory: Path, name: str, version: str, *requires: str) -> Path:
    """A wheel of nothing that requires something."""
    return _wheel(directory, name, version, {f"{name}.py": f"version = {version!r}\n"}, requires)


def offer(index: SimpleIndex, *wheels: Path) -> None:
    """Serve wheels of one distribution."""
    index.offer(wheels[0].name.partition("-")[0], {wheel.name: wheel.read_bytes() for wheel in wheels})


def _wheel(directory: Path, name: str, version: str, files: Mapping[str, str], requires: tuple[str, ...]) -> Path:
    metadata = f"{name}-{version}.dist-info"
    headers = "".join(f"Requires-Dist: {each}\n" for each in requires)
    contents = {
        **files,
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{headers}",
        f"{metadata}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    wheel = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
        archive.writestr(f"{metadata}/RECORD", "".join(f"{path},,\n" for path in (*contents, f"{metadata}/RECORD")))
    return wheel


def _leave_receipt(pinned: Pinned, wheel: str, sha256: str) -> None:
    core = pinned.site / _CORE
    status = core.stat()
    built = {"path": _CORE, "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    changes = {
        "core": {**built, "sha256": hashlib.sha256(core.read_bytes()).hexdigest()},
        "environment": {"prefix": str(pinned.prefix), "python": str(pinned.prefix / "bin/python")},
        "metadata": f"pillow-{VERSION}.dist-info",
        "version": VERSION,
        "stack_version": VERSION,
        "wheel": wheel,
        "wheel_sha256": sha256,
    }
    file = pinned.prefix / RECEIPT
    file.parent.mkdir(parents=True)
    file.write_text(dump(document("receipt", changed(receipt(), changes))))

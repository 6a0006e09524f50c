"""A channel with a stack of ours and tiny packages, and environments as a setup with this stack leaves them.

The PIL in the stack does nothing. The files that conda's plugin reads are real, and written by the project's own code:
conda's records, and a receipt.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from support.conda.environments import rattler_environment
from support.conda.packages import CondaPackage, Entry, index_channel, metadata_entries, text_entry
from support.values.builders import changed, receipt

from fastinstall.core.codec import document, dump
from fastinstall.core.directories import hooks_directory
from fastinstall.journal.layout import RECEIPT

STACK = "12.1.1.post0"
_MINOR = f"python{sys.version_info.major}.{sys.version_info.minor}"
_SITE = f"lib/{_MINOR}/site-packages"
CORE = f"{_SITE}/PIL/_imaging.cpython-{sys.version_info.major}{sys.version_info.minor}-x86_64-linux-gnu.so"
OURS = "simd_v2v3_py311_0"
STOCK = "py311h1234567_0"
_PROCESSOR = '__archspec ==1[build="^.*$|^1$|^.*$"]'
"""A requirement of our stack on the processor, written so that every processor meets it."""
SCRIPTS = tuple(f"etc/conda/activate.d/fastinstall.{suffix}" for suffix in ("fish", "sh"))
GUARD = CondaPackage(
    name="fastinstall-guard",
    version="1",
    build="0",
    noarch="generic",
    constrains=("pillow * simd_*",),
    files={path: Entry(source=hooks_directory() / "conda" / Path(path).name) for path in SCRIPTS},
)


def swappable_channel(directory: Path) -> str:
    """Write the channel: our Pillow, stock Pillows, packages that require a Pillow, and an unrelated package.

    Returns:
        The channel's URL.
    """
    packages = (
        _pillow("12.1.1", OURS, b"\x7fELF core with SIMD kernels", stack=STACK, depends=(_PROCESSOR,)),
        _pillow("12.1.1", STOCK, b"\x7fELF stock"),
        _pillow("13.0.0", STOCK, b"\x7fELF stock of thirteen"),
        _tool("viewer", "2.0", "pillow >=13"),
        _tool("painter", "1.0", "pillow >=12"),
        _tool("puretool", "1.0"),
        GUARD,
    )
    for package in packages:
        package.write(directory)
    return index_channel(directory)


def stacked(prefix: Path, channels: Sequence[str], packages: Path, *specs: str) -> Path:
    """Create an environment with the stack, and the receipt of its setup.

    Args:
        prefix: the environment's path.
        channels: URLs, including that of this module's channel.
        packages: py-rattler's package cache.
        specs: specs of further packages.
    """
    rattler_environment(channels, prefix, (f"pillow ==12.1.1 {OURS}", *specs), packages)
    return with_receipt(prefix)


def with_receipt(prefix: Path) -> Path:
    """Write the receipt of a setup that installed the present PIL."""
    core = prefix / CORE
    status = core.stat()
    built = {"path": f"PIL/{core.name}", "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    changes = {
        "core": {**built, "sha256": hashlib.sha256(core.read_bytes()).hexdigest()},
        "environment": {"prefix": str(prefix), "kind": "conda", "python": str(prefix / "bin/python")},
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "metadata": "pillow-12.1.1.dist-info",
        "stack_version": STACK,
    }
    file = prefix / RECEIPT
    file.parent.mkdir(parents=True)
    file.write_text(dump(document("receipt", changed(receipt(), changes))))
    return prefix


def as_package(prefix: Path, channel: str) -> Path:
    """Rewrite the receipt, as if the setup had installed conda packages of a stack and its guard."""
    file = prefix / RECEIPT
    guard = {"name": GUARD.name, "version": GUARD.version, "build": GUARD.build, "subdir": GUARD.subdir}
    url = f"{channel}/{GUARD.subdir}/{GUARD.stem}.conda"
    stack = {
        "package": {"name": "pillow", "version": "12.1.1", "build": OURS, "channel": channel},
        "guard": {**guard, "channel": channel, "url": url},
        "channel": channel.removeprefix("file://"),
    }
    kept = json.loads(file.read_text())
    file.write_text(dump({**kept, "engine": "rattler", "conda": stack}))
    return prefix


def _pillow(version: str, build: str, core: bytes, *, stack: str = "", depends: tuple[str, ...] = ()) -> CondaPackage:
    metadata = {
        f"{_SITE}/{path.partition('/')[2]}": entry for path, entry in metadata_entries("pillow", version).items()
    }
    files = {
        f"{_SITE}/PIL/__init__.py": text_entry("from ._version import __version__\n"),
        f"{_SITE}/PIL/_version.py": text_entry(f'__version__ = "{stack or version}"\n'),
        CORE: Entry(data=core),
        **metadata,
    }
    return CondaPackage(name="pillow", version=version, build=build, depends=depends, files=files)


def _tool(name: str, version: str, *depends: str) -> CondaPackage:
    files = {f"share/{name}": text_entry(version)}
    return CondaPackage(name=name, version=version, build="0", noarch="generic", depends=depends, files=files)

"""Environments from the local channel: created by py-rattler, by a real conda, or by commands from users' guides."""

import json
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.conda.asynchronous import complete
from support.conda.real_conda import RealConda
from support.sandbox import Result, run

if TYPE_CHECKING:
    from rattler import PrefixRecord

USUAL = ("python", "pip", "pillow=12.1.1", "imgtool", "puretool=1.0")
"""Specs of a conda-forge user: a Pillow with libjpeg-turbo, a tool that needs it, and one that does not."""

OLD = ("python", "pip", "pillow=9.5.0", "jpeg", "libtiff", "oldimgtool", "puretool=1.0")
"""Specs of a user of the old `defaults`: a Pillow and a libtiff with IJG's libjpeg."""


NewEnvironment = Callable[..., Path]
"""`new_environment(prefix, *specs)` creates an environment from the local channel, with py-rattler."""


def rattler_environment(channels: str | Sequence[str], prefix: Path, specs: Sequence[str], packages: Path) -> Path:
    """Create an environment, or change one to match `specs` while keeping its other packages.

    Args:
        channels: URLs, by decreasing priority.
        prefix: the environment's path.
        specs: as on conda's command line.
        packages: cache of unpacked packages, on the file system of the prefix.
    """
    complete(_install([channels] if isinstance(channels, str) else list(channels), prefix, list(specs), packages))
    return prefix


def conda_made(prefix: Path, specs: Sequence[str]) -> Path:
    """Give an environment made by py-rattler the history and the kind of hashes that conda's `create` writes.

    conda's solver keeps to the specs in the history, which py-rattler leaves empty. For a symbolic link, py-rattler
    records the hash of the link's target path, which conda would take for a hash of content.
    """
    lines = (
        "==> 2026-01-02 03:04:05 <==",
        f"# cmd: conda create --yes --prefix {prefix} {' '.join(specs)}",
        "# conda version: 24.7.1",
        *(re.sub(r"/([^/]*)\.conda$", r"::\1", f"+{record.url}") for record in installed(prefix)),
        f"# update specs: {list(specs)}",
    )
    (prefix / "conda-meta/history").write_text("".join(f"{line}\n" for line in lines))
    for path in prefix.glob("conda-meta/*.json"):
        document = json.loads(path.read_text())
        for entry in document["paths_data"]["paths"]:
            if entry["path_type"] == "softlink":
                entry.pop("sha256_in_prefix", None)
        path.write_text(json.dumps(document))
    return prefix


def installed(prefix: Path) -> "list[PrefixRecord]":
    """Return the package records of an environment, as py-rattler reads them."""
    from rattler import PrefixRecord

    return [PrefixRecord.from_path(path) for path in sorted(prefix.glob("conda-meta/*.json"))]


def builds(prefix: Path) -> dict[str, str]:
    """Return version and build by package name: "13.0.0 py311h1234567_0"."""
    return {record.name.normalized: f"{record.version} {record.build}" for record in installed(prefix)}


def classic_recipe(conda: RealConda, prefix: Path, wheel: Path) -> list[Result]:
    """Run the commands that many guides give for installing Pillow-SIMD, and return their results.

    Only paths are changed. Of the packages named in the first command, conda 24.7 removes those that are installed. A
    later command that names a package that is not installed fails and removes nothing, but users continue.

    Args:
        conda: the conda to run.
        prefix: the environment's path.
        wheel: a wheel of Pillow-SIMD, which replaces the guides' compilation.
    """
    pip = (prefix / "bin/python", "-m", "pip", "--disable-pip-version-check")
    into = ("--yes", "--quiet", "--prefix", prefix)
    return [
        conda.run("uninstall", *into, "--force", "pillow", "pil", "jpeg", "libtiff", "libjpeg-turbo"),
        run((*pip, "uninstall", "--yes", "pillow", "pil", "jpeg", "libtiff", "libjpeg-turbo"), conda.variables),
        conda.run("install", *into, "libjpeg-turbo"),
        run((*pip, "install", "--quiet", "--no-deps", "--no-index", wheel), conda.variables),
        conda.run("install", *into, "jpeg", "libtiff"),
    ]


def simd_wheel(official: Path, directory: Path, *, name: str = "pillow-simd") -> Path:
    """Return a stand-in for the fork's wheel: Pillow's own wheel under the fork's name."""
    old, other = "pillow-", f"{name.replace('-', '_')}-"
    made = directory / official.name.replace(old, other, 1)
    with zipfile.ZipFile(official) as archive, zipfile.ZipFile(made, "w") as written:
        for path in archive.namelist():
            content = archive.read(path)
            if path.endswith(".dist-info/METADATA"):
                content = content.replace(b"\nName: pillow\n", f"\nName: {name}\n".encode(), 1)
            if path.endswith(".dist-info/RECORD"):
                record = content.decode().replace(old, other)
                content = re.sub(r"(?m)(dist-info/METADATA),.*$", r"\1,,", record).encode()
            written.writestr(path.replace(old, other, 1), content)
    return made


async def _install(channels: list[str], prefix: Path, specs: list[str], packages: Path) -> None:
    from rattler import Channel, VirtualPackage, install, solve

    present = installed(prefix)
    records = await solve(
        [Channel(url) for url in channels],
        [*specs, *(record.name.normalized for record in present)],
        platforms=["linux-64", "noarch"],
        virtual_packages=[package.into_generic() for package in VirtualPackage.detect()],
        locked_packages=present,
    )
    await install(
        records,
        prefix,
        cache_dir=packages,
        installed_packages=present,
        requested_specs=_requested(specs),
        show_progress=False,
    )


def _requested(specs: list[str]) -> Any:
    from rattler import MatchSpec

    return [MatchSpec(spec)._match_spec for spec in specs]

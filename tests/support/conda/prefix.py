"""Environments with conda's layout and records, created without conda.

They have a copied interpreter with its standard library, shared libraries in `lib`, and a record of each package in
`conda-meta`. The libraries come from the wheels of Pillow and torchvision, under the names that conda uses.
"""

import hashlib
import json
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from support.elf.linked_pillow import LIKE_CONDA, plain_name, relink
from support.environments.site_packages import rerecord
from support.machine.needs import require_plain_python
from support.sandbox import Sandbox, Venv

_MINOR = f"python{sys.version_info.major}.{sys.version_info.minor}"


def conda_prefix(sandbox: Sandbox, base: Path, name: str) -> Venv:
    """Create an environment with only a Python, copied from the interpreter `base`."""
    require_plain_python()
    prefix = sandbox.root / name
    library = prefix / "lib" / _MINOR
    (library / "site-packages").mkdir(parents=True)
    (prefix / "bin").mkdir()
    shutil.copy2(base.resolve(), prefix / "bin" / _MINOR)
    (prefix / "bin/python").symlink_to(_MINOR)
    for entry in Path(sysconfig.get_path("stdlib")).iterdir():
        if entry.name not in ("site-packages", "dist-packages", "__pycache__", "EXTERNALLY-MANAGED"):
            (library / entry.name).symlink_to(entry)
    add_package(prefix, "python", ".".join(map(str, sys.version_info[:3])), (prefix / "bin" / _MINOR,))
    (prefix / "conda-meta/history").touch()
    return Venv(prefix=prefix, variables=sandbox.variables())


def add_package(prefix: Path, name: str, version: str, files: Iterable[Path]) -> None:
    """Write the record of a package as conda does."""
    paths = sorted(path.relative_to(prefix).as_posix() for path in files)
    entries = [{"_path": path, "path_type": "hardlink", "sha256_in_prefix": _digest(prefix / path)} for path in paths]
    document = {
        "name": name,
        "version": version,
        "build": "h0_0",
        "build_number": 0,
        "channel": "https://conda.example/conda-forge/linux-64",
        "subdir": "linux-64",
        "depends": [],
        "constrains": [],
        "files": paths,
        "paths_data": {"paths_version": 1, "paths": entries},
    }
    (prefix / "conda-meta").mkdir(exist_ok=True)
    (prefix / f"conda-meta/{name}-{version}-h0_0.json").write_text(json.dumps(document, indent=2))


def add_pillow(venv: Venv, version: str) -> None:
    """Install Pillow's wheel, and change it to conda's form, in which its libraries belong to the environment."""
    done = venv.uv("install", "--link-mode", "copy", "--no-deps", f"pillow=={version}")
    assert done.exit_code == 0, done.text
    site, library = venv.site_packages, venv.prefix / "lib"
    (metadata,) = site.glob("pillow-*.dist-info")
    names = {path.name: plain_name(path.name) for path in sorted((site / "pillow.libs").iterdir())}
    for old, plain in names.items():
        shutil.move(site / "pillow.libs" / old, library / plain)
        relink(library / plain, names, "$ORIGIN", "--set-soname", plain)
    (site / "pillow.libs").rmdir()
    for module in site.glob("PIL/*.so"):
        relink(module, names, LIKE_CONDA)
    _rewrite(site, metadata)
    add_package(venv.prefix, "pillow", version, (*_members(site / "PIL"), *_members(metadata)))
    jpeg = [library / plain for plain in names.values() if plain.startswith("libjpeg")]
    add_package(venv.prefix, "libjpeg-turbo", "3.2.0", jpeg)
    add_package(
        venv.prefix, "libs", "1.0", [library / plain for plain in names.values() if library / plain not in jpeg]
    )


def _rewrite(site: Path, metadata: Path) -> None:
    """Change RECORD and INSTALLER to what conda-build writes."""
    (metadata / "INSTALLER").write_text("conda\n")
    lines = (metadata / "RECORD").read_text().splitlines()
    kept = [line for line in lines if not line.startswith("pillow.libs/")]
    (metadata / "RECORD").write_text("\n".join((*kept, "")))
    for changed in (*site.glob("PIL/*.so"), metadata / "INSTALLER"):
        rerecord(metadata, changed)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _members(directory: Path) -> Iterator[Path]:
    """Yield the files below a directory."""
    return (path for path in directory.rglob("*") if path.is_file())

"""Make a conda package from a fastinstall wheel, and the guard package; nothing is installed.

Packages are reproducible: the same files give the same bytes, at any time and on any machine.

Source: conda's package specification (CEP 35, `.conda` files; `info/paths.json`, `info/index.json`).
"""

import hashlib
import io
import json
import os
import re
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from fastinstall import __version__
from fastinstall.conda.extra import make_missing_extra_error
from fastinstall.core import files, foreign, process, temporary_directories
from fastinstall.core.architecture import architecture_of_subdir
from fastinstall.core.archives import unpack_zip
from fastinstall.core.directories import hooks_directory
from fastinstall.core.errors import FailedError
from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.index.wheelhouse import require_stack_alone
from fastinstall.model.conda import CondaPackage
from fastinstall.model.conda_packages import find_required_glibc, glibc_spec
from fastinstall.model.facts import Interpreter
from fastinstall.wheelbuild import wheel_files

MOMENT = 1577836800
"""2020-01-01, in seconds since the epoch: the date of every file in a package; bytecode records it too."""


@immutable
class CondaPackageFile:
    """The content of a file in a package, and its permissions.

    Attributes:
        mode: the permission bits, as for chmod(2).
    """

    content: bytes
    mode: int = 0o644


def write_archive(
    package: CondaPackage, members: Mapping[str, CondaPackageFile], about: Mapping[str, Any], channel: Path
) -> CondaPackage:
    """Write a package into a channel, replacing a file of the same name.

    Args:
        package: the package's description, for `info/index.json`.
        members: the package's files, by path relative to the prefix.
        about: the content of `info/about.json`.
        channel: the channel's directory; its index is not updated.

    Returns:
        The package, with channel, URL and hash.

    Raises:
        RefusedError: conda-package-streaming is not installed.
    """
    try:
        from conda_package_streaming.create import conda_builder  # only with the extra "conda"
    except ImportError as error:
        raise make_missing_extra_error("conda-package-streaming") from error
    target = channel / package.subdir / f"{package.dist}.conda"
    everything = {**members, **_make_information(package, members, about)}
    undated = io.BytesIO()
    with temporary_directories.temporary_directory("conda") as space:
        # zstd level 3 takes 1/7 s for each 10 MB; level 9 takes three times as long for files that are a tenth smaller
        with conda_builder(package.dist, space, compression_level=3) as archive:
            for path, member in sorted(everything.items()):
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode, entry.mtime = len(member.content), member.mode, MOMENT
                archive.addfile(entry, io.BytesIO(member.content))
        # Copy the archive without its creation date, so that the package is reproducible.
        with zipfile.ZipFile(space / target.name) as made, zipfile.ZipFile(undated, "w", zipfile.ZIP_STORED) as fixed:
            for name in made.namelist():
                fixed.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), made.read(name))
    files.write_bytes(target, undated.getvalue())
    return replace(place_package(package, channel), sha256=files.sha256(target))


def place_package(package: CondaPackage, channel: Path) -> CondaPackage:
    """Return a package with its channel and URL set for a channel's directory."""
    file = channel.absolute() / package.subdir / f"{package.dist}.conda"
    return replace(package, channel=file.parent.parent.as_uri(), url=file.as_uri())


def _make_information(
    package: CondaPackage, members: Mapping[str, CondaPackageFile], about: Mapping[str, Any]
) -> dict[str, CondaPackageFile]:
    paths = [
        {
            "_path": path,
            "path_type": "hardlink",
            "sha256": hashlib.sha256(member.content).hexdigest(),
            "size_in_bytes": len(member.content),
        }
        for path, member in sorted(members.items())
    ]
    noarch = package.subdir == "noarch"
    index = {
        **package.index,
        "subdir": package.subdir,
        "arch": None if noarch else architecture_of_subdir(package.subdir).machine,
        "platform": None if noarch else "linux",
        "timestamp": MOMENT * 1000,
        **({"license": str(about["license"])} if about.get("license") else {}),
        **({"noarch": "generic"} if noarch else {}),
    }
    documents = {"index": index, "paths": {"paths": paths, "paths_version": 1}, "about": about}
    texts = {f"info/{name}.json": json.dumps(each, indent=1, sort_keys=True) for name, each in documents.items()}
    texts["info/files"] = "".join(f"{path}\n" for path in sorted(members))
    return {path: CondaPackageFile(content=text.encode()) for path, text in texts.items()}


_GUARD_ABOUT = {
    "license": "MIT",
    "summary": "Keeps solvers from replacing a Pillow that fastinstall built",
    "description": "Constrains pillow to builds of fastinstall. Remove this package to have any other. "
    "It comes from a channel inside of one environment: what exports that environment (conda env export, conda list "
    "--explicit) names files that nobody else has. "
    "For others, make a channel: fastinstall build --format conda -o DIR.",
}


def pack_stack(wheel: Path, package: CondaPackage, interpreter: Interpreter, channel: Path) -> CondaPackage:
    """Make a conda package from a wheel.

    Args:
        wheel: the wheel file.
        package: the planned package.
        interpreter: the Python that the wheel is for; it compiles the bytecode in the package.
        channel: the channel's directory; its index is not updated (see `write_repodata`).

    Returns:
        The package with channel, URL and hash, and with a dependency on the glibc that the wheel's tags require.

    Raises:
        FailedError: the wheel is damaged, is not for the planned package or this Python, or refers to libraries by
            paths of this machine.
        RefusedError: conda-package-streaming is not installed.
    """
    with temporary_directories.temporary_directory("package") as root:
        metadata = lay_out_wheel(wheel, interpreter, root)
        headers = HeaderParser().parsestr(foreign.read_text(metadata / "METADATA"))
        name = re.sub(r"[-_.]+", "-", str(headers["Name"])).lower()
        public = str(headers["Version"]).partition("+")[0]
        if (name, public) != (package.name, package.version):
            raise FailedError(f"{wheel.name} is {name} {public}, but {package.dist} was planned")
        tags = wheel_files.read_wheel_tags(metadata.parent)
        if tags.abi != interpreter.abi:
            raise FailedError(f"{wheel.name}: it is for {tags.abi}, but the target's Python is {interpreter.abi}")
        # The finished wheel's platform tags say which glibc it requires; this replaces the planned requirement.
        glibc = find_required_glibc(" ".join(tags.platforms))
        if glibc is not None:
            others = (spec for spec in package.depends if not spec.startswith("__glibc "))
            package = replace(package, depends=(*others, glibc_spec(glibc)))
        members = {path.relative_to(root).as_posix(): _read_member(path) for path in list_files(root)}
        return write_archive(package, members, _make_about(wheel, headers), channel)


def pack_guard(package: CondaPackage, channel: Path, place: Path | None = None) -> CondaPackage:
    """Make the guard package: constraints, and scripts that report problems when a shell activates the environment.

    Args:
        package: the planned guard package.
        channel: the directory of the channel that the package is for.
        place: the directory to write the package to, laid out like a channel; by default `channel`.

    Returns:
        The package with channel, URL and hash. Its build string contains a digest of its content. If the channel has a
        guard with the same content, the package gets the build number of that guard; otherwise, a higher number than
        all guards in the channel.
    """
    scripts = sorted((hooks_directory() / "conda").rglob("fastinstall.*"))
    members = {
        f"etc/conda/activate.d/{path.name}": CondaPackageFile(content=foreign.read_bytes(path)) for path in scripts
    }
    texts = {name: member.content.hex() for name, member in members.items()}
    content = json.dumps([_GUARD_ABOUT, package.constrains, package.depends, texts])
    digest = f"h{hashlib.sha256(content.encode()).hexdigest()[:7]}"
    builds = (
        path.stem.rpartition("-")[2].split("_")
        for path in (channel / package.subdir).glob(f"{package.name}-{package.version}-h*_*.conda")
    )
    there = {int(number): content for content, number in builds}
    number = next((number for number, content in there.items() if content == digest), max(there, default=-1) + 1)
    final = replace(package, build=f"{digest}_{number}", build_number=number)
    return write_archive(final, members, {**_GUARD_ABOUT, **_ORIGIN}, place or channel)


_ORIGIN: dict[str, Any] = {"tags": ["fastinstall"], "extra": {"fastinstall": {"version": __version__}}}


def _make_about(wheel: Path, headers: Message) -> dict[str, Any]:
    """Return the content of `info/about.json`: the wheel's licence and summary, and the package's origin."""
    told = {"license": headers["License-Expression"] or headers["License"], "summary": headers["Summary"]}
    known = {name: str(value) for name, value in told.items() if value}
    wheel_of = {"filename": wheel.name, "sha256": files.sha256(wheel), "version": str(headers["Version"])}
    return {**known, **_ORIGIN, "extra": {"fastinstall": {"version": __version__, "wheel": wheel_of}}}


def _read_member(path: Path) -> CondaPackageFile:
    return CondaPackageFile(content=path.read_bytes(), mode=0o755 if path.stat().st_mode & 0o100 else 0o644)


def list_files(root: Path) -> Iterator[Path]:
    """Yield the files in a directory tree, sorted by path."""
    return (path for path in sorted(root.rglob("*")) if path.is_file())


def lay_out_wheel(wheel: Path, interpreter: Interpreter, root: Path) -> Path:
    """Unpack a wheel as an installer would, and compile its modules to bytecode.

    Args:
        wheel: the wheel file.
        interpreter: the Python that compiles the bytecode; the bytecode contains no absolute paths.
        root: an empty directory, which is filled like a prefix.

    Returns:
        The wheel's `.dist-info` directory below `root`.

    Raises:
        FailedError: the wheel is incomplete, contains more than PIL, or has libraries that refer to paths of this
            machine.
    """
    minor = interpreter.minor + ("t" if interpreter.free_threaded else "")
    site = root / "lib" / f"python{minor}" / "site-packages"
    site.mkdir(parents=True)
    require_stack_alone(wheel)
    unpack_zip(wheel, site)
    metadata = wheel_files.metadata_directory(site)
    _require_relative(site, root)
    for path in site.rglob("*.py"):
        os.utime(path, (MOMENT, MOMENT))
    # Run in `root`, so that the bytecode has relative file names, and with fixed hashes, so that it is reproducible.
    argv = (str(interpreter.executable), "-I", "-S", "-m", "compileall", "-q", str(site.relative_to(root)))
    alone = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    process.run(argv, environment=alone, directory=root, timeout=120, while_working=True)
    files.write_text(metadata / "INSTALLER", "conda\n", durable=False)
    # Write RECORD as an installer would: with bytecode files, but without their hashes.
    record = metadata / "RECORD"
    rows = [
        (path.relative_to(site).as_posix(), "", "")
        if path == record or path.suffix == ".pyc"
        else wheel_files.describe_member(path.relative_to(site).as_posix(), path.read_bytes())
        for path in list_files(site)
    ]
    files.write_text(record, wheel_files.format_record(rows), durable=False)
    return metadata


def _require_relative(site: Path, root: Path) -> None:
    """Refuse libraries that search for other libraries outside `root`: other machines may not have those.

    Raises:
        FailedError: a library is malformed, has a path in DT_NEEDED, or has a path in DT_RUNPATH or DT_RPATH that leads
            outside `root`.
    """
    for path in (path for path in list_files(site) if ".so" in path.suffixes):
        try:
            dynamic = read_dynamic(path)
        except ElfError as error:
            raise FailedError(f"{path.name}: {error}") from error
        outside = [name for name in dynamic.needed if "/" in name]
        searched = dynamic.runpath if dynamic.runpath is not None else dynamic.rpath
        for place in filter(None, (searched or "").split(":")):
            reached = re.sub(r"^\$(ORIGIN|\{ORIGIN\})", str(path.parent), place)
            if reached == place or not Path(os.path.normpath(reached)).is_relative_to(root):
                outside.insert(0, place)
        if outside:
            raise FailedError(
                f"{path.relative_to(site)} looks for libraries in {outside[0]}, which exists only here",
                hint="build it again with --link bundle",
            )

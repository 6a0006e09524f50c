"""Make a conda package from a wheel of ours, the guard package that goes with it, and a channel to hold them.

- The wheel becomes the tree of files that conda would install, with bytecode.
- The same files give the same `.conda` archive, whenever and wherever it is written. Source: conda's package
  specification (CEP 35, `.conda` files; `info/paths.json`, `info/index.json`).
- A channel is a directory with `repodata.json`, which solvers read. Source: conda's specification of channels (CEP 36).

Nothing is solved or installed here.
"""

import base64
import csv
import hashlib
import io
import itertools
import json
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from email.message import Message
from email.parser import HeaderParser
from functools import partial
from pathlib import Path
from typing import Any

from fastinstall import __version__
from fastinstall.conda.engines.choose import make_missing_extra_error
from fastinstall.core import files, foreign, process, temporary_directories
from fastinstall.core.architecture import architecture_of, architecture_of_subdir
from fastinstall.core.directories import hooks_directory
from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.index.wheelhouse import require_stack_alone
from fastinstall.model.conda import CondaPackage, CondaStack
from fastinstall.model.conda_packages import find_required_glibc, glibc_spec
from fastinstall.model.facts import Interpreter
from fastinstall.wheelbuild.restored_directory import discard_halves, explain_write_errors, restore_on_failure
from fastinstall.wheelbuild.wheel_files import metadata_directory, tags_of, unpack_wheel

_GUARD_ABOUT = {
    "license": "MIT",
    "summary": "Keeps solvers from replacing a Pillow that fastinstall built",
    "description": "Constrains pillow to builds of fastinstall. Remove this package to have any other. "
    "It comes from a channel inside of one environment: what exports that environment (conda env export, conda list "
    "--explicit) names files that nobody else has. "
    "For others, make a channel: fastinstall build --format conda -o DIR.",
}


def pack_stack(wheel: Path, package: CondaPackage, interpreter: Interpreter, channel: Path) -> CondaPackage:
    """Make a conda package of a wheel.

    Args:
        wheel: the file.
        package: what was planned.
        interpreter: the Python that the wheel is for; its bytecode goes into the package.
        channel: the directory of a channel; `write_index` makes it known there.

    Returns:
        The package as it is: with channel, URL and hash, and the glibc that the wheel turned out to need.

    Raises:
        FailedError: the wheel is damaged, is another than was planned, or has paths of this machine in it.
        RefusedError: conda-package-streaming is not installed.
    """
    with temporary_directories.temporary_directory("package") as root:
        metadata = lay_out_wheel(wheel, interpreter, root)
        headers = HeaderParser().parsestr(foreign.read_text(metadata / "METADATA"))
        name = re.sub(r"[-_.]+", "-", str(headers["Name"])).lower()
        public = str(headers["Version"]).partition("+")[0]
        if (name, public) != (package.name, package.version):
            raise FailedError(f"{wheel.name} is {name} {public}, but {package.dist} was planned")
        tags = tags_of(metadata.parent)
        if tags.abi != interpreter.abi:
            raise FailedError(f"{wheel.name}: it is for {tags.abi}, but the target's Python is {interpreter.abi}")
        glibc = find_required_glibc(" ".join(tags.platforms))  # what the finished wheel was certified for
        if glibc is not None:
            others = (spec for spec in package.depends if not spec.startswith("__glibc "))
            package = replace(package, depends=(*others, glibc_spec(glibc)))
        members = {path.relative_to(root).as_posix(): _read_member(path) for path in _list_files(root)}
        return write_archive(package, members, _make_about(wheel, headers), channel)


def _list_files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())


def pack_guard(package: CondaPackage, channel: Path) -> CondaPackage:
    """Make the guard package: constraints, and scripts that speak up when a shell activates the environment.

    Returns:
        The package as it is, with channel, URL and hash. Its build string bears a digest of what is in it, and its
        number is greater than that of every other one that the channel has already.
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
    return write_archive(final, members, {**_GUARD_ABOUT, **_ORIGIN}, channel)


_ORIGIN: dict[str, Any] = {"tags": ["fastinstall"], "extra": {"fastinstall": {"version": __version__}}}


def _make_about(wheel: Path, headers: Message) -> dict[str, Any]:
    """Licence and summary as the wheel has them, and what the package was made of."""
    urls = dict(str(line).split(", ", 1) for line in headers.get_all("Project-URL") or () if ", " in str(line))
    told = {
        "license": headers["License-Expression"] or headers["License"],
        "summary": headers["Summary"],
        "home": urls.get("Homepage") or headers["Home-page"],
        "dev_url": urls.get("Source"),
        "doc_url": urls.get("Documentation"),
    }
    known = {name: str(value) for name, value in told.items() if value}
    wheel_of = {"filename": wheel.name, "sha256": files.sha256(wheel), "version": str(headers["Version"])}
    return {**known, **_ORIGIN, "extra": {"fastinstall": {"version": __version__, "wheel": wheel_of}}}


MOMENT = 1577836800
"""2020-01-01, in seconds: the date of every file in a package, which bytecode in it has to agree with."""


@immutable
class CondaPackageFile:
    """A file of a package.

    Attributes:
        content: all of it.
        mode: its permissions.
    """

    content: bytes
    mode: int = 0o644


def _read_member(path: Path) -> CondaPackageFile:
    return CondaPackageFile(content=path.read_bytes(), mode=0o755 if path.stat().st_mode & 0o100 else 0o644)


def write_archive(
    package: CondaPackage, members: Mapping[str, CondaPackageFile], about: Mapping[str, Any], channel: Path
) -> CondaPackage:
    """Write a package into a channel, in place of a file of that name.

    Args:
        package: what `info/index.json` says.
        members: its files, by their paths relative to the prefix.
        about: what `info/about.json` says.
        channel: the directory; its index is left as it is.

    Returns:
        The package, with channel, URL and hash.

    Raises:
        RefusedError: conda-package-streaming is not installed.
    """
    try:
        from conda_package_streaming.create import conda_builder  # noqa: PLC0415 (of the extra "conda")
    except ImportError as error:
        raise make_missing_extra_error("conda-package-streaming") from error
    target = channel / package.subdir / f"{package.dist}.conda"
    everything = {**members, **_make_information(package, members, about)}
    undated = io.BytesIO()
    with temporary_directories.temporary_directory("conda") as space:
        # of zstd: a seventh of a second for each 10 MB; 9 makes it a tenth smaller and takes three times as long
        with conda_builder(package.dist, space, compression_level=3) as archive:
            for path, member in sorted(everything.items()):
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode, entry.mtime = len(member.content), member.mode, MOMENT
                archive.addfile(entry, io.BytesIO(member.content))
        # The same archive without the date of its making.
        with zipfile.ZipFile(space / target.name) as made, zipfile.ZipFile(undated, "w", zipfile.ZIP_STORED) as fixed:
            for name in made.namelist():
                fixed.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), made.read(name))
    files.write_bytes(target, undated.getvalue())
    return replace(
        package, channel=channel.absolute().as_uri(), url=target.absolute().as_uri(), sha256=files.sha256(target)
    )


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
        "arch": None if noarch else architecture_of_subdir(package.subdir).archspec_family,
        "platform": None if noarch else "linux",
        "timestamp": MOMENT * 1000,
        **({"license": str(about["license"])} if about.get("license") else {}),
        **({"noarch": "generic"} if noarch else {}),
    }
    documents = {"index": index, "paths": {"paths": paths, "paths_version": 1}, "about": about}
    texts = {f"info/{name}.json": json.dumps(each, indent=1, sort_keys=True) for name, each in documents.items()}
    texts["info/files"] = "".join(f"{path}\n" for path in sorted(members))
    return {path: CondaPackageFile(content=text.encode()) for path, text in texts.items()}


def lay_out_wheel(wheel: Path, interpreter: Interpreter, root: Path) -> Path:
    """Lay a wheel out as an environment has it, with bytecode of the interpreter.

    Args:
        wheel: the file.
        interpreter: whose bytecode is compiled, without paths of any machine.
        root: an empty directory that stands for the prefix.

    Returns:
        Its `.dist-info` directory.

    Raises:
        FailedError: the wheel is not whole, brings more than PIL, or has files that name a place of this machine.
    """
    minor = ".".join(interpreter.version.split(".")[:2]) + ("t" if interpreter.free_threaded else "")
    site = root / "lib" / f"python{minor}" / "site-packages"
    site.mkdir(parents=True)
    require_stack_alone(wheel)
    unpack_wheel(wheel, site)
    metadata = metadata_directory(site)
    _require_relative(site, root)
    for path in site.rglob("*.py"):
        os.utime(path, (MOMENT, MOMENT))
    # From the prefix, so that the code names its files relative to it; in order, so that the bytes repeat.
    argv = (str(interpreter.executable), "-I", "-S", "-m", "compileall", "-q", str(site.relative_to(root)))
    alone = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    process.run(argv, environment=alone, directory=root, timeout=120)
    files.write_text(metadata / "INSTALLER", "conda\n", durable=False)
    # RECORD as an installer leaves it: bytecode is named, without a hash.
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for path in _list_files(site):
        digest, size = "", ""
        if path != metadata / "RECORD" and path.suffix != ".pyc":
            hashed = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
            digest, size = f"sha256={hashed}", str(path.stat().st_size)
        writer.writerow((path.relative_to(site).as_posix(), digest, size))
    files.write_text(metadata / "RECORD", rows.getvalue(), durable=False)
    return metadata


def _require_relative(site: Path, root: Path) -> None:
    """Refuse a library that looks for others by an absolute path: it would find another environment's, or none."""
    for path in (path for path in _list_files(site) if ".so" in path.suffixes):
        try:
            dynamic = read_dynamic(path)
        except ElfError as error:
            raise FailedError(f"{path.name}: {error}") from error
        outside = [name for name in dynamic.needed if "/" in name]
        for place in filter(
            None, ((dynamic.runpath if dynamic.runpath is not None else dynamic.rpath) or "").split(":")
        ):
            reached = re.sub(r"^\$(ORIGIN|\{ORIGIN\})", str(path.parent), place)
            if reached == place or not Path(os.path.normpath(reached)).is_relative_to(root):
                outside.insert(0, place)
        if outside:
            raise FailedError(
                f"{path.relative_to(site)} looks for libraries in {outside[0]}, which exists only here",
                hint="build it again with --link bundle",
            )


SUBDIRS = (architecture_of(os.uname().machine).conda_subdir, "noarch")
INDEX = "repodata.json"


def write_index(channel: Path) -> None:
    """Write `repodata.json` of both subdirectories anew, from the packages that lie there.

    Raises:
        FailedError: a package cannot be read.
    """
    for subdir in SUBDIRS:
        found = {
            kind: {path.name: _make_record(path) for path in sorted((channel / subdir).glob(f"*{suffix}"))}
            for kind, suffix in (("packages.conda", ".conda"), ("packages", ".tar.bz2"))
        }
        document = {"info": {"subdir": subdir}, **found, "removed": [], "repodata_version": 1}
        files.write_text(channel / subdir / INDEX, json.dumps(document, indent=1, sort_keys=True) + "\n")


def publish_packages(
    pack: Callable[[int, Path], CondaPackage], plan_guard: Callable[[CondaPackage], CondaPackage] | None, channel: Path
) -> CondaStack:
    """Put a package, and the guard that goes with it, into a channel and its index: all of it, or nothing.

    Args:
        pack: makes the package with a number, in a channel's directory. It gets the first number under which nothing
            else lies in the channel.
        plan_guard: says what the guard of the package is; None for no guard.
        channel: the directory, made where it is missing. What lies there stays.

    Raises:
        FailedError: the channel cannot be written, or a package in it cannot be read; then nothing there has changed.
        EnvironmentDamagedError: it could be written in part only, and that not be taken back.
    """
    with temporary_directories.temporary_directory("channel") as scratch:
        packed = _pack_unlike_others(pack, channel, scratch)
        file = f"{packed.subdir}/{packed.dist}.conda"
        package = replace(packed, channel=channel.absolute().as_uri(), url=(channel / file).absolute().as_uri())
        planned = plan_guard(package) if plan_guard is not None else None
        with explain_write_errors(channel), restore_on_failure(channel, partial(_is_written, package, planned)):
            discard_halves(channel, (".conda", INDEX))
            if not (channel / file).exists():
                files.write_bytes(channel / file, (scratch / file).read_bytes())
            guard = pack_guard(planned, channel) if planned is not None else None
            write_index(channel)
    return CondaStack(package=package, guard=guard, channel=channel)


def _pack_unlike_others(pack: Callable[[int, Path], CondaPackage], channel: Path, scratch: Path) -> CondaPackage:
    for number in itertools.count():
        package = pack(number, scratch)
        target = channel / package.subdir / f"{package.dist}.conda"
        if not target.exists() or files.sha256(target) == package.sha256:
            return package
    raise AssertionError("numbers do not end")


def _is_written(package: CondaPackage, guard: CondaPackage | None, path: Path) -> bool:
    """Whether publishing may have written a file: one of the packages, an index, half of one."""
    ours = (f"{package.dist}.conda", INDEX, *((f"{guard.name}-{guard.version}-",) if guard is not None else ()))
    return path.parent.name in SUBDIRS and path.name.removeprefix(".").startswith(ours)


def _make_record(package: Path) -> dict[str, Any]:
    content = package.read_bytes()
    return {
        **_read_index(package),
        "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
    }


def _read_index(package: Path) -> dict[str, Any]:
    from conda_package_streaming.package_streaming import stream_conda_info  # noqa: PLC0415 (of the extra "conda")

    problem = "it has no info/index.json"
    try:
        for archive, member in stream_conda_info(package):
            if member.name == "info/index.json":
                stream = archive.extractfile(member)
                found: dict[str, Any] = json_data(stream.read()) if stream is not None else {}
                return found
    except Exception as error:  # noqa: BLE001 (whatever the reader of archives stumbles over)
        problem = str(error)
    raise FailedError(
        f"{package}: not a valid conda package: {problem}",
        hint=f"mv {quote(package)} /tmp, then run the same command again",
    )

"""From a wheel of ours to a conda package, and the guard package that goes with it."""

import hashlib
import json
import re
from dataclasses import replace
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from fastinstall import __version__
from fastinstall.build.conda_archive import Member, write_archive
from fastinstall.build.conda_tree import members_of, tree_of
from fastinstall.build.wheel import tags_of
from fastinstall.errors import FailedError
from fastinstall.model.conda import CondaPackage
from fastinstall.model.facts import Interpreter
from fastinstall.rules.conda_stack import glibc_spec, required_glibc
from fastinstall.system import files, foreign
from fastinstall.system.resources import hooks_directory

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
    with files.temporary_directory("package") as root:
        metadata = tree_of(wheel, interpreter, root)
        headers = HeaderParser().parsestr(foreign.read_text(metadata / "METADATA"))
        _require_planned(wheel, headers, package)
        tags = tags_of(metadata.parent)
        if tags.abi != interpreter.abi:
            raise FailedError(f"{wheel.name}: it is for {tags.abi}, and the target's Python is {interpreter.abi}")
        final = replace(package, depends=_depends(package, tags.platforms))
        return write_archive(final, members_of(root), _about(wheel, headers), channel)


def pack_guard(package: CondaPackage, channel: Path) -> CondaPackage:
    """Make the guard package: constraints, and scripts that speak up when a shell activates the environment.

    Returns:
        The package as it is, with channel, URL and hash. Its build string bears a digest of what is in it, and its
        number is greater than that of every other one that the channel has already.
    """
    scripts = sorted((hooks_directory() / "conda").rglob("fastinstall.*"))
    members = {f"etc/conda/activate.d/{path.name}": Member(content=foreign.read_bytes(path)) for path in scripts}
    content = json.dumps(
        [
            _GUARD_ABOUT,
            package.constrains,
            package.depends,
            {name: member.content.hex() for name, member in members.items()},
        ]
    )
    digest = hashlib.sha256(content.encode()).hexdigest()[:7]
    number = _number_of(package, digest, channel)
    final = replace(package, build=f"h{digest}_{number}", build_number=number)
    return write_archive(final, members, {**_GUARD_ABOUT, **_made_by()}, channel)


def _number_of(package: CondaPackage, digest: str, channel: Path) -> int:
    """The number that it has in the channel already, else the next one."""
    there = {
        int(number): content
        for content, number in (
            path.stem.rpartition("-")[2].split("_")
            for path in (channel / package.subdir).glob(f"{package.name}-{package.version}-h*_*.conda")
        )
    }
    return next((number for number, content in there.items() if content == f"h{digest}"), max(there, default=-1) + 1)


def _require_planned(wheel: Path, headers: Message, package: CondaPackage) -> None:
    name = re.sub(r"[-_.]+", "-", str(headers["Name"])).lower()
    public = str(headers["Version"]).partition("+")[0]
    if (name, public) != (package.name, package.version):
        raise FailedError(f"{wheel.name} is {name} {public}, and {package.dist} was planned")


def _depends(package: CondaPackage, platforms: tuple[str, ...]) -> tuple[str, ...]:
    """What was planned, with the glibc of the platform tags: they are what the finished wheel was certified for."""
    version = required_glibc(" ".join(platforms))
    if version is None:
        return package.depends
    others = [spec for spec in package.depends if not spec.startswith("__glibc ")]
    return (*others, glibc_spec(version))


def _about(wheel: Path, headers: Message) -> dict[str, Any]:
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
    return {**known, **_made_by(), "extra": {"fastinstall": {"version": __version__, "wheel": wheel_of}}}


def _made_by() -> dict[str, Any]:
    return {"tags": ["fastinstall"], "extra": {"fastinstall": {"version": __version__}}}

"""Both engines, ready to work in a sandbox, and small packages such as a setup makes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from support.conda import packages as conda_packages
from support.conda.packages import Entry, text_entry
from support.conda.real_conda import RealConda
from support.conda.stack import MINOR, SITE
from support.sandbox import Sandbox

from fastinstall.conda.engines.choose import open_engine
from fastinstall.conda.engines.linked_records import read_linked_records
from fastinstall.conda.engines.means import CondaTools
from fastinstall.model.conda import CondaEngine, CondaInstaller, CondaPackage, CondaTool
from fastinstall.observe.conda.records import package_from_record

STACK = "simd_v2v3_py311_0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """What a setup has made: a stack of one module, and its guard.

    Attributes:
        stack: provides PIL.
        guard: has a script in which its prefix is written.
    """

    stack: CondaPackage
    guard: CondaPackage

    @property
    def both(self) -> tuple[CondaPackage, ...]:
        """As engines take them."""
        return (self.stack, self.guard)


def engine_of(kind: CondaInstaller, conda: RealConda, sandbox: Sandbox) -> CondaEngine:
    """An engine with the variables of somebody who uses this conda, and a cache of its own."""
    tool = CondaTool(
        command=(str(conda.executable),), version=conda.version, root=conda.root, solver="classic", found_by="CONDA_EXE"
    )
    return open_engine(kind, tool, CondaTools(variables=conda.variables, cache=sandbox.root / "cache"))


def ours_in(channel: Path, *, version: str = "13.0.0", word: str = "simd", depends: tuple[str, ...] = ()) -> Ours:
    """Write both packages into a channel; `word` stands in the stack's module."""
    package = conda_packages.CondaPackage(
        name="pillow",
        version=version,
        build=STACK,
        build_number=1000,
        depends=depends or (f"python {MINOR}.*", "__glibc >=2.17"),
        files={f"{SITE}PIL/__init__.py": Entry(data=f"word = {word!r}\n".encode())},
    )
    guard = conda_packages.CondaPackage(
        name="fastinstall-guard",
        version="1.0",
        build="0",
        constrains=("pillow * simd_*",),
        noarch="generic",
        files={"etc/conda/activate.d/fastinstall.sh": text_entry(f": {conda_packages.PLACEHOLDER}\n")},
    )
    return Ours(stack=_made(package, channel), guard=_made(guard, channel))


def offered(channel: str, name: str, *, subdir: str = "linux-64") -> CondaPackage:
    """The one package of a channel whose file's name starts so."""
    directory = Path(channel.removeprefix("file://"), subdir)
    (file,) = directory.glob(f"{name}*.conda")
    name, version, build = file.name.removesuffix(".conda").rsplit("-", 2)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return CondaPackage(
        name=name, version=version, build=build, subdir=subdir, channel=channel, url=file.as_uri(), sha256=digest
    )


def present(prefix: Path, name: str) -> CondaPackage:
    """An installed package."""
    return package_from_record(read_linked_records(prefix)[name])


def _made(package: conda_packages.CondaPackage, channel: Path) -> CondaPackage:
    file = channel / package.subdir / f"{package.stem}.conda"
    file.unlink(missing_ok=True)
    package.write(channel)
    return CondaPackage(
        name=package.name,
        version=package.version,
        build=package.build,
        build_number=package.build_number,
        subdir=package.subdir,
        channel=channel.as_uri(),
        url=file.as_uri(),
        sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        depends=package.depends,
        constrains=package.constrains,
    )

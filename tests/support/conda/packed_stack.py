"""A stack as conda packages, made without compiling: the official wheel with our label, packed like a built wheel.

The tests of the build cover the core's content, on which packing does not depend.
"""

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.values.builders import changed, healthy_facts

from fastinstall.conda.channel import write_repodata
from fastinstall.conda.extra import find_microarchitectures
from fastinstall.conda.package import pack_guard, pack_stack
from fastinstall.core import files
from fastinstall.core.archives import unpack_zip
from fastinstall.model.artefact import LevelTarget
from fastinstall.model.conda import CondaPackage
from fastinstall.model.conda_packages import plan_guard_package, plan_stack_package
from fastinstall.model.facts import Interpreter
from fastinstall.model.request import LinkMode
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.setup.steps.build import Build
from fastinstall.wheelbuild.wheel_files import label_tree, pack_wheel, read_wheel_tags


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedStack:
    """A channel with the stack and its guard package.

    Attributes:
        channel: its directory.
        wheel: the wheel that the stack was packed from.
        package: the stack's package.
        guard: the guard's package.
    """

    channel: Path
    wheel: Path
    package: CondaPackage
    guard: CondaPackage

    @property
    def url(self) -> str:
        """The channel's URL."""
        return self.channel.as_uri()


@cache
def interpreter() -> Interpreter:
    """Return the description of the Python that runs the tests, which is also in the local channel."""
    return observe_interpreter(Path(sys.executable))


def labelled_wheel(official: Path, directory: Path, label: str = "simd.v2.v3") -> Path:
    """Return a copy of an official wheel, with metadata as in fastinstall's wheels."""
    tree = directory / "tree"
    unpack_zip(official, tree)
    version = f"{official.name.split('-')[1]}+{label}"
    name = label_tree(
        tree,
        distribution="pillow",
        version=version,
        summary="Pillow as a test packs it",
        platforms=read_wheel_tags(tree).platforms,
        statements={"fastinstall.json": "{}\n"},
    )
    wheel = directory / name
    pack_wheel(tree, wheel, compress=False)
    files.discard(tree)
    return wheel


def planned(wheel: Path, *levels: str, number: int = 0) -> CondaPackage:
    """Return the package that would be planned for a stack's wheel; `number` is its build number."""
    step = Build(
        recipe="pillow-fast",
        source=None,
        base_wheel=None,
        distribution="pillow",
        version=wheel.name.split("-")[1],
        targets=tuple(LevelTarget(level=level, cflags=(), ldflags=()) for level in levels),
        link=LinkMode.BUNDLE,
        libraries=(),
        jobs=1,
        reason="a test",
    )
    own = {"version": interpreter().version, "abi": interpreter().abi}
    running = changed(healthy_facts(), {"interpreter": own})
    return plan_stack_package(step, running, find_microarchitectures(levels), number=number)


def packed_stack(wheel: Path, channel: Path, *levels: str) -> PackedStack:
    """Pack a stack and its guard into a channel, and index the channel."""
    package = pack_stack(wheel, planned(wheel, *levels), interpreter(), channel)
    guard = pack_guard(plan_guard_package(package, channel), channel)
    write_repodata(channel)
    return PackedStack(channel=channel, wheel=wheel, package=package, guard=guard)

"""Make conda packages of a wheel, and have an engine link them beside the environment, as they will be in it.

The channel comes first: it lies inside the environment, where nothing but a solver looks at it, so
that the records of what is linked name the place that they will be found at ever after.
"""

import os
from pathlib import Path

from fastinstall.actions.conda_packing import pack_channel
from fastinstall.actions.workshop import Workshop
from fastinstall.build.request import BuildResult
from fastinstall.errors import FailedError
from fastinstall.installers.conda.engine import CondaEngine
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import Conda, CondaStack
from fastinstall.model.event import Noted, Started
from fastinstall.model.facts import Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import Move, MoveKind
from fastinstall.model.steps import MakeCondaPackages
from fastinstall.rules.conda_stack import CHANNEL, REGISTRATION
from fastinstall.system import files

_NOTE = """\
# Put here by fastinstall: the channel inside this environment that holds its Pillow with SIMD kernels.
# Remove with: fastinstall rollback --prefix {prefix}
channels:
"""


_EXPORTS = (
    "an export of this environment (conda env export, conda list --explicit) names a channel inside of it, which goes "
    "with it; for other machines: fastinstall build --format conda -o DIR"
)


@immutable
class LinkedPackages:
    """The stack's packages, linked into a directory beside the environment.

    Attributes:
        stack: what they are.
        root: the directory, laid out as the environment.
        site_packages: inside it.
        metadata: the name of the stack's `.dist-info` directory.
    """

    stack: CondaStack
    root: Path
    site_packages: Path
    metadata: str


def link_packages(
    step: MakeCondaPackages, built: BuildResult, interpreter: Interpreter, transaction: Transaction, workshop: Workshop
) -> LinkedPackages:
    """Pack the wheel, put the channel in place, and link its packages into the transaction's stage.

    Raises:
        FailedError: the engine could not link them; the caller undoes.
    """
    engine = _engine(workshop)
    prefix = Path(interpreter.prefix)
    workshop.emit(Started(stage="stage", message=f"making conda packages of {built.wheel.name}"))
    stack = pack_channel(step, built, interpreter, transaction.stage / "channel", workshop)
    there = os.path.lexists(prefix / CHANNEL)
    kind = MoveKind.EXCHANGE if there else MoveKind.IN
    transaction.perform((Move(kind=kind, live=CHANNEL, kept="stage/channel"),))
    workshop.emit(Started(stage="stage", message=f"linking them beside the environment by {engine.description}"))
    root = transaction.stage / "prefix"
    packages = [package for package in (stack.package, stack.guard) if package is not None]
    engine.link(packages, root, prefix=prefix)
    workshop.emit(Noted(message=_EXPORTS))
    site_packages = root / Path(interpreter.site_packages).relative_to(prefix)
    return LinkedPackages(stack=stack, root=root, site_packages=site_packages, metadata=_metadata(site_packages))


def registration_text(prefix: Path, conda: Conda) -> str:
    """The configuration that names the channel, and those that conda uses anyway: one day nothing else may name them.

    They rank below whatever else names channels ("bottom", in the words of conda's configuration).
    """
    ours = (prefix / CHANNEL).as_uri()
    others = conda.usual_channels or (() if conda.has_channels else ("defaults",))
    lines = (f"  - {ours}", *(f"  - {each}  #!bottom" for each in others if each != ours))
    return _NOTE.format(prefix=prefix) + "".join(f"{line}\n" for line in lines)


def stage_registration(root: Path, prefix: Path, conda: Conda) -> None:
    """Write the configuration into the staged environment."""
    files.write_text(root / REGISTRATION, registration_text(prefix, conda))


def _engine(workshop: Workshop) -> CondaEngine:
    if workshop.engine is None:
        raise FailedError("the plan names no engine for conda packages", hint="make it again: fastinstall plan")
    return workshop.engine


def _metadata(site_packages: Path) -> str:
    found = sorted(path.name for path in site_packages.glob("*.dist-info"))
    if len(found) != 1:
        raise FailedError(f"{site_packages}: expected one .dist-info of the stack, and found {found or 'none'}")
    return found[0]

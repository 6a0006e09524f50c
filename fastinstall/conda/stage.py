"""Make conda packages from a wheel, and let an engine link them in a directory beside the environment.

The packages are first put into a channel inside the environment, so that the linked records contain permanent URLs. The
channel has the stack's package, whose bytes are the same in every environment, and the guard package.
"""

import os
from pathlib import Path, PurePath

from fastinstall.conda.channel import write_repodata
from fastinstall.conda.package import pack_guard, pack_stack, place_package
from fastinstall.core import files
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Started
from fastinstall.core.file_url import file_url
from fastinstall.core.values import immutable
from fastinstall.index.run import Run
from fastinstall.journal.transaction import Transaction
from fastinstall.model.conda import Conda, CondaStack
from fastinstall.model.conda_packages import CHANNEL, REGISTRATION
from fastinstall.model.facts import Facts
from fastinstall.model.history import Move, MoveKind
from fastinstall.wheelbuild.build_inputs import BuildResult
from fastinstall.wheelbuild.wheel_files import metadata_directory

_NOTE = """\
# Put here by fastinstall: the channel in this environment with its SIMD build of Pillow.
# Remove with: fastinstall rollback --prefix {prefix}
channels:
"""


@immutable
class LinkedPackages:
    """The stack's packages, linked into a directory beside the environment.

    Attributes:
        stack: the packages, with channel and URL.
        root: the directory, laid out like the environment.
        site_packages: the site-packages inside `root`.
        metadata: the name of the stack's `.dist-info` directory.
    """

    stack: CondaStack
    root: Path
    site_packages: Path
    metadata: str


def link_packages(
    planned: CondaStack, built: BuildResult, before: Facts, transaction: Transaction, run: Run
) -> LinkedPackages:
    """Pack the wheel, put its channel in place, and link the packages into the stage, with the channel's registration.

    Args:
        planned: the planned packages.
        built: the build result with the wheel.
        before: the facts about the environment.
        transaction: the open transaction, with the stage.
        run: the run, with the engine.

    Raises:
        FailedError: the wheel is damaged or is not the planned one, or the engine could not link the packages; the
            caller must undo.
    """
    engine = run.engine
    if engine is None:
        raise FailedError("the plan names no engine for conda packages", hint="make a new plan: fastinstall plan")
    interpreter, prefix = before.interpreter, before.interpreter.prefix
    run.emit(Started(stage="stage", message=f"making conda packages of {built.wheel.name}"))
    staged, channel = transaction.stage / "channel", Path(planned.channel)
    package = pack_stack(built.wheel, planned.package, interpreter, staged)
    guard = pack_guard(planned.guard, staged) if planned.guard is not None else None
    write_repodata(staged)
    packages = [place_package(each, channel) for each in (package, guard) if each is not None]
    kind = MoveKind.EXCHANGE if os.path.lexists(prefix / CHANNEL) else MoveKind.IN
    transaction.perform((Move(kind=kind, live=CHANNEL, kept="stage/channel"),))
    run.emit(Started(stage="stage", message=f"linking them beside the environment with {engine.description}"))
    root = transaction.stage / "prefix"
    engine.link(packages, root, prefix=prefix)
    if before.conda is not None:
        files.write_text(root / REGISTRATION, format_registration(prefix, before.conda))
    site_packages = root / interpreter.site_packages.relative_to(prefix)
    return LinkedPackages(
        stack=CondaStack(package=packages[0], guard=packages[1] if guard is not None else None, channel=channel),
        root=root,
        site_packages=site_packages,
        metadata=metadata_directory(site_packages).name,
    )


def format_registration(prefix: PurePath, conda: Conda) -> str:
    """Return the text of a conda configuration file that lists the stack's channel.

    This file may later be the only one that lists channels. Therefore it also lists the channels that conda uses now,
    with the lowest priority ("#!bottom").
    """
    ours = file_url(prefix / CHANNEL)
    others = conda.usual_channels or (() if conda.has_channels else ("defaults",))
    lines = (f"  - {ours}", *(f"  - {each}  #!bottom" for each in others if each != ours))
    return _NOTE.format(prefix=prefix) + "".join(f"{line}\n" for line in lines)

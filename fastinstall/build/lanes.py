"""Compile the same source for each CPU level, all levels at the same time, each in a lane of its own.

A lane has its own copy of the source, for build backends leave objects in it and would take those of
another level for their own.
"""

import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastinstall.build.compile import STAGE, Compiled, Tally, Workshop, compile_wheel, files_to_compile
from fastinstall.build.headers import Headers
from fastinstall.build.linking import Linking, Place
from fastinstall.build.precompiled import precompiled
from fastinstall.build.reproducible import path_flags
from fastinstall.build.request import BuildRequest
from fastinstall.build.requirements import Requirements
from fastinstall.build.variables import preprocessor_flags
from fastinstall.build.wheel import unpack_wheel
from fastinstall.model.event import Finished, Started
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import Target
from fastinstall.system import files
from fastinstall.system.process import Leash
from fastinstall.system.together import together


@immutable
class Ground:
    """What all lanes of a build share.

    Attributes:
        request: the build.
        headers: as found, with all directories that are searched.
        source: the prepared source.
        link: the libraries that are linked.
        requirements: the build's own, fetched before.
        space: the build's temporary directory.
        log: the file that receives the output of all lanes.
    """

    request: BuildRequest
    headers: Headers
    source: Path
    link: Linking
    requirements: Requirements
    space: Path
    log: Path


@immutable
class Lane:
    """One level, compiled.

    Attributes:
        target: the level.
        source: its copy of the source.
        compiled: what came of it.
        tree: its wheel, unpacked.
    """

    target: Target
    source: Path
    compiled: Compiled
    tree: Path


def compile_lanes(ground: Ground, places: Mapping[str, Place]) -> tuple[Lane, ...]:
    """Compile for every target of the build.

    Args:
        ground: what they share.
        places: where the core of each level will lie, by the level's name.

    Raises:
        FailedError: one of them failed; the others were stopped.
    """
    request, started = ground.request, time.monotonic()
    targets = request.step.targets
    what = f"{request.recipe.source.pypi} for {' and '.join(request.step.levels)}"
    request.emit(Started(stage=STAGE, message=f"compiling {what}"))
    tally = Tally(request.emit, len(targets) * files_to_compile(ground.source))
    works = [partial(_compile, ground, target, places[target.level], tally) for target in targets]
    lanes = tuple(together(works))
    files.write_text(ground.log, "".join(lane.compiled.output for lane in lanes))
    for lane in lanes:
        files.discard(_log_of(ground, lane.target))
    request.emit(Finished(stage=STAGE, message=f"compiled {what}", seconds=time.monotonic() - started))
    return lanes


def _compile(ground: Ground, target: Target, place: Place, tally: Tally, leash: Leash) -> Lane:
    request, space = ground.request, ground.space / target.level
    workshop = _workshop(ground, target, tally, leash)
    link = replace(ground.link, flags=(*ground.link.flags, *place.flags))
    with precompiled(request, target, ground.headers, workshop.source) as prefix:
        before = (*preprocessor_flags(ground.headers.directories, prefix), *path_flags(space, request.cache))
        compiled = compile_wheel(request, workshop, link, before)
    unpack_wheel(compiled.wheel, space / "tree")
    return Lane(target=target, source=workshop.source, compiled=compiled, tree=space / "tree")


def _workshop(ground: Ground, target: Target, tally: Tally, leash: Leash) -> Workshop:
    space = ground.space / target.level
    source = space / ground.source.name
    shutil.copytree(ground.source, source)
    (space / "tmp").mkdir()
    return Workshop(
        target=target,
        jobs=-(-ground.request.step.jobs // len(ground.request.step.targets)),
        source=source,
        output=space / "built",
        temporary=space / "tmp",
        requirements=ground.requirements,
        log=_log_of(ground, target),
        leash=leash,
        tally=tally,
    )


def _log_of(ground: Ground, target: Target) -> Path:
    return ground.log.with_suffix(f".{target.level}.log")

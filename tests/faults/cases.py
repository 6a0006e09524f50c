"""Scenes with their states before and after the command; the environments are built once per test file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from support.suite import extent

import fastinstall.cli.main  # noqa: F401 (imported once, rather than in each fork)
from faults.command import distinct, essence, stops_of
from faults.doors import Boundary
from faults.scenes import SCENES, Materials, Scene, make_scene, picture

WHOLE = extent.every_row
"""True with --every-row."""

FROM_OURS = ("guard-pin", "guard-remove", "rollback")
"""Scenes that start from the same environment."""

Picture = Mapping[str, tuple[object, ...]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scene, and the environment's files before and after its command.

    Attributes:
        scene: the environment, restored to its state before the command, and the command.
        before: the environment's files before the command.
        after: the environment's files after the command, without contents that differ between runs.
        stops: one boundary of each kind that the command passes.
    """

    scene: Scene
    before: Picture
    after: Picture
    stops: tuple[Boundary, ...]


class Cases:
    """Makes cases on request, and builds each environment only once.

    Args:
        space: an empty directory, on a filesystem in memory if possible.
        given: the wheels and interpreters that environments are made from.
    """

    def __init__(self, space: Path, given: Materials) -> None:
        self._space = space
        self._given = given
        self._scenes: dict[str, Scene] = {}

    def case(self, name: str) -> Case:
        """Return the case of a scene."""
        like = FROM_OURS[0] if name in FROM_OURS else name
        if like not in self._scenes:
            (self._space / like).mkdir()
            self._scenes[like] = make_scene(like, self._space / like, self._given)
        scene = self._scenes[like]
        places = {"prefix": scene.prefix, "ours": self._given.ours}
        if name != like:
            scene = replace(scene, name=name, argv=tuple(word.format_map(places) for word in SCENES[name].words))
        scene.renew()
        before = picture(scene.prefix)
        stops = stops_of(scene)
        after = essence(scene)
        scene.renew()
        return Case(scene=scene, before=before, after=after, stops=distinct(stops, scene, whole=WHOLE))

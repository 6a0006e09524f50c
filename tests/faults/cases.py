"""Scenes to be disturbed, and what was there before and after each command; made once for all tests of a file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from support.suite import extent

import fastinstall.cli.main  # noqa: F401 (imported once, and not by each fork)
from faults.command import distinct, essence, stops_of
from faults.doors import Boundary
from faults.scenes import SCENES, Materials, Scene, make_scene, picture

WHOLE = extent.every_row
"""Whether the long form was asked for."""

FROM_OURS = ("guard-pin", "guard-remove", "rollback")
"""Scenes that begin with the same environment."""

Picture = Mapping[str, tuple[object, ...]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scene that is known from end to end.

    Attributes:
        scene: as it is before the command.
        before: the environment then.
        after: what it has after the command, but for what is another each time.
        stops: one boundary of each kind.
    """

    scene: Scene
    before: Picture
    after: Picture
    stops: tuple[Boundary, ...]


class Cases:
    """Makes a case when it is asked for, of an environment that is made once.

    Args:
        space: an empty directory, in memory where there is such a place.
        given: what environments are made of.
    """

    def __init__(self, space: Path, given: Materials) -> None:
        self._space = space
        self._given = given
        self._scenes: dict[str, Scene] = {}

    def case(self, name: str) -> Case:
        """The case of a scene."""
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

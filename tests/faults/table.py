"""The full form of the kills as a table: `python -m faults.table COUNT [SCENE...]`.

Needs tests/ on PYTHONPATH, and FASTINSTALL_TEST_CACHE. COUNT deaths at any time for each scene,
beside every disk that a death at a boundary leaves. Prints Markdown.
"""

import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from faults.deaths import TURNS, Stage, die_after, moments, stage_of
from faults.film import distinct, film
from faults.forked import command
from faults.scenes import SCENES, make_scene, materials
from faults.trees import Pool
from faults.verdicts import Verdict, judged, python_sees, works

_HEAD = ("scene", "fault", "faults tried", "before", "after", "lost", "PIL did not work before recovery")


def main(words: Sequence[str]) -> int:
    """Print the table; 1 where something was lost."""
    count, names = int(words[0]), words[1:] or tuple(name for name in SCENES if name != "new-env")
    given = materials(Path(os.environ["FASTINSTALL_TEST_CACHE"]))
    sys.stdout.write(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}\n")
    lost = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="fastinstall-kills-", dir="/dev/shm") as space:
            stage = stage_of(make_scene(name, Path(space) / "scene", given))
            lost += _disks(stage)
            lost += _deaths(stage, count)
    return 1 if lost else 0


def _disks(stage: Stage) -> int:
    scene = stage.scene
    stage.pool.lay(stage.film.before, scene.live)
    kept = Pool(scene.space / "film")
    taken = film(command(scene.argv, scene.variables, scene.space), scene.live, scene.space / "film")
    found = Counter(each.verdict for each in judged(scene, taken, kept))
    broken = 0
    for frame, tree in distinct(taken.frames, python_sees):
        if any(path.endswith("site-packages/PIL") for path in tree):
            frame.lay(kept, scene.live)
            broken += not works(scene.prefix)
    _print(scene.name, f"every boundary ({taken.boundaries})", found, broken)
    return found[Verdict.LOST]


def _deaths(stage: Stage, count: int) -> int:
    numbers = random.Random(7)  # noqa: S311 (of no secret)
    when = moments(numbers, count, stage.seconds, 0.01)
    deaths = [die_after(stage, at, turn, aimed=aimed) for (at, aimed), turn in zip(when, cycle(TURNS), strict=False)]
    found = Counter(death.verdict for death in deaths)
    phases = Counter(death.phase for death in deaths)
    hit = ", ".join(f"{phase} {times}" for phase, times in phases.most_common())
    outlived = sum(death.children > 0 for death in deaths)
    there = [death for death in deaths if stage.scene.name not in ("bare", "new-env") or death.worked]
    _print(
        stage.scene.name,
        f"any time ({hit}; children outlived {outlived})",
        found,
        sum(not death.worked for death in there),
    )
    return found[Verdict.LOST]


def _print(name: str, fault: str, found: Counter[Verdict], broken: int) -> None:
    cells = (name, fault, found.total(), found[Verdict.BEFORE], found[Verdict.AFTER], found[Verdict.LOST], broken)
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

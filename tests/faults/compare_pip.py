"""The same kills for pip and uv: `python -m faults.compare_pip COUNT`.

Needs tests/ on PYTHONPATH, and FASTINSTALL_TEST_CACHE. Each replaces Pillow in a virtual
environment with another release of it, and is killed at times spread evenly over its run. What is left is told in a
table: before and after are trees without a difference, bytecode aside.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from support.sandbox import UV

from faults.scenes import Scene, make_scene, materials
from faults.trees import Entry, Pool
from faults.verdicts import works

STATES = ("before", "after", "works, mixed", "PIL cannot be used", "debris beside it")
"""How an environment is found: one of the first four, and whether an installer's own leavings lie in it."""


def main(words: Sequence[str]) -> int:
    """Kill both so many times, and print the table."""
    count, cache = int(words[0]), Path(os.environ["FASTINSTALL_TEST_CACHE"])
    with tempfile.TemporaryDirectory(prefix="fastinstall-compare-", dir="/dev/shm") as space:
        scene = make_scene("guard-install", Path(space) / "scene", materials(cache))  # ours, and no guard
        source = materials(cache).published
        sys.stdout.write(f"| killed | {' | '.join(STATES)} |\n|---|{'---:|' * len(STATES)}\n")
        for name, argv in _installers(scene, source).items():
            found = deaths(scene, argv, count)
            cells = " | ".join(str(found[state]) for state in STATES)
            sys.stdout.write(f"| {name}, {count} times | {cells} |\n")
            sys.stdout.flush()
    return 0


def deaths(scene: Scene, argv: Sequence[str | Path], count: int) -> Counter[str]:
    """Kill a command so many times, and count what is left."""
    pool = Pool(scene.space / "pool")
    numbers = random.Random(7)  # noqa: S311 (of no secret)
    scene.renew()
    before = pool.read(scene.prefix)
    started = time.monotonic()
    subprocess.run(argv, env=scene.variables, check=True, capture_output=True)
    seconds, after = time.monotonic() - started, pool.read(scene.prefix)
    found: Counter[str] = Counter()
    for _ in range(count):
        pool.lay(before, scene.prefix)
        _kill(argv, scene, numbers.uniform(0, seconds))
        tree = pool.read(scene.prefix)
        found[_state(scene, tree, before, after)] += 1
        found["debris beside it"] += any("/~" in path for path in tree)
    return found


def _installers(scene: Scene, source: Path) -> dict[str, tuple[str | Path, ...]]:
    words = ("install", "--no-index", "--find-links", source, "--force-reinstall", "--no-deps", "pillow==12.1.1")
    python = scene.prefix / "bin/python"
    return {
        "pip": (sys.executable, "-m", "pip", "--python", python, *words),
        "uv": (UV, "pip", "install", "--python", python, "--link-mode", "copy", *words[1:]),
    }


def _kill(argv: Sequence[str | Path], scene: Scene, seconds: float) -> None:
    """With its children: `pip --python` runs itself again in the other interpreter."""
    process = subprocess.Popen(
        argv, env=scene.variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _state(scene: Scene, tree: dict[str, Entry], before: dict[str, Entry], after: dict[str, Entry]) -> str:
    if _lasting(tree) == _lasting(before):
        return "before"
    if _lasting(tree) == _lasting(after):
        return "after"
    return "works, mixed" if works(scene.prefix) else "PIL cannot be used"


def _lasting(tree: dict[str, Entry]) -> dict[str, tuple[int, str]]:
    return {path: (mode, content) for path, (mode, _, content) in tree.items() if "__pycache__" not in path}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

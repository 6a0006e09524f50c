"""A guard with nothing to report: during ordinary commands on an intact environment, it prints and writes nothing.

The commands are written as a person types them in an activated environment. A command may change the files of packages
that it installs or removes. The guard must add nothing below the prefix: no bytecode, stamp, event or state.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e.swap_matrix.scene import Scene, make_scene
from support.index.server import serving
from support.sandbox import NewSandbox, tree_hash

OURS = ("fastinstall: ", "hint: ", "Traceback", "Exception ignored", "Error processing line")
POOL = """
import multiprocessing
import sys

def work(number):
    import PIL.Image

    return PIL.Image.new("L", (number, number)).size[0]

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(work, [1, 2, 3]) == [1, 2, 3]
"""
TREE = """
import subprocess
import sys

import PIL.Image

if len(sys.argv) < 4:
    sys.exit(subprocess.run([sys.executable, *sys.argv, "deeper"]).returncode)
"""
TESTS = """
import unittest

from PIL import Image

class TestImage(unittest.TestCase):
    def test_size(self):
        self.assertEqual(Image.new("L", (2, 3)).size, (2, 3))

def test_one():
    assert Image.new("L", (1, 1)).resize((2, 2)).size == (2, 2)

def test_other():
    assert Image.new("RGB", (1, 1)).mode == "RGB"
"""
SUBINTERPRETER = "import _xxsubinterpreters as many; many.run_string(many.create(), 'import os')"
FILES = {
    "pool.py": POOL,
    "tree.py": TREE,
    "test_of_the_project.py": TESTS,
    "application/__main__.py": "import PIL.Image",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line.

    Attributes:
        words: the command line.
        adds: prefixes of the names of files and directories that the command adds or removes.
        code: the expected exit code.
    """

    words: str
    adds: tuple[str, ...] = ()
    code: int = 0


PYTHON = (
    *("python -c pass", "python -c 'import PIL.Image'", "python -I -c 'import PIL.Image'"),
    *("python -s -c 'import PIL.Image'", "python -E -c 'import PIL.Image'", "python -S -c pass"),
    *("python -O -B -c 'import PIL.Image'", "python -B -c 'import PIL.Image'", "python -u -c 'import PIL.Image'"),
    *("python -W error -c 'import PIL.Image'", "PYTHONWARNINGS=error python -c 'import PIL.Image'"),
    *("python -X dev -W error -bb -c 'import PIL.Image'", "PYTHONDEVMODE=1 python -c pass"),
    *("python -X importtime -c 'import PIL.Image'", "python -v -c 'import PIL.Image'"),
    *("python -c 'import no_such_module' 2>/dev/null || true", "echo 'import PIL.Image' | python", "python -V"),
    *("env -i .venv/bin/python -c 'import PIL.Image'", "cd / && python -c 'import PIL.Image'"),
    *("python -c 'import PIL.Image' 2>&-", "python -c 'import PIL.Image' >&-", f'python -c "{SUBINTERPRETER}"'),
    *(f"python pool.py {method}" for method in ("fork", "spawn", "forkserver")),
    *("python tree.py", "python -c 'import os; os.fork() or os._exit(0)'", "python application"),
    *("python -c 'import asyncio, PIL.Image; asyncio.run(asyncio.sleep(0))'", "python test_of_the_project.py"),
)
MODULES = (
    *("python -m site", "python -m sysconfig", "python -m pydoc PIL", "python -m compileall -q .venv/lib"),
    *("python -m zipapp -o application.pyz application && python application.pyz", "python -m ensurepip --version"),
    *("python -c 'import runpy; runpy.run_module(\"PIL\", alter_sys=True)'", "python -m PIL"),
    *("python -m unittest -q test_of_the_project", "python -m timeit -n 1 -r 1 'import PIL.Image'"),
    *("python -m http.server --help", "python -m json.tool /dev/null || true", "python -m cProfile tree.py"),
    *("python -m venv --without-pip other", "python -m py_compile tree.py", "python -m trace -l tree.py"),
    *(
        "pytest -q --assert=plain test_of_the_project.py",
        "python -m pytest -q --assert=plain -n 2 test_of_the_project.py",
    ),
)
PIP = (
    *("pip --version", "pip list", "pip freeze", "pip show -f pillow", "pip check", "pip cache dir", "pip config list"),
    *("pip inspect", "python -I -m pip list", "pip --python .venv/bin/python list", "pip help install"),
    *("pip download -q --no-deps -d downloads unrelated", "pip wheel -q -w wheels easel"),
    *("pip install --dry-run -U pillow", "pip install -r same.txt"),
)
UV = (
    *("uv pip list", "uv pip freeze", "uv pip check", "uv pip tree", "uv pip show pillow", "uv pip compile same.txt"),
    *("uv pip install --dry-run -U pillow", "uv run --no-project python -c 'import PIL.Image'"),
)
FASTINSTALL = ("fastinstall doctor --quick --prefix .venv", "fastinstall --version")

COMMANDS = (
    *(Command(words=words) for words in (*PYTHON, *MODULES, *PIP, *UV, *FASTINSTALL)),
    Command(words="pip install unrelated", adds=("unrelated",)),
    Command(words="pip uninstall -y unrelated", adds=("unrelated",)),
    Command(words="uv pip install unrelated", adds=("unrelated",)),
    Command(words="uv pip uninstall unrelated", adds=("unrelated",)),
    Command(words="pip install -U frame easel", adds=("frame", "easel")),
    Command(words="pip install no-such-distribution", code=1),
)


ADDED = tuple(start for command in COMMANDS for start in command.adds)


@pytest.fixture(scope="module")
def scene(new_sandbox: NewSandbox) -> Iterator[Scene]:
    with new_sandbox() as sandbox, serving() as index:
        made = make_scene(sandbox, index, extras=("pytest", "pytest-xdist"))
        for name, text in FILES.items():
            (made.project / name).parent.mkdir(exist_ok=True)
            (made.project / name).write_text(text)
        yield made


@pytest.fixture(scope="module")
def untouched(scene: Scene) -> Iterator[Mapping[str, object]]:
    """Yield every file's size and time before the commands; after the last test, assert that contents are unchanged."""
    before = tree_hash(scene.venv.prefix)
    yield _touched(scene.venv.prefix)
    assert _changed(before, tree_hash(scene.venv.prefix)) == set()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
def test_an_ordinary_command_prints_and_writes_nothing_of_ours(
    scene: Scene, untouched: Mapping[str, object], command: Command
) -> None:
    done = scene.shell(command.words)
    assert done.exit_code == command.code, done.text
    assert [line for line in done.text.splitlines() if line.lstrip().startswith(OURS)] == []
    assert _changed(untouched, _touched(scene.venv.prefix)) == set()
    assert list((scene.sandbox.root / "tmp").glob("fastinstall-*")) == []


def test_importtime_lists_only_the_guard_in_the_usual_format(scene: Scene) -> None:
    done = scene.shell("python -X importtime -c pass")
    assert all(line.startswith("import time:") for line in done.stderr.splitlines()), done.stderr
    ours = {line.split("|")[-1].strip() for line in done.stderr.splitlines() if "fastinstall" in line}
    assert ours <= {"_fastinstall_guard"}


def _touched(prefix: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file, by path."""
    found = {}
    for directory, _names, files in os.walk(prefix):
        for name in files:
            status = os.lstat(f"{directory}/{name}")
            found[f"{directory}/{name}"] = (status.st_size, status.st_mtime_ns)
    return found


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    """Return paths that differ, except those that the commands may change."""
    paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return {path for path in paths if not any(part.startswith(ADDED) for part in Path(path).parts)}

"""Real environments in their state before a command. Each is built once, and restored before each run.

An environment contains its own path, so its state is always restored at the same path. Everything is installed from
wheels in a directory: our merged build, an earlier build of ours, and Pillow's official wheel. Once the materials
exist, no network is used.
"""

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.environments.interpreters import running
from support.made_once import key_of, made_once
from support.sandbox import AS_INSTALLED, STOCK, UNREACHABLE, Result, Sandbox, Venv, run

from fastinstall.core.directories import recipes_directory
from faults import slim

PUBLISHED = "pillow==12.1.1"
"""The requirement for Pillow's official wheel."""

_BRIEFLY = (
    "import sys; from functools import partial; from fastinstall.setup.steps import prove as measure; "
    "measure.TimingEffort = partial(measure.TimingEffort, operations=('chops add',), rounds=1, seconds=0.001); "
    "from fastinstall.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
"""Runs fastinstall with a very short measurement, whose result it saves like any other."""

_ALONE = {**UNREACHABLE, "PIP_FIND_LINKS": None, "PIP_EXTRA_INDEX_URL": None, "XDG_CONFIG_DIRS": "/nonexistent"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Materials:
    """The wheels and interpreters that environments are made from.

    Attributes:
        directory: the directory with all of them.
    """

    directory: Path

    @property
    def cache(self) -> Path:
        """The cache that tests share, with all downloads that the wheels are built from."""
        return self.directory.parents[1]

    @property
    def base(self) -> Path:
        """A virtual environment without packages."""
        return self.directory / "base"

    @property
    def notes(self) -> Path:
        """A fastinstall cache with earlier scans and measurements, so that they need not be repeated."""
        return self.directory / "notes"

    @property
    def ours(self) -> Path:
        """Directory with the wheel of our build, which has cores for two levels."""
        return self.directory / "ours"

    @property
    def earlier(self) -> Path:
        """Directory with the wheel of another build of ours, for one level and without kernels."""
        return self.directory / "earlier"

    @property
    def published(self) -> Path:
        """Directory with Pillow's official wheel."""
        return self.directory / "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An environment, and the command that will run in it.

    Attributes:
        name: name of the scene.
        space: the scene's directory; a run may change only `live` in it.
        argv: the words after `fastinstall`.
        setup: the words after `fastinstall` of a plain setup of the environment.
        variables: all environment variables of the command.
    """

    name: str
    space: Path
    argv: tuple[str, ...]
    setup: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def live(self) -> Path:
        """The directory that a run may change: `env`, `cache`, `home`, `tmp`."""
        return self.space / "live"

    @property
    def prefix(self) -> Path:
        """The environment's prefix."""
        return self.live / "env"

    @property
    def cache(self) -> Path:
        """The cache that fastinstall uses in this scene."""
        return self.live / "cache"

    @property
    def is_over_ours(self) -> bool:
        """Whether the environment has a setup by fastinstall before the command runs."""
        return self.name in ("ours", "fix") or self.name.startswith("guard-")

    @property
    def before(self) -> Path:
        """A copy of `live` before the command; never changed."""
        return self.space / "before"

    def renew(self) -> None:
        """Restore `live` to its state before the command."""
        shutil.rmtree(self.live, ignore_errors=True)
        copy_tree(self.before, self.live)

    def cli(self, *words: str) -> Result:
        """Run fastinstall with these arguments and the scene's environment variables."""
        return run((sys.executable, *AS_INSTALLED, "-m", "fastinstall", *words), self.variables, directory=self.space)

    def enact(self) -> Result:
        """Run the command of the scene."""
        return self.cli(*self.argv)


def materials(cache: Path) -> Materials:
    """Return the materials; build them if the cache lacks them.

    Args:
        cache: fastinstall's cache of the tests (`shared_cache`), which also keeps the materials.
    """
    recipes = sorted((*recipes_directory().glob("*.toml"), *recipes_directory().glob("kernels/*.[ch]")))
    directory = cache / "testbed" / f"faults-{key_of(PUBLISHED, Path(slim.__file__), *recipes)}"
    return Materials(directory=made_once(directory, lambda made: _gather(Materials(directory=made), cache)))


def make_scene(name: str, space: Path, given: Materials) -> Scene:
    """Create an environment in its state before the command.

    Args:
        name: a key of `SCENES` or `FURTHER`.
        space: an empty directory, preferably in memory.
        given: see `materials`.
    """
    act = SCENES.get(name) or FURTHER[name]
    scene = _empty(name, space, _words(act.words, space, given), _words(_SETUP, space, given))
    copy_tree(given.notes, scene.cache)
    if act.prepare is not None:
        copy_tree(given.base, scene.prefix)
        act.prepare(scene, given)
    scene.live.rename(scene.before)
    scene.renew()
    return scene


def picture(prefix: Path, *, times: bool = True) -> dict[str, tuple[object, ...]]:
    """Return each entry's mode, digest or link target, and modification time, by path; omit the time of the prefix.

    Args:
        prefix: the environment; the result is empty if it does not exist.
        times: whether to include modification times.
    """
    if not os.path.lexists(prefix):
        return {}
    found = {".": _look(prefix, times=False)}
    for directory, names, files in os.walk(prefix):
        for name in (*names, *files):
            path = Path(directory, name)
            found[path.relative_to(prefix).as_posix()] = _look(path, times=times)
    return found


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree with its modes, times, links and hard links; share blocks if the filesystem can."""
    subprocess.run(("cp", "-a", "--reflink=auto", source, target), check=True)


def _look(path: Path, *, times: bool) -> tuple[object, ...]:
    status = path.lstat()
    content = ""
    if stat.S_ISLNK(status.st_mode):
        content = str(path.readlink())
    elif stat.S_ISREG(status.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    return (stat.filemode(status.st_mode), content, status.st_mtime_ns if times else None)


def _gather(given: Materials, cache: Path) -> None:
    space = given.directory / "made"
    box = Sandbox(root=space, cache=cache, downloads=space / "downloads")
    base = box.venv(running(), pip=False)
    for place, words in {given.ours: (), given.earlier: STOCK}.items():
        built = box.cli("build", "-o", space / place.name, "--prefix", base.prefix, *words)
        assert built.exit_code == 0, built.text
    words = ("download", "--no-deps", "--only-binary", ":all:", "--dest", str(space / given.published.name), PUBLISHED)
    downloaded = run((sys.executable, "-m", "pip", *words), box.variables())
    assert downloaded.exit_code == 0, downloaded.text
    for place in (given.ours, given.earlier, given.published):
        slim.repack(next((space / place.name).glob("*.whl")), place)
    base.prefix.rename(given.base)
    _note(_empty("notes", space / "notes", (), ()), given)
    shutil.rmtree(space)


def _note(scene: Scene, given: Materials) -> None:
    """Perform the setups and rollbacks that scenes need; keep the scans and measurements that fastinstall caches."""
    copy_tree(given.base, scene.prefix)
    _earlier(scene, given)
    _briefly(scene, *_words(_SETUP, scene.space, given))
    for _ in range(2):
        _briefly(scene, "rollback", "--yes", "--prefix", str(scene.prefix))
    _briefly(scene, *_words(_SETUP, scene.space, given))
    given.notes.mkdir()
    for name in ("isa", "speed"):
        copy_tree(scene.cache / name, given.notes / name)


def _empty(name: str, space: Path, argv: tuple[str, ...], setup: tuple[str, ...]) -> Scene:
    live = space / "live"
    box = Sandbox(root=space / "box", cache=live / "cache", downloads=space / "box" / "downloads")
    own = {"HOME": str(live / "home"), "TMPDIR": str(live / "tmp")}
    for directory in own.values():
        Path(directory).mkdir(parents=True)
    return Scene(name=name, space=space, argv=argv, setup=setup, variables=box.variables({**_ALONE, **own}))


def _words(words: tuple[str, ...], space: Path, given: Materials) -> tuple[str, ...]:
    live = space / "live"
    places = {"prefix": live / "env", "out": live / "out", "plan": live / "plan.json"}
    places |= {"ours": given.ours, "python": Path(running().executable)}
    return tuple(word.format_map(places) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """The command of a scene, and the preparation of its environment.

    Attributes:
        words: the words after `fastinstall`; names in braces stand for paths, such as {prefix}.
        prepare: prepares the environment; None if the command itself creates the environment.
    """

    words: tuple[str, ...]
    prepare: Callable[[Scene, Materials], None] | None


def _nothing(_scene: Scene, _given: Materials) -> None:
    """Leave the environment empty."""


def _published(scene: Scene, given: Materials) -> None:
    _pip(scene, "install", "--no-index", "--find-links", str(given.published), PUBLISHED)


def _ours(scene: Scene, given: Materials) -> None:
    _published(scene, given)
    _briefly(scene, *_words(_SETUP, scene.space, given))


def _unguarded(scene: Scene, given: Materials) -> None:
    _published(scene, given)
    _briefly(scene, *_words((*_SETUP, "--no-guard"), scene.space, given))


def _earlier(scene: Scene, given: Materials) -> None:
    _published(scene, given)
    wheelhouse = ("--offline", "--wheelhouse", str(given.earlier))
    _briefly(scene, "setup", "--yes", "--prefix", str(scene.prefix), *wheelhouse, *STOCK)


def _replaced(scene: Scene, given: Materials) -> None:
    _ours(scene, given)
    _pip(scene, "install", "--no-index", "--find-links", str(given.published), "--force-reinstall", PUBLISHED)


def _twice(scene: Scene, given: Materials) -> None:
    _earlier(scene, given)
    _briefly(scene, *_words(_SETUP, scene.space, given))


def _planned(scene: Scene, given: Materials) -> None:
    _published(scene, given)
    words = ("plan", "--prefix", "{prefix}", "--offline", "--wheelhouse", "{ours}", "-o", "{plan}")
    _briefly(scene, *_words(words, scene.space, given))


def _cut_setup(scene: Scene, given: Materials) -> None:
    """Kill a setup after it has moved everything, before its commit."""
    _published(scene, given)
    _die(scene, ("rename", "receipt.json"), *_words(_SETUP, scene.space, given))


def _cut_rollback(scene: Scene, given: Materials) -> None:
    """Kill a rollback that has only its directories left to remove; an earlier setup remains in the journal."""
    _twice(scene, given)
    _die(scene, ("unlink", "plan.json"), "rollback", *_words(_HERE, scene.space, given))


def _die(scene: Scene, where: tuple[str, str], *words: str) -> None:
    asked = {"hook": "dies_where", "arguments": where, "within": [str(scene.prefix)]}
    tests = Path(__file__).parent.parent
    paths = os.pathsep.join(map(str, (tests, tests.parent)))
    argv = (sys.executable, "-m", "faults.program", json.dumps(asked), *words)
    done = run(argv, {**scene.variables, "PYTHONPATH": paths}, directory=scene.space)
    assert done.exit_code == -signal.SIGKILL, done.text


def _pip(scene: Scene, *words: str) -> None:
    done = Venv(prefix=scene.prefix, variables=scene.variables).pip(*words)
    assert done.exit_code == 0, done.text


def _briefly(scene: Scene, *words: str) -> None:
    done = run((sys.executable, "-c", _BRIEFLY, *words), scene.variables, directory=scene.space)
    assert done.exit_code == 0, done.text


_HERE = ("--yes", "--prefix", "{prefix}")
_SETUP = ("setup", *_HERE, "--offline", "--wheelhouse", "{ours}")

SCENES: Mapping[str, Act] = {
    "bare": Act(words=_SETUP, prepare=_nothing),
    "published": Act(words=(*_SETUP, "--pin"), prepare=_published),
    "ours": Act(words=_SETUP, prepare=_earlier),
    "rollback": Act(words=("rollback", *_HERE), prepare=_ours),
    "fix": Act(words=("doctor", "--fix", *_HERE), prepare=_replaced),
    "guard-install": Act(words=("guard", "install", *_HERE), prepare=_unguarded),
    "guard-pin": Act(words=("guard", "install", "--pin", *_HERE), prepare=_ours),
    "guard-remove": Act(words=("guard", "remove", *_HERE), prepare=_ours),
    "guard-accept": Act(words=("guard", "accept", *_HERE), prepare=_replaced),
    "new-env": Act(
        words=(
            "setup",
            "--yes",
            "--new-env",
            "{prefix}",
            "--python",
            "{python}",
            "--offline",
            "--wheelhouse",
            "{ours}",
        ),
        prepare=None,
    ),
}
"""Scenes by name: setup of an empty environment, over official Pillow, over an earlier setup; and all other changes."""

_BUILD = ("build", "-o", "{out}", "--prefix", "{prefix}", "--offline")
_RECOVERY = ("rollback", "--interrupted", *_HERE)
FURTHER: Mapping[str, Act] = {
    "apply": Act(words=("apply", "{plan}", "--yes"), prepare=_planned),
    "forget": Act(words=("rollback", "--forget", *_HERE), prepare=_twice),
    "recover-setup": Act(words=_RECOVERY, prepare=_cut_setup),
    "recover-rollback": Act(words=_RECOVERY, prepare=_cut_rollback),
    "build": Act(words=_BUILD, prepare=_nothing),
    "build-conda": Act(words=(*_BUILD, "--format", "conda"), prepare=_nothing),
}
"""Scenes that are only disturbed by errors: other ways into the same transactions, and verbs without a transaction."""

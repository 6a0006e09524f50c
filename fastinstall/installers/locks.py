"""The lock of a project, made by its own tool, in a copy of the project that nobody else sees.

The copy has links to everything but manifest, lock and our own directory, so that readme, members of a workspace,
dynamic metadata and paths beside the project are found. Nothing in the project changes.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fastinstall.errors import RefusedError
from fastinstall.model.immutable import immutable
from fastinstall.model.pins import LOCKS, Manager, Project
from fastinstall.rules.projects.build import WHEELS
from fastinstall.rules.projects.record import HOME
from fastinstall.system import foreign
from fastinstall.system.files import temporary_directory
from fastinstall.system.process import CommandError, Completed, run
from fastinstall.system.surroundings import find_program

_SECONDS = 900.0
_FRESH = {Manager.UV: ("lock", "--check"), Manager.POETRY: ("check", "--lock"), Manager.PDM: ("lock", "--check")}
_LOCK = {Manager.UV: ("lock",), Manager.POETRY: ("lock", "--no-interaction"), Manager.PDM: ("lock", "--update-reuse")}
_LEFT_OUT = frozenset({".venv", "venv", ".pixi", HOME, "__pypackages__", ".pdm-python"})
_DROPPED = frozenset(
    {
        "UV_FROZEN",
        "UV_LOCKED",
        "UV_PROJECT",
        "UV_PROJECT_ENVIRONMENT",
        "UV_WORKING_DIRECTORY",
        "PDM_PROJECT",
        "PDM_LOCKFILE",
        "PDM_RESOLUTION_OVERRIDES",
        "POETRY_PROJECT",
        "CONDA_PREFIX",
    }
)
_OWN_PIN = "share/fastinstall/pin/"


@immutable
class LockTool:
    """The program that makes a project's lock.

    Attributes:
        manager: which one.
        program: its path.
        prefix: of the environment that the lock is for.
        variables: of the environment that it runs in.
    """

    manager: Manager
    program: Path
    prefix: Path
    variables: Mapping[str, str]

    def is_fresh(self, directory: Path) -> bool:
        """Whether the lock says what the manifest asks for."""
        return self._run(_FRESH, directory, check=False).exit_code == 0

    def lock(self, directory: Path) -> bytes:
        """Make the lock of the project in a directory.

        Raises:
            CommandError: it could not be made; its details are what the tool said.
        """
        self._run(_LOCK, directory, check=True)
        return foreign.read_bytes(directory / LOCKS[self.manager])

    def _run(self, words: Mapping[Manager, tuple[str, ...]], directory: Path, *, check: bool) -> Completed:
        python = ("--python", self.prefix / "bin" / "python") if self.manager is Manager.UV else ()
        argv = (self.program, *words[self.manager], *python)
        return run(argv, environment=self._environment(), directory=directory, timeout=_SECONDS, check=check)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in self.variables.items() if name not in _DROPPED}
        links = [link for link in re.split(r"[\s,]+", kept.pop("UV_FIND_LINKS", "")) if link and _OWN_PIN not in link]
        ours = {
            "VIRTUAL_ENV": str(self.prefix),
            "UV_PYTHON_DOWNLOADS": "never",
            "POETRY_VIRTUALENVS_CREATE": "false",
            "PDM_CHECK_UPDATE": "false",
            "PDM_IGNORE_SAVED_PYTHON": "1",
            "FASTINSTALL_GUARD": "0",
        }
        return {**kept, **ours, **({"UV_FIND_LINKS": ",".join(links)} if links else {})}


def lock_tool(manager: Manager, prefix: Path, variables: Mapping[str, str]) -> LockTool | None:
    """The program of a project's tool: FASTINSTALL_UV, FASTINSTALL_POETRY or FASTINSTALL_PDM, else the one on PATH.

    Returns:
        None where there is none.
    """
    named = variables.get(f"FASTINSTALL_{manager.name}")
    found = find_program(named or manager.value, variables)
    if found is None:
        return None
    return LockTool(manager=manager, program=Path(found).absolute(), prefix=prefix, variables=variables)


@contextmanager
def mirrored(project: Project, wheel: Path, contents: Mapping[str, bytes | None]) -> Iterator[Path]:
    """A copy of a project to try a lock in, with our wheel in it; it goes away with the block.

    Args:
        project: that is copied.
        wheel: ours.
        contents: of the manifest and the lock, by their names; None for one that shall not be there.
    """
    directory = Path(project.directory)
    with temporary_directory("lock") as root:
        mirror = root / directory.name
        (mirror / WHEELS).mkdir(parents=True)
        shutil.copyfile(wheel, mirror / WHEELS / wheel.name)  # poetry resolves links
        for entry in directory.iterdir():
            if entry.name not in _LEFT_OUT | contents.keys():
                (mirror / entry.name).symlink_to(entry)
        for name, content in contents.items():
            if content is not None:
                (mirror / name).write_bytes(content)
                _link_siblings(directory, root, content.decode("utf-8"))
        yield mirror


def relocated(lock: bytes, mirror: Path, project: Project) -> bytes:
    """A lock that was made in a mirror, as it reads in the project.

    Tools that follow links (poetry) write paths to where those lead, as seen from the mirror.
    """
    directory = Path(project.directory)
    inside, beside = (
        os.path.relpath(place, mirror.resolve()) for place in (directory.resolve(), directory.parent.resolve())
    )
    text = lock.decode("utf-8")
    return text.replace(f"{inside}/", "").replace(f"{beside}/", "../").encode("utf-8")


def unlockable(error: CommandError, project: Project, lines: tuple[str, ...]) -> RefusedError:
    """The refusal where the tool makes no lock with the pin.

    Args:
        error: of the tool.
        project: whose lock it is.
        lines: that the pin would add.
    """
    return RefusedError(
        f"{project.directory}: {project.manager} makes no lock with the pin; nothing was changed",
        hint=f"take back what is in its way, or add the lines by hand and run: {project.manager} lock",
        details=(*error.details, "the pin would add:", *lines),
    )


def _link_siblings(directory: Path, root: Path, text: str) -> None:
    """Links for what a manifest or a lock names beside the project ("../library")."""
    for name in set(re.findall(r"\.\./([\w.-]+)", text)) - {"..", ".", directory.name}:
        if (directory.parent / name).exists() and not (root / name).is_symlink():
            (root / name).symlink_to(directory.parent / name)

"""A session: the environment variables, directories, clock and output of a command, in one value."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.core.directories import Directories, recipes_directory, refuse_homeless, user_directories
from fastinstall.core.messages import PROGRAM
from fastinstall.core.values import immutable

if TYPE_CHECKING:
    from fastinstall.core.events import Emit, Event


def _ignore(_event: "Event") -> None:
    """Discard an event; this is the default `emit` of a session."""


@immutable
class Session:
    """The environment variables, directories, clock and output of one run.

    Attributes:
        variables: the environment variables.
        recipe_directories: directories of recipes; for each name, the first directory that has it wins.
        tool_prefix: `sys.prefix` of fastinstall itself.
        emit: receives the events of the run.
        now: the clock; returns the time in UTC.
        program: shell command that runs this program.
    """

    variables: Mapping[str, str]
    recipe_directories: tuple[Path, ...]
    tool_prefix: Path
    emit: "Emit" = _ignore
    now: Callable[[], datetime] = partial(datetime.now, UTC)
    program: str = PROGRAM

    @property
    def directories(self) -> Directories:
        """Fastinstall's cache, state and settings directories, computed on demand: `doctor --quick` needs none."""
        return user_directories(self.variables)

    def own_cache(self) -> Path:
        """Return fastinstall's cache directory, after checking that it is safe; create it if it is missing.

        Raises:
            RefusedError: other users could put files into the directory, and fastinstall would install these; or this
                user has no home directory.
        """
        from fastinstall.core.cache_directory import open_cache  # imported late, because doctor needs no cache

        refuse_homeless(self.directories.cache)
        return open_cache(self.directories.cache, self.variables)

    def listening(self, emit: "Emit") -> "Session":
        """Return a copy of this session whose events go to `emit`."""
        return replace(self, emit=emit)


def open_session(variables: Mapping[str, str]) -> Session:
    """Return the session of this process; FASTINSTALL_RECIPES adds a directory of recipes at the front."""
    added = variables.get("FASTINSTALL_RECIPES")
    directories = (Path(added), recipes_directory()) if added else (recipes_directory(),)
    return Session(variables=variables, recipe_directories=directories, tool_prefix=Path(sys.prefix))

"""Call the build backend of a source (PEP 517), with what it requires at hand and nothing else.

Each wheel takes one process of the target's interpreter. pip would take five, and unpack the requirements once more for
each: 3.8 s of CPU time beside the compiler's, where this takes 1.0 (Pillow 13.0.0, measured 2026-11-23).

The interpreter runs without `site`, so that nothing of the target's own site-packages is found, and no `.pth` runs.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.process import Completed
from fastinstall.core.values import immutable
from fastinstall.model.facts import Interpreter
from fastinstall.wheelbuild.build_inputs import BuildRequirements, read_build_system

_LIBRARY, _PROGRAMS = "lib", "bin"


class BackendFailedError(Exception):
    """The backend's process exited with an error.

    Attributes:
        completed: with everything that it said.
    """

    def __init__(self, completed: Completed) -> None:
        super().__init__(completed)
        self.completed = completed


RunBackend = Callable[[Sequence[str], Path, Mapping[str, str]], Completed]
"""Runs a process of a backend: the command, where, and the variables to set beside those of the build."""


@immutable
class BackendCall:
    """One wheel that a backend makes.

    Attributes:
        source: the unpacked source.
        requirements: what the backend runs with, as `install_requirements` left it.
        python: the interpreter.
        settings: configuration settings (PEP 517), by name.
        output: the directory for the wheel; made if it is not there.
    """

    source: Path
    requirements: Path
    python: str
    settings: Mapping[str, str]
    output: Path


def install_requirements(requirements: BuildRequirements, interpreter: Interpreter, directory: Path) -> None:
    """Unpack what a build requires, programs included.

    Args:
        requirements: wheels.
        interpreter: what their programs are run by.
        directory: an empty one.

    Raises:
        FailedError: a wheel is damaged.
    """
    from zipfile import BadZipFile  # noqa: PLC0415 (only for a build)

    from installer import install  # noqa: PLC0415 (likewise)
    from installer.destinations import SchemeDictionaryDestination  # noqa: PLC0415 (likewise)
    from installer.exceptions import InstallerError  # noqa: PLC0415 (likewise)
    from installer.sources import WheelFile  # noqa: PLC0415 (likewise)

    library = str(directory / _LIBRARY)
    schemes = {"purelib": library, "platlib": library, "scripts": str(directory / _PROGRAMS)}
    destination = SchemeDictionaryDestination(
        {**schemes, "data": str(directory), "headers": str(directory / "include")},
        interpreter=str(interpreter.executable),
        script_kind="posix",
    )
    for name, _ in requirements.files:
        wheel = (requirements.directory or directory) / name
        try:
            with WheelFile.open(wheel) as source:
                install(source, destination, additional_metadata={})
        except (InstallerError, BadZipFile, OSError, ValueError) as error:
            raise FailedError(
                f"{wheel}: not a whole wheel: {error}", hint="remove it and run the same command again"
            ) from error


def call_backend(call: BackendCall, variables: Mapping[str, str], run: RunBackend) -> None:
    """Have the backend make a wheel.

    Args:
        call: what it makes, of what.
        variables: of every process of this build.
        run: starts the process.

    Raises:
        BackendFailedError: its process failed.
        FailedError: the source names no backend that can be used.
    """
    from pyproject_hooks import (  # noqa: PLC0415 (only for a build)
        BackendUnavailable,
        BuildBackendHookCaller,
        HookMissing,
        UnsupportedOperation,
    )

    system = read_build_system(call.source)
    search = {"PATH": call.requirements / _PROGRAMS, "PYTHONPATH": call.requirements / _LIBRARY}
    paths = {name: os.pathsep.join(filter(None, (str(path), variables.get(name)))) for name, path in search.items()}

    def run_isolated(
        cmd: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None
    ) -> None:
        isolated = (cmd[0], "-S", *cmd[1:])
        completed = run(isolated, Path(cwd or call.source), {**paths, "PYTHONUNBUFFERED": "1", **(extra_environ or {})})
        if completed.exit_code != 0:
            raise BackendFailedError(completed)

    hooks = BuildBackendHookCaller(
        str(call.source), system.backend, system.backend_path, run_isolated, python_executable=call.python
    )
    call.output.mkdir(parents=True, exist_ok=True)
    try:
        hooks.build_wheel(str(call.output), dict(call.settings))
    except (BackendUnavailable, HookMissing, UnsupportedOperation) as error:
        raise FailedError(f"{call.source.name}: its build backend {system.backend} cannot be used: {error}") from error

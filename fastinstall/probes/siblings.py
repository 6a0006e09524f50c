"""Ask one interpreter for all virtual environments that were made of it.

What the environments of one base interpreter say about themselves differs in the paths below their
prefix and in the pip that they hold, and both can be seen without running anything. Asking takes
20 ms; somebody may have a hundred environments. Only for `pyvenv.cfg` environments whose interpreter
is a link to the base (PEP 405); every other one is asked itself.
"""

import os
from dataclasses import replace
from pathlib import Path, PurePath

from fastinstall.model.environment import Environment, EnvironmentKind
from fastinstall.model.facts import Interpreter
from fastinstall.probes.interpreter import observe_interpreter


class Siblings:
    """Interpreters that were asked, and what follows from their answers."""

    def __init__(self) -> None:
        self._answers: dict[str, Interpreter] = {}

    def interpreter(self, environment: Environment) -> Interpreter:
        """What the interpreter of an environment says about itself, or would say.

        Raises:
            UndeterminedError: as `observe_interpreter`.
        """
        python = Path(environment.python)
        if environment.kind is not EnvironmentKind.VENV or not python.is_symlink() or not os.access(python, os.X_OK):
            return observe_interpreter(python)
        base = os.path.realpath(python)
        if base not in self._answers:
            self._answers[base] = observe_interpreter(python)
        return derived(self._answers[base], environment)


def derived(sibling: Interpreter, environment: Environment) -> Interpreter:
    """What the interpreter of an environment would say, from the answer of another one of the same base."""
    prefix = environment.prefix
    site_packages = _moved(sibling.site_packages, sibling.prefix, prefix)
    return replace(
        sibling,
        executable=environment.python,
        prefix=prefix,
        site_packages=site_packages,
        include=_moved(sibling.include, sibling.prefix, prefix),
        has_headers=Path(_moved(sibling.include, sibling.prefix, prefix) / "Python.h").is_file(),
        pip_version=_pip_version(Path(site_packages)),
    )


def _moved(path: PurePath, old: PurePath, prefix: PurePath) -> PurePath:
    return prefix / path.relative_to(old) if path.is_relative_to(old) else path


def _pip_version(site_packages: Path) -> str | None:
    """The pip in site-packages, by the name of its metadata, as `_inside` finds it."""
    try:
        names = sorted(path.name for path in site_packages.iterdir())
    except OSError:
        return None
    found = (name.removeprefix("pip-") for name in names if name.startswith("pip-"))
    return next((rest.rpartition(".")[0] for rest in found if rest.endswith((".dist-info", ".egg-info"))), None)

"""conda's plugin: `conda fastinstall`, a health check for `conda doctor`, and warnings before and after a swap.

conda imports this file at every command, through the entry point of the group `conda`; so nothing of ours is imported
here, and what a hook does (conda_hooks.py) when it is called. A bug of ours must not be one of conda's: whatever goes
wrong in a hook is caught and logged, and nothing is ever written to stdout but by `conda fastinstall` and by a health
check that was asked for.

Source: conda's documentation of its plugin hooks; each is known since 24.7 at the latest, and what an older conda does
not know is left out.
"""

import importlib
import logging
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TypeVar

from conda import plugins
from conda.plugins import types

_CHANGING = frozenset({"install", "update", "remove", "create", "rename", "env_update", "env_create", "doctor"})
"""conda's commands after which the stack may be another, as `conda_post_commands` names them."""

_Hook = TypeVar("_Hook", bound=Callable[..., object])

hookimpl: Callable[[_Hook], _Hook] = plugins.hookimpl


@hookimpl
def conda_subcommands() -> Iterable[object]:
    """Return the subcommand `conda fastinstall VERB ...`."""
    summary = "Build, test and guard a fast Pillow with SIMD kernels."
    return _make_plugin("CondaSubcommand", {"name": "fastinstall", "summary": summary, "action": _run_subcommand})


@hookimpl
def conda_health_checks() -> Iterable[object]:
    """Return our part of `conda doctor`, and of `conda doctor --fix` if conda has that."""
    check = {"name": "fastinstall", "action": _run_health_check}
    fixes = {
        "fixer": _run_fix,
        "summary": "Check the Pillow that fastinstall set up",
        "fix": "Restore what was set up",
    }
    return _make_plugin("CondaHealthCheck", check, fixes)


@hookimpl
def conda_pre_solves() -> Iterable[object]:
    """Name the guard package at conda's end if its solver found no solution: solvers do not name it."""
    return _make_plugin("CondaPreSolve", {"name": "fastinstall", "action": _await_solution})


@hookimpl
def conda_post_solves() -> Iterable[object]:
    """Warn before the stack is replaced."""
    return _make_plugin("CondaPostSolve", {"name": "fastinstall", "action": _foresee_solve})


@hookimpl
def conda_post_commands() -> Iterable[object]:
    """Warn after the stack was replaced."""
    fields = {"name": "fastinstall", "action": _look_back_at_command, "run_for": set(_CHANGING)}
    return _make_plugin("CondaPostCommand", fields)


def _make_plugin(
    kind: str, fields: Mapping[str, object], further: Mapping[str, object] | None = None
) -> tuple[object, ...]:
    """Return a plugin of a kind, with the fields that this conda knows; nothing if it does not know the kind."""
    make = getattr(types, kind, None)
    for known in ({**fields, **(further or {})}, fields):
        try:
            return (make(**known),) if make is not None else ()
        except TypeError:
            continue
    return ()


def _import_hooks() -> ModuleType:
    """Import the hooks only when one is called: conda imports this module at each command."""
    return importlib.import_module("fastinstall.conda_hooks")


def _run_subcommand(words: tuple[str, ...]) -> int:
    return int(_import_hooks().run_conda_command(words))


def _run_health_check(prefix: str, verbose: object) -> None:
    # What fails here conda catches, and names.
    _import_hooks().report_quick_checks(prefix, verbose=bool(verbose))


def _run_fix(prefix: str, _arguments: Namespace, confirm: Callable[[str], None]) -> int:
    # What fails here conda catches, and it is told so where a person declines.
    return int(_import_hooks().fix(prefix, confirm))


def _await_solution(_added: Iterable[object], _removed: Iterable[object]) -> None:
    _run_quietly("await_solution")


def _foresee_solve(_repodata: str, unlinked: Iterable[object], linked: Iterable[object]) -> None:
    _run_quietly("warn_of_solution", unlinked, linked)


def _look_back_at_command(command: str) -> None:
    _run_quietly("look_back", command)


def _run_quietly(hook: str, *arguments: object) -> None:
    """Run a hook; if it fails, leave the error to `conda -vvv`."""
    try:
        getattr(_import_hooks(), hook)(*arguments)
    except (Exception, SystemExit):
        # Whatever is wrong with a plugin, conda goes on.
        logging.getLogger("conda.fastinstall").debug("the hook %s of fastinstall failed", hook, exc_info=True)

"""The conda plugin: `conda fastinstall`, a health check for `conda doctor`, and warnings if conda replaces the stack.

conda imports this file at every command, through the entry point group `conda`. To stay fast, it imports nothing of
fastinstall until a hook is called (conda_hooks.py). A bug in a hook must not break conda: errors are caught and logged.
Only `conda fastinstall` and the health check write to stdout.

Source: conda's documentation of its plugin hooks. conda 24.7 and later have all of them; hooks that an older conda
lacks are not registered.
"""

import importlib
import logging
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import ModuleType
from typing import TypeVar

from conda import plugins
from conda.plugins import types

_CHANGING = frozenset({"install", "update", "remove", "create", "rename", "env_update", "env_create", "doctor"})
"""conda's commands that may replace the stack, as `conda_post_commands` names them."""

_Hook = TypeVar("_Hook", bound=Callable[..., object])

hookimpl: Callable[[_Hook], _Hook] = plugins.hookimpl


@hookimpl
def conda_subcommands() -> Iterable[object]:
    """Return the subcommand `conda fastinstall VERB ...`."""
    summary = "Build, test and guard a fast Pillow with SIMD kernels."
    return _make_plugin("CondaSubcommand", {"name": "fastinstall", "summary": summary, "action": _run_subcommand})


@hookimpl
def conda_health_checks() -> Iterable[object]:
    """Return the health check for `conda doctor`, and its repair for `conda doctor --fix` if conda supports that."""
    check = {"name": "fastinstall", "action": _run_health_check}
    fixes = {
        "fixer": _run_fix,
        "summary": "Check the Pillow that fastinstall set up",
        "fix": "Restore what was set up",
    }
    return _make_plugin("CondaHealthCheck", check, fixes)


@hookimpl
def conda_pre_solves() -> Iterable[object]:
    """Return the hook that prepares to explain a failing solve, since the solver does not name the guard package."""
    return _make_plugin("CondaPreSolve", {"name": "fastinstall", "action": partial(_run_quietly, "await_solution")})


@hookimpl
def conda_post_solves() -> Iterable[object]:
    """Return the hook that warns before the stack is replaced."""
    return _make_plugin("CondaPostSolve", {"name": "fastinstall", "action": partial(_run_quietly, "warn_of_solution")})


@hookimpl
def conda_post_commands() -> Iterable[object]:
    """Return the hook that warns after the stack was replaced."""
    fields = {"name": "fastinstall", "action": partial(_run_quietly, "look_back"), "run_for": set(_CHANGING)}
    return _make_plugin("CondaPostCommand", fields)


def _make_plugin(
    kind: str, fields: Mapping[str, object], further: Mapping[str, object] | None = None
) -> tuple[object, ...]:
    """Return a plugin object, in a tuple, with the fields that this conda supports; () if conda lacks the kind.

    Args:
        kind: the name of the class in `conda.plugins.types`.
        fields: the required fields.
        further: fields that older versions of conda do not have.
    """
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
    # conda catches and reports errors of a health check.
    _import_hooks().report_quick_checks(prefix, verbose=bool(verbose))


def _run_fix(prefix: str, _arguments: Namespace, confirm: Callable[[str], None]) -> int:
    # conda catches the errors of a repair, and the exception that `confirm` raises if the user declines.
    return int(_import_hooks().fix(prefix, confirm))


def _run_quietly(hook: str, *arguments: object) -> None:
    """Run a hook; if it fails, log the error, which `conda -vvv` shows."""
    try:
        getattr(_import_hooks(), hook)(*arguments)
    except (Exception, SystemExit):
        # No error in the plugin may stop conda.
        logging.getLogger("conda.fastinstall").debug("the hook %s of fastinstall failed", hook, exc_info=True)

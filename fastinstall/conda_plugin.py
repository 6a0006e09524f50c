"""conda's plugin: `conda fastinstall`, and warnings before and after a swap.

conda imports this file at every command, through the entry point of the group `conda`; so nothing of ours is imported
here, and what a hook does (conda_hooks.py) when it is called. A bug of ours must not be one of conda's: whatever goes
wrong in a hook is caught and logged, and nothing is ever written to stdout but by `conda fastinstall`.

Source: conda's documentation of its plugin hooks; each is known since 24.7 at the latest, and what an older conda does
not know is left out.
"""

import importlib
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from conda import plugins
from conda.plugins import types

_CHANGING = frozenset({"install", "update", "remove", "create", "rename", "env_update", "env_create", "doctor"})
"""conda's commands after which the stack may be another, as `conda_post_commands` names them."""

_Hook = TypeVar("_Hook", bound=Callable[..., object])

hookimpl: Callable[[_Hook], _Hook] = plugins.hookimpl


@hookimpl
def conda_subcommands() -> Iterable[object]:
    """`conda fastinstall VERB ...`."""
    summary = "Build, prove and guard the fast Python image stack: Pillow with SIMD kernels."
    return _make_plugin("CondaSubcommand", summary=summary, action=_run_subcommand)


@hookimpl
def conda_pre_solves() -> Iterable[object]:
    """Learn what was asked for."""
    return _make_plugin("CondaPreSolve", action=partial(_run_quietly, "remember"))


@hookimpl
def conda_post_solves() -> Iterable[object]:
    """Warn before the stack is replaced, or refuse."""
    return _make_plugin("CondaPostSolve", action=_foresee_solve)


@hookimpl
def conda_post_commands() -> Iterable[object]:
    """Warn after the stack was replaced."""
    return _make_plugin("CondaPostCommand", action=partial(_run_quietly, "look_back"), run_for=set(_CHANGING))


@hookimpl
def conda_settings() -> Iterable[object]:
    """`plugins: {fastinstall_block_swaps: true}` in a condarc."""
    try:
        from conda.common.configuration import PrimitiveParameter  # noqa: PLC0415 (an older conda may lack it)
    except ImportError:
        return ()
    return _make_plugin(
        "CondaSetting",
        name="fastinstall_block_swaps",
        description="Refuse what would replace the Pillow that fastinstall has set up.",
        parameter=PrimitiveParameter(False, element_type=bool),  # noqa: FBT003 (conda's own signature)
    )


def _make_plugin(kind: str, *, name: str = "fastinstall", **fields: object) -> tuple[object, ...]:
    """A plugin of a kind; nothing where this conda does not know the kind, or has other fields for it."""
    try:
        return (getattr(types, kind)(name=name, **fields),)
    except (AttributeError, TypeError):
        return ()


def _run_subcommand(words: tuple[str, ...]) -> int:
    from fastinstall.conda_hooks import run  # noqa: PLC0415 (nothing of ours at each command of conda's)

    return run(words)


def _foresee_solve(_repodata: str, unlinked: Iterable[object], linked: Iterable[object]) -> None:
    refusal = _run_quietly("foresee", unlinked, linked)
    if refusal is not None:
        from conda.exceptions import CondaError  # noqa: PLC0415 (not needed by most commands)

        raise CondaError(str(refusal).replace("%", "%%"))


def _run_quietly(hook: str, *arguments: object) -> object:
    """Run a hook; if it fails, return None and leave the error to `conda -vvv`."""
    try:
        return getattr(importlib.import_module("fastinstall.conda_hooks"), hook)(*arguments)
    except (Exception, SystemExit):
        # Whatever is wrong with a plugin, conda goes on.
        logging.getLogger("conda.fastinstall").debug("the hook %s of fastinstall failed", hook, exc_info=True)
        return None

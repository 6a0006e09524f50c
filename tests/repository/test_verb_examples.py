"""Each verb that programs call has an example in its docstring, whose calls have valid arguments."""

import ast
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from fastinstall import verbs

INSIDE = {
    "find_cached_build",
    "observe_context",
}
"""Functions that verbs are composed of."""


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(verbs.__path__):
        yield import_module(f"fastinstall.verbs.{found.name}")


def _verbs() -> dict[str, Callable[..., Any]]:
    return {
        name: function
        for module in _modules()
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_") and name not in INSIDE
    }


@pytest.mark.parametrize("name", sorted(_verbs()))
def test_a_verb_shows_a_call_of_itself_that_its_signature_takes(name: str) -> None:
    known = _verbs()
    _, marker, example = (inspect.getdoc(known[name]) or "").partition("\nExample:\n")
    assert marker
    called = {
        call.func.id: call
        for call in ast.walk(ast.parse(dedent(example)))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in known
    }
    assert name in called
    for verb, call in called.items():
        keywords = {str(each.arg): each for each in call.keywords}
        inspect.signature(known[verb]).bind(*call.args, **keywords)

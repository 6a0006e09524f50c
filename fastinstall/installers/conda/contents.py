"""What linking a conda package brings, told by its `info` directory. Source: CEP 34 (formerly conda-build's docs)."""

from collections.abc import Iterator
from typing import Any

from fastinstall.errors import FailedError
from fastinstall.model.parsing import json_data

_SITE = "site-packages/"
_SCRIPTS = "python-scripts/"


def linked_paths(paths: str, link: str, python: str) -> tuple[str, ...]:
    """Paths relative to a prefix.

    Args:
        paths: the text of `info/paths.json`.
        link: the text of `info/link.json`; empty where there is none.
        python: minor version of the environment's Python ("3.11"), for a noarch package of Python.

    Raises:
        FailedError: the package is damaged, or Python's version is needed and not given.
    """
    named = tuple(str(each["_path"]) for each in _document(paths).get("paths", ()))
    noarch = _document(link).get("noarch", {}) if link.strip() else {}
    if noarch.get("type") != "python":
        return named
    if not python:
        raise FailedError("a noarch package of Python comes, and the environment has no Python")
    points = tuple(str(point).partition("=")[0].strip() for point in noarch.get("entry_points", ()))
    mapped = tuple(_mapped(path, python) for path in named)
    return (*mapped, *(f"bin/{point}" for point in points), *_compiled(mapped, python))


def _document(text: str) -> dict[str, Any]:
    try:
        found = json_data(text)
    except ValueError as error:
        raise FailedError(f"a package's list of files cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _mapped(path: str, python: str) -> str:
    if path.startswith(_SITE):
        return f"lib/python{python}/{path}"
    return f"bin/{path.removeprefix(_SCRIPTS)}" if path.startswith(_SCRIPTS) else path


def _compiled(paths: tuple[str, ...], python: str) -> Iterator[str]:
    """The bytecode that conda compiles of modules."""
    tag = python.replace(".", "")
    for path in paths:
        directory, _, module = path.rpartition("/")
        if module.endswith(".py") and f"python{python}/site-packages" in directory:
            yield f"{directory}/__pycache__/{module.removesuffix('.py')}.cpython-{tag}.pyc"

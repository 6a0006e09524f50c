"""List the files that linking a conda package creates, from the package's `info` directory.

Source: CEP 34 (formerly conda-build's docs).
"""

import re

from fastinstall.core.errors import FailedError
from fastinstall.core.parsing import json_data


def resolve_linked_paths(paths: str, link: str, python: str) -> tuple[str, ...]:
    """Return the paths of the files that linking a package creates, relative to the prefix.

    Args:
        paths: the text of `info/paths.json`.
        link: the text of `info/link.json`; empty if the package has no such file.
        python: minor version of the environment's Python ("3.11", free-threaded "3.14t"); required only for a noarch
            Python package.

    Raises:
        FailedError: the package is damaged, or `python` is required but empty.
    """
    try:
        named = [str(each["_path"]) for each in json_data(paths)["paths"]]
        noarch = json_data(link).get("noarch", {}) if link.strip() else {}
        kind, entry_points = noarch.get("type"), list(map(str, noarch.get("entry_points", ())))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FailedError(f"a package's list of files cannot be read: {error}") from error
    if kind != "python":
        return tuple(named)
    if not python:
        raise FailedError("a noarch Python package would be added, but the environment has no Python")
    found, compiled = [], []
    for path in named:
        place = re.sub(r"^site-packages/", f"lib/python{python}/site-packages/", path)
        place = re.sub(r"^python-scripts/", "bin/", place)
        found.append(place)
        directory, _, module = place.rpartition("/")
        if module.endswith(".py") and f"python{python}/site-packages" in directory:  # conda compiles such modules
            tag = python.replace(".", "").removesuffix("t")  # the free-threaded build uses the same cache tag
            compiled.append(f"{directory}/__pycache__/{module.removesuffix('.py')}.cpython-{tag}.pyc")
    points = (point.partition("=")[0].strip() for point in entry_points)
    return (*found, *(f"bin/{point}" for point in points), *compiled)

"""The tools whose projects can be pinned: one module each, named after the tool, with its one class as `TOOL`.

To add one, write its module here as `fastinstall.pins.tool.PinTool` says; it is found by being there. Its page for
people is `docs/how-to/guard-project.md`, its tests are `tests/integration/test_project_NAME.py`.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from fastinstall.pins.tool import PinTool


@cache
def tools() -> dict[str, PinTool[Any]]:
    """Return every tool that can pin a build, by name."""
    return {each.name: import_module(f"{__name__}.{each.name}").TOOL for each in iter_modules(__path__)}

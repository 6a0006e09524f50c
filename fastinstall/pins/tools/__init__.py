"""The tools whose projects can be pinned: one module per tool, named after it, with an instance of its class as `TOOL`.

To add a tool, add a module with a subclass of `fastinstall.pins.tool.PinTool`; every module here is loaded. Document
the tool in `docs/how-to/guard-project.md`, and test it in `tests/integration/test_project_NAME.py`.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from fastinstall.pins.tool import PinTool


@cache
def tools() -> dict[str, PinTool[Any]]:
    """Return the tools whose projects can be pinned, by name."""
    return {each.name: import_module(f"{__name__}.{each.name}").TOOL for each in iter_modules(__path__)}

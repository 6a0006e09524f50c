"""The parts of the Ansible collection, as Python modules and as files."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

COLLECTION = Path(__file__).resolve().parents[3] / "integrations" / "ansible"
MODULES = ("fastinstall", "fastinstall_facts")


def part(name: str) -> ModuleType:
    """Import a module of `plugins/module_utils`, which does not depend on Ansible."""
    plugins = str(COLLECTION / "plugins")
    if plugins not in sys.path:
        sys.path.append(plugins)
    return importlib.import_module(f"module_utils.{name}")


def read_yaml(text: str) -> Any:
    """Parse a YAML document with PyYAML, which Ansible requires and which has no type hints."""
    return importlib.import_module("yaml").safe_load(text)


def interpreter(version: tuple[int, int, int] = (3, 11, 7), **changes: Any) -> dict[str, Any]:
    """Return an interpreter's description of itself; `changes` replace its values."""
    usual = {
        "executable": sys.executable,
        "version": list(version),
        "implementation": "cpython",
        "abi_flags": "",
        "machine": "x86_64",
        "libc": "2.36",
    }
    return {**usual, **changes}

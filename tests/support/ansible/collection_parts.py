"""The parts of the Ansible collection, as Python modules and as files."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

COLLECTION = Path(__file__).resolve().parents[3] / "integrations" / "ansible"
MODULES = ("fastinstall", "fastinstall_facts")


def part(name: str) -> ModuleType:
    """A file of `plugins/module_utils`; there is nothing of Ansible in it."""
    plugins = str(COLLECTION / "plugins")
    if plugins not in sys.path:
        sys.path.append(plugins)
    return importlib.import_module(f"module_utils.{name}")


def read_yaml(text: str) -> Any:
    """A YAML document; the reader is the one that Ansible needs, and tells nothing of its types."""
    return importlib.import_module("yaml").safe_load(text)


def interpreter(version: tuple[int, int, int] = (3, 11, 7), **changes: Any) -> dict[str, Any]:
    """What an interpreter says of itself."""
    usual = {
        "executable": sys.executable,
        "version": list(version),
        "implementation": "cpython",
        "abi_flags": "",
        "machine": "x86_64",
        "libc": "2.36",
    }
    return {**usual, **changes}

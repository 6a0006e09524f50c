"""The options of `fastinstall setup` as module parameters, with the command line's names, defaults and choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_RISKS = ["force-remove", "vulnerable", "feature-loss", "downgrade", "unverified-cpu", "protected-packages"]

REQUEST_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "recipe": ("--recipe", {"type": "str", "default": "pillow-fast"}),
    "version": ("--version", {"type": "str"}),
    "level": ("--level", {"type": "str", "default": "auto"}),
    "levels": ("--levels", {"type": "list", "elements": "str", "default": []}),
    "require": ("--require", {"type": "list", "elements": "str", "default": []}),
    "link": ("--link", {"type": "str", "default": "bundle", "choices": ["bundle", "env", "system"]}),
    "dist_name": ("--dist-name", {"type": "str", "default": "pillow", "choices": ["pillow", "pillow-simd"]}),
    "jobs": ("--jobs", {"type": "int"}),
    "offline": ("--offline", {"type": "bool", "default": False}),
    "wheelhouse": ("--wheelhouse", {"type": "path"}),
    "with_system_deps": ("--with-system-deps", {"type": "bool", "default": False}),
    "toolchain": ("--toolchain", {"type": "str", "default": "auto", "choices": ["auto", "system", "clang", "conda"]}),
    "engine": ("--engine", {"type": "str", "default": "auto", "choices": ["auto", "conda", "rattler", "pip"]}),
    "channels": ("--channel", {"type": "list", "elements": "str", "default": []}),
    "guard": ("--no-guard", {"type": "bool", "default": True}),
    "pin": ("--pin", {"type": "bool", "default": False}),
    "upgrade": ("--upgrade", {"type": "bool", "default": False}),
    "allow": ("--allow", {"type": "list", "elements": "str", "default": [], "choices": _RISKS}),
}
"""Flag and Ansible specification of each parameter. The flag of a bool sets the opposite of its default."""


def words_of(parameters: Mapping[str, Any]) -> list[str]:
    """Return flags for the parameters that differ from their defaults; the host's settings may set the others."""
    words: list[str] = []
    for name, (flag, specification) in REQUEST_OPTIONS.items():
        value = parameters[name]
        if value is None or value == specification.get("default"):
            continue
        words += [flag] if specification["type"] == "bool" else [flag, _text(value)]
    return words


def _text(value: list[str] | int | str) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)

"""How a project of uv is pinned: a constraint, and a directory that has the wheel. Pure.

A constraint, not an override: an override replaces what everybody else says of Pillow, on every platform. With one, uv
0.13 took `uv add pillow==12.2.0`, locked our 13.0.0, and said nothing; with the constraint it refuses, and names both.

Elsewhere than where the wheel runs, our version is excluded, and everything else stays as it is without a pin. The
directory is a registry to uv, so that `uv sync` finds the stack in place satisfied, and does not install it again.
"""

from fastinstall.pins.manifests import BY, format_array, quote_toml
from fastinstall.pins.tool import Locking, PinnedBuild, PinTool


class Uv(PinTool[PinnedBuild]):
    """The tool."""

    name = "uv"
    lock = "uv.lock"
    sync = "uv sync"
    locking = Locking(
        lock=("lock",),
        why="uv tree --invert --package pillow",
        names_python=True,
        variables={"UV_PYTHON_DOWNLOADS": "never"},
        drops=("UV_FROZEN", "UV_LOCKED", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIRECTORY"),
    )

    def format_lines(self, text: str, pinned: PinnedBuild) -> str:
        """Return a constraint for each place, and the directory."""
        excluded = (f'"{pinned.name}!={pinned.version} ; {marker}"' for marker in pinned.elsewhere)
        constraints = format_array((f'"{pinned.name}=={pinned.version} ; {pinned.here}"', *excluded))
        links = quote_toml(str(pinned.directory))
        return f"[tool.uv]\nfind-links = [{links}]  {BY}\nconstraint-dependencies = {constraints}"


TOOL = Uv()

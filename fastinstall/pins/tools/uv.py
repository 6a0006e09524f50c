"""Pin a uv project: add a constraint, and the directory of the wheel. Pure.

The pin is a constraint, not an override: an override replaces all other requirements on Pillow, on every platform. With
an override, uv 0.13 accepted `uv add pillow==12.2.0` but silently locked our 13.0.0. With the constraint it refuses,
and names both versions.

Where the wheel does not run, the constraint only excludes the wheel's version. uv treats the directory as a registry,
so that `uv sync` accepts an installed stack and does not install it again.
"""

from fastinstall.pins.manifests import BY, format_array, quote_toml
from fastinstall.pins.tool import Locking, PinnedBuild, PinTool


class Uv(PinTool[PinnedBuild]):
    """uv."""

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
        """Return constraints (the wheel where it runs, no such version elsewhere), and the wheel's directory."""
        excluded = (f'"{pinned.name}!={pinned.version} ; {marker}"' for marker in pinned.elsewhere)
        constraints = format_array((f'"{pinned.name}=={pinned.version} ; {pinned.here}"', *excluded))
        links = quote_toml(str(pinned.directory))
        return f"[tool.uv]\nfind-links = [{links}]  {BY}\nconstraint-dependencies = {constraints}"


TOOL = Uv()

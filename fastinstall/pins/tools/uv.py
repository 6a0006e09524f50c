"""How a project of uv is pinned: a constraint for where our wheel runs, and a directory to find it in. Pure.

A constraint, not an override: an override replaces what everybody else says of Pillow, on every platform. With one, uv
0.13 took `uv add pillow==12.2.0`, locked our 13.0.0, and said nothing; with the constraint it refuses, and names both.

Elsewhere than where the wheel runs, our version is excluded, and everything else stays as it is without a pin. The
directory is a registry to uv, so that `uv sync` finds the stack in place satisfied, and does not install it again.
"""

from collections.abc import Iterator

from fastinstall.core.errors import RefusedError
from fastinstall.core.parsing import toml_data
from fastinstall.pins.manifests import Addition, ArrayAddition, read_table, read_texts
from fastinstall.pins.markers import PinnedBuild, parse_requirement_name
from fastinstall.pins.tool import Locking, Manifest, PinTool

_TABLE = ("tool", "uv")
_LISTS = ("constraint-dependencies", "override-dependencies", "exclude-dependencies")


class Uv(PinTool[PinnedBuild]):
    """The tool."""

    name = "uv"
    lock = "uv.lock"
    beside = ("uv.toml",)
    sync = "uv sync"
    locking = Locking(
        check=("lock", "--check"),
        lock=("lock",),
        why="uv tree --invert --package pillow",
        names_python=True,
        variables={"UV_PYTHON_DOWNLOADS": "never"},
        drops=("UV_FROZEN", "UV_LOCKED", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIRECTORY"),
    )

    def list_additions(self, text: str, pinned: PinnedBuild) -> tuple[Addition, ...]:
        """What the manifest has to say."""
        excluded = f"{pinned.name}!={pinned.version}"
        constraints = (
            f"{pinned.requirement} ; {pinned.here}",
            *(f"{excluded} ; {marker}" for marker in pinned.elsewhere),
        )
        return (
            ArrayAddition(table=_TABLE, key="constraint-dependencies", items=constraints),
            ArrayAddition(table=_TABLE, key="find-links", items=(str(pinned.directory),)),
        )

    def list_foreign(self, manifest: Manifest, pinned: PinnedBuild) -> Iterator[str]:
        """What decides on the distribution in pyproject.toml, or a uv.toml that hides the directory of our wheel."""
        content = toml_data(manifest.text)
        for key in _LISTS:
            for item in read_texts(content, (*_TABLE, key)):
                if parse_requirement_name(item) == pinned.name:
                    yield f"{key} has {item!r}"
        for key, value in read_table(content, (*_TABLE, "sources")).items():
            if parse_requirement_name(key) == pinned.name:
                yield f"[tool.uv.sources] has {key} = {value}"
        for name, settings in manifest.beside.items():
            if str(pinned.directory) not in toml_data(settings).get("find-links", ()):
                raise RefusedError(
                    f"{manifest.path.with_name(name)} overrides uv's settings in {manifest.path.name}",
                    hint=f'add this to it, then run the command again: find-links = ["{pinned.directory}"]',
                )


TOOL = Uv()

"""How a workspace of pixi is pinned: a channel of ours before the others, and a dependency on its build. Pure.

The dependency stands in the table of the platform that the build is for, so that other platforms of the workspace, and
a `pillow = "*"` among its dependencies, stay as they are.
"""

from typing import Any

from fastinstall.errors import RefusedError
from fastinstall.model.conda import CondaPackage
from fastinstall.model.parsing import toml_data
from fastinstall.rules.conda_pins import pin_line
from fastinstall.rules.projects.additions import Addition, Items, Setting, lines, table_at

CHANNEL = ".fastinstall/channel"
"""Where a pinned workspace keeps the channel, relative to its directory."""


def additions(text: str, package: CondaPackage) -> tuple[Addition, ...]:
    """What the manifest has to say.

    Args:
        text: pixi.toml, or a pyproject.toml with [tool.pixi].
        package: ours.
    """
    root = _root(toml_data(text))
    name, version, build = pin_line(package).split()
    literal = f'{{ version = "{version}", build = "{build}" }}'
    return (
        Items(table=(*root, _workspace(text, root)), key="channels", items=(f"./{CHANNEL}",), first=True),
        Setting(table=(*root, "target", package.subdir, "dependencies"), key=name, literal=literal),
    )


def refuse_foreign(text: str, package: CondaPackage) -> None:
    """Raise where the workspace says for that platform which Pillow it wants.

    Raises:
        RefusedError: shows theirs, and in its details ours.
    """
    content = toml_data(text)
    root = _root(content)
    for kind in ("dependencies", "pypi-dependencies"):
        for table in ((*root, "target", package.subdir, kind), (*root, kind)):
            found = (table_at(content, table) or {}).get(package.name)
            if found is not None and (kind != "dependencies" or "target" in table):
                raise RefusedError(
                    f"[{'.'.join(table)}] has {package.name} = {found!r} already",
                    hint="take that out, or go without --pin",
                    details=("the pin would add:", *lines(additions(text, package))),
                )


def _root(content: dict[str, Any]) -> tuple[str, ...]:
    return ("tool", "pixi") if isinstance(table_at(content, ("tool", "pixi")), dict) else ()


def _workspace(text: str, root: tuple[str, ...]) -> str:
    """The name of the table that has the channels; older manifests call it "project"."""
    return "project" if "channels" in (table_at(toml_data(text), (*root, "project")) or {}) else "workspace"

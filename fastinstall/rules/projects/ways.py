"""Which tool is pinned how, and what stands in the way. Pure."""

from collections.abc import Iterator
from typing import Any, Protocol

from fastinstall.errors import RefusedError
from fastinstall.model.parsing import toml_data
from fastinstall.model.pins import Manager
from fastinstall.rules.projects import pdm, poetry, uv
from fastinstall.rules.projects.additions import Addition, lines
from fastinstall.rules.projects.build import PinnedBuild


class Way(Protocol):
    """How a project of one tool is pinned; the modules of the tools are such ways."""

    def additions(self, build: PinnedBuild) -> tuple[Addition, ...]:
        """What the manifest has to say."""

    def foreign(self, content: dict[str, Any], name: str) -> Iterator[str]:
        """What of others decides on the distribution there already, each with its place."""


WAYS: dict[Manager, Way] = {Manager.UV: uv, Manager.POETRY: poetry, Manager.PDM: pdm}


def refuse_foreign(way: Way, text: str, build: PinnedBuild) -> None:
    """Raise where somebody else's setting decides on the distribution already.

    Args:
        way: of the project's tool.
        text: of pyproject.toml.
        build: that would be pinned.

    Raises:
        RefusedError: shows theirs, and in its details ours.
    """
    foreign = next(way.foreign(toml_data(text), build.name), None)
    if foreign is not None:
        raise RefusedError(
            f"pyproject.toml decides on {build.name} already: {foreign}",
            hint="take that out, or go without --pin",
            details=("the pin would add:", *lines(way.additions(build))),
        )

"""Which tool is pinned how. Pure."""

from typing import Protocol

from fastinstall.model.pins import Manager
from fastinstall.rules.projects import pdm, poetry, uv
from fastinstall.rules.projects.additions import Addition
from fastinstall.rules.projects.build import PinnedBuild


class Way(Protocol):
    """How a project of one tool is pinned; the modules of the tools are such ways."""

    def additions(self, build: PinnedBuild) -> tuple[Addition, ...]:
        """What the manifest has to say."""

    def refuse_foreign(self, text: str, build: PinnedBuild) -> None:
        """Raise RefusedError where somebody else's setting decides on the distribution already."""


WAYS: dict[Manager, Way] = {Manager.UV: uv, Manager.POETRY: poetry, Manager.PDM: pdm}

"""Pin the stack in the project that makes the environment: its manifest, and its lock."""

from collections.abc import Iterator
from pathlib import Path, PurePath

from fastinstall.core.messages import listing
from fastinstall.core.values import immutable, tagged
from fastinstall.journal.transaction import Transaction
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe_documents import Problem
from fastinstall.model.request import Environment
from fastinstall.observe.session import Session
from fastinstall.steps.kind import SavedPlanContext, StepDefaults


@tagged("pin-project")
@immutable
class PinProject(StepDefaults):
    """Pin the stack in the project that makes the environment, so that its own installs keep it.

    Attributes:
        directory: of the project.
        manager: the name of the tool that makes the environment ("uv").
        files: that change: the manifest, and the lock where there is one.
        requirement: what it is pinned to.
        reason: why.
    """

    directory: PurePath
    manager: str
    files: tuple[PurePath, ...]
    requirement: str
    reason: str

    def describe(self) -> str:
        """What is done, in a line of a plan."""
        names = listing(file.name for file in self.files)
        return f"pin it in the {self.manager} project {self.directory} ({names}): {self.requirement}"

    def find_problems(self, _saved: SavedPlanContext, /) -> Iterator[Problem]:
        """None: which project and files they are is found out anew where the plan is carried out."""
        yield from ()

    def pin(self, session: Session, environment: Environment, receipt: Receipt, transaction: Transaction) -> None:
        """Pin it, once the environment is verified.

        Args:
            session: the outside world.
            environment: that the project makes.
            receipt: of the setup.
            transaction: whose undo takes the pin back.

        Raises:
            FastinstallError: the project cannot be pinned; the caller undoes the setup.
        """
        from fastinstall.guard.pinning import find_unpinned_project, pin_its_project  # noqa: PLC0415 (only with --pin)

        project = find_unpinned_project(session, environment, Path(self.directory), receipt)
        if project is not None:
            pin_its_project(session, environment, receipt, project, transaction)

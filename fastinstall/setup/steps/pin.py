"""Pin the stack in a conda environment's own configuration (`conda-meta/pinned`)."""

from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.values import immutable, tagged
from fastinstall.index.run import Run
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts
from fastinstall.setup.steps.step import RecordingStep


@tagged("pin")
@immutable
class Pin(RecordingStep):
    """Pin the stack in the environment's own configuration, so that solvers keep it.

    Attributes:
        file: relative to the prefix.
        line: the line that is added to conda's pins.
        reason: why the plan has this step, for a person.
    """

    file: str
    line: str
    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return f"pin it in {self.file}: {self.line}"

    def refuse_harm(self, wheel: Path, before: Facts, run: Run, /) -> None:
        """Refuse nothing: the plan was made after conda's solver had been asked about such a pin."""

    def write(self, _wheel: Path, prefix: Path, transaction: Transaction, /) -> None:
        """Add the line to the file that solvers read."""
        existing = foreign.text_if_there(prefix / self.file)
        start = "\n" if existing and not existing.endswith("\n") else ""
        transaction.add(self.file, f"{start}{self.line}\n")

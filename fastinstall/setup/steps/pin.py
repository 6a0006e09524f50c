"""Have other installers keep the stack: a line of conda's pins, or files that pip and uv read."""

from collections.abc import Iterable
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.core.values import immutable, tagged
from fastinstall.guard.pinning import PinTrial, PipPin, refuse_unwritable, write_pip_pin
from fastinstall.index.run import Run
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts
from fastinstall.setup.steps.step import ExplainedStep


@tagged("pin")
@immutable
class Pin(ExplainedStep):
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


@tagged("pin-for-pip")
@immutable
class PinForPip(ExplainedStep):
    """Hold pip and uv to the stack by files inside the environment: the wheel, a constraint on it, and who reads them.

    Attributes:
        file: pip's configuration, relative to the prefix.
        directory: of wheel, constraint and exports for a shell, likewise.
        requirement: what it holds to ("pillow==13.0.0+simd.v2.v3").
        text: what is put into the file; without its header where the file has that section.
        links: places of wheels that pip is told of elsewhere, repeated in the text because it would hide them.
        reason: why the plan has this step, for a person.
    """

    file: str
    directory: str
    requirement: str
    text: str
    links: tuple[str, ...] = ()
    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return f"pin it for pip in {self.file} and {self.directory}: {self.requirement}"

    def list_details(self) -> Iterable[str]:
        """List what is put into pip's configuration."""
        return self.text.splitlines()

    def refuse_harm(self, wheel: Path, before: Facts, run: Run, /) -> None:
        """Ask pip which packages it would downgrade under this pin, and refuse if there are any.

        Raises:
            RefusedError: as `PinTrial.refuse_trap` and `refuse_unwritable` say.
        """
        prefix = Path(before.environment.prefix)
        refuse_unwritable(prefix)
        PinTrial(
            pin=self._make_pin(wheel, prefix),
            facts=before,
            variables=run.variables,
            space=run.cache / "tmp",
            emit=run.emit,
            offline=run.index.offline,
        ).refuse_trap()

    def write(self, wheel: Path, prefix: Path, transaction: Transaction, /) -> None:
        """Put wheel, constraint and exports there, then the lines into pip's configuration.

        Raises:
            RefusedError: pip cannot read its configuration, or the lines would change it.
        """
        write_pip_pin(self._make_pin(wheel, prefix), transaction)

    def _make_pin(self, wheel: Path, prefix: Path) -> PipPin:
        return PipPin(prefix=prefix, requirement=self.requirement, wheel=wheel, links=self.links)

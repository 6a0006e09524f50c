"""Make other installers keep the stack: by a line in conda's pins, or by files that pip and uv read."""

from collections.abc import Iterable
from pathlib import Path

from fastinstall.core.values import immutable, tagged
from fastinstall.guard.pinning import PipPin, add_conda_pin, refuse_harmful_pin, write_pip_pin
from fastinstall.index.run import Run
from fastinstall.journal.transaction import Transaction
from fastinstall.model.facts import Facts
from fastinstall.setup.steps import ExplainedStep


@tagged("pin")
@immutable
class Pin(ExplainedStep):
    """Pin the conda package of the stack in the environment's file of pins, so that conda's solvers keep it.

    Attributes:
        file: path of the file of pins, relative to the prefix.
        line: the line that is added to this file.
        reason: why the plan has this step, for the user.
    """

    file: str
    line: str
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"pin it in {self.file}: {self.line}"

    def refuse_harm(self, wheel: Path, before: Facts, run: Run, /) -> None:
        """Do nothing: conda's solver was already asked, before the plan was made, for exactly the pinned package."""

    def write(self, _wheel: Path, prefix: Path, transaction: Transaction, /) -> None:
        """Add the line to the file of pins."""
        add_conda_pin(prefix, self.line, transaction)


@tagged("pin-for-pip")
@immutable
class PinForPip(ExplainedStep):
    """Pin the stack for pip and uv by files in the environment: the wheel, a constraint, and configuration for both.

    Attributes:
        file: path of pip's configuration, relative to the prefix.
        directory: path of the directory for the wheel, the constraint and shell exports, relative to the prefix.
        requirement: the pinned requirement ("pillow==13.0.0+simd.v2.v3").
        text: lines that are added to `file`; the section's header is left out if the file has that section.
        links: pip's `find-links` from other configurations, repeated in `text` because `text` would hide them.
        reason: why the plan has this step, for the user.
    """

    file: str
    directory: str
    requirement: str
    text: str
    links: tuple[str, ...] = ()
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"pin it for pip in {self.file} and {self.directory}: {self.requirement}"

    def list_details(self) -> Iterable[str]:
        """List the lines that are added to pip's configuration."""
        return self.text.splitlines()

    def refuse_harm(self, wheel: Path, before: Facts, run: Run, /) -> None:
        """Ask pip which packages it would downgrade because of this pin, and refuse if there are any.

        Raises:
            RefusedError: the errors of `refuse_harmful_pin`.
        """
        pin, offline = self._make_pin(wheel, before.environment.prefix), run.index.offline
        refuse_harmful_pin(pin, before, variables=run.variables, cache=run.cache, emit=run.emit, offline=offline)

    def write(self, wheel: Path, prefix: Path, transaction: Transaction, /) -> None:
        """Write the wheel, the constraint and the shell exports, then add the lines to pip's configuration.

        Raises:
            RefusedError: pip cannot read its configuration, or the added lines would change other settings.
        """
        write_pip_pin(self._make_pin(wheel, prefix), transaction)

    def _make_pin(self, wheel: Path, prefix: Path) -> PipPin:
        return PipPin(prefix=prefix, requirement=self.requirement, wheel=wheel, links=self.links)

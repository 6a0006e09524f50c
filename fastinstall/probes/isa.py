"""What PIL's extension modules ask of a CPU."""

from pathlib import Path

from fastinstall.model.facts import Stack
from fastinstall.model.isa import IsaScan


def observe_isa(stack: Stack, *, cache: Path | None, scan: bool) -> tuple[IsaScan, ...]:  # noqa: ARG001
    """Placeholder of the lead; [ISA] overwrites this file."""
    return ()
